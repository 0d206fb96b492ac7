-- Texts whose token vectors are wanted too, what was wrong with a text, and nodes that embed.

-- language: that of a text whose token vectors are wanted. error: what an embedder said of it last.
ALTER TABLE trefoil.embed
    ADD language text,
    ADD tokens   bytea,
    ADD error    text;
ALTER TABLE trefoil.embed ALTER tokens SET STORAGE EXTERNAL;

-- What the node that writes looks for: texts with a vector, and those that are not given out again.
CREATE INDEX embed_made ON trefoil.embed (shard, fingerprint) WHERE vector IS NOT NULL;
CREATE INDEX embed_tried ON trefoil.embed (shard, fingerprint) WHERE vector IS NULL AND tries >= 3;

-- An embedder tells of its own node, as one that embeds, and sees no other.
CREATE POLICY sees_own ON trefoil.node FOR SELECT USING (login = current_user AND shard IN
    (SELECT shard FROM trefoil.granted));
CREATE POLICY adds_embedder ON trefoil.node FOR INSERT
    WITH CHECK (login = current_user AND role = 'embedder' AND shard IN
        (SELECT shard FROM trefoil.granted WHERE kind = 'embedder'));
CREATE POLICY changes_embedder ON trefoil.node FOR UPDATE
    USING (login = current_user AND role = 'embedder' AND shard IN
        (SELECT shard FROM trefoil.granted WHERE kind = 'embedder'));
