-- Format 2. The graph is what the units say, summed up: a row for each thing that a unit
-- says, so that what only it said goes with it.

-- How a unit names an entity. role: 1 mentioned. weight: how sure that is, 0-1.
-- kind: by what sign it was told. aliases: JSON array of normalised names.
-- spans: JSON array of [start, end] in bytes of the text.
DROP TABLE unit_entities;
CREATE TABLE unit_entities (
    unit_id    INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    entity_id  INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    role       INTEGER NOT NULL,
    weight     REAL    NOT NULL DEFAULT 1,
    name       TEXT    NOT NULL,
    type_label TEXT    NOT NULL,
    kind       INTEGER NOT NULL,
    aliases    TEXT    NOT NULL,
    spans      TEXT    NOT NULL,
    target     TEXT,
    PRIMARY KEY (unit_id, entity_id, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX unit_entities_entity_id ON unit_entities (entity_id);

-- What a unit says of two entities: count times, at these spans. edges holds the sums.
-- An entity stays as long as a row names it, so no reference has to be followed from it.
CREATE TABLE unit_edges (
    unit_id        INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    ordinal        INTEGER NOT NULL,
    src_entity_id  INTEGER NOT NULL,
    relation_label TEXT    NOT NULL,
    dst_entity_id  INTEGER NOT NULL,
    count          INTEGER NOT NULL,
    spans          TEXT    NOT NULL,
    PRIMARY KEY (unit_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX unit_edges_edge ON unit_edges (src_entity_id, relation_label, dst_entity_id);

-- The change log knows a third kind: what a unit mentions.
CREATE TABLE change_log_2 (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    unit_id INTEGER NOT NULL,
    kind    INTEGER NOT NULL CHECK (kind IN (0, 1, 2)),
    removed INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1)),
    UNIQUE (unit_id, kind)
) STRICT;
INSERT INTO change_log_2 SELECT seq, unit_id, kind, removed FROM change_log ORDER BY seq;
-- The next number is above every one that was ever given, also above those that are gone.
DELETE FROM sqlite_sequence WHERE name = 'change_log_2';
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'change_log_2', seq FROM sqlite_sequence WHERE name = 'change_log';
DROP TABLE change_log;
ALTER TABLE change_log_2 RENAME TO change_log;

-- What the summary of a community rests on: JSON array of [chunk id, start, end], in bytes of
-- the chunk's text.
ALTER TABLE communities ADD COLUMN sources_json TEXT NOT NULL DEFAULT '[]';

-- Hash of the names that the entity is related to, on level 0: tells whether that changed
-- since the communities were found. 0 where it is not known.
ALTER TABLE community_members ADD COLUMN ties INTEGER NOT NULL DEFAULT 0;
