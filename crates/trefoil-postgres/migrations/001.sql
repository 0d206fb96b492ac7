-- What nodes share besides the rows of the store's format, and who may see it.

-- A row for each part of an index. It is updated by each transaction, so there is room next to it.
-- touched: for each table the last transaction that touched it.
CREATE TABLE trefoil.shard (
    shard      int    PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    index_name text   NOT NULL,
    part       int    NOT NULL,
    parts      int    NOT NULL,
    format     int    NOT NULL,
    epoch      bigint NOT NULL DEFAULT 0,
    by         bigint NOT NULL DEFAULT 0,
    tx         bigint NOT NULL DEFAULT 0,
    pruned     bigint NOT NULL DEFAULT 0,
    sequences  jsonb  NOT NULL DEFAULT '{}',
    touched    jsonb  NOT NULL DEFAULT '{}',
    writer     text,
    until      timestamptz NOT NULL DEFAULT '-infinity',
    UNIQUE (index_name, part),
    CHECK (part >= 0 AND part < parts AND parts & (parts - 1) = 0)
) WITH (fillfactor = 10);

-- Where each epoch began, and who wrote in it.
CREATE TABLE trefoil.epoch (
    shard int    NOT NULL,
    epoch bigint NOT NULL,
    by    bigint NOT NULL,
    tx    bigint NOT NULL,
    PRIMARY KEY (shard, epoch)
);

-- Keys of rows that are gone: a JSON array of the values of the key.
CREATE TABLE trefoil.gone (
    shard int    NOT NULL,
    tbl   text   COLLATE "C" NOT NULL,
    key   jsonb  NOT NULL,
    tx    bigint NOT NULL,
    PRIMARY KEY (shard, tbl, key)
);
CREATE INDEX gone_tx ON trefoil.gone (shard, tx);

-- erased: the transaction up to which nothing that was erased is left in the node's files.
CREATE TABLE trefoil.node (
    shard   int    NOT NULL,
    node    text   COLLATE "C" NOT NULL,
    login   name   NOT NULL DEFAULT current_user,
    role    text   NOT NULL CHECK (role IN ('writer', 'searcher', 'embedder')),
    address text,
    epoch   bigint NOT NULL,
    by      bigint NOT NULL,
    tx      bigint NOT NULL,
    erased  bigint NOT NULL DEFAULT 0,
    seen    timestamptz NOT NULL,
    PRIMARY KEY (shard, node)
);

-- Requests to the node that writes. done: the transaction that did it.
CREATE TABLE trefoil.inbox (
    shard  int    NOT NULL,
    id     uuid   NOT NULL,
    body   bytea  NOT NULL,
    sent   timestamptz NOT NULL DEFAULT clock_timestamp(),
    done   bigint,
    answer bytea,
    PRIMARY KEY (shard, id)
);
CREATE INDEX inbox_waiting ON trefoil.inbox (shard, sent) WHERE done IS NULL;

-- Texts that wait for a vector, and vectors that wait for who asked for them.
CREATE TABLE trefoil.embed (
    shard       int  NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    text_hash   text COLLATE "C" NOT NULL,
    text        text NOT NULL,
    vector      real[],
    tries       int  NOT NULL DEFAULT 0,
    owner       text,
    until       timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (shard, fingerprint, text_hash)
) WITH (fillfactor = 50);
CREATE INDEX embed_waiting ON trefoil.embed (shard, fingerprint) WHERE vector IS NULL;
ALTER TABLE trefoil.embed ALTER vector SET STORAGE EXTERNAL;

-- What a login of PostgreSQL may do with an index.
CREATE TABLE trefoil.member (
    role       name NOT NULL,
    index_name text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('writer', 'searcher', 'embedder')),
    PRIMARY KEY (role, index_name)
);

-- The shards of whoever asks. Policies use it, and it reads as the owner of the tables, so that
-- it does not ask the policies in turn.
CREATE VIEW trefoil.granted AS
    SELECT shard, index_name, kind FROM trefoil.shard JOIN trefoil.member USING (index_name)
    WHERE role = current_user;

ALTER TABLE trefoil.shard ENABLE ROW LEVEL SECURITY;
CREATE POLICY sees ON trefoil.shard FOR SELECT
    USING (shard IN (SELECT shard FROM trefoil.granted));
CREATE POLICY writes ON trefoil.shard FOR UPDATE
    USING (shard IN (SELECT shard FROM trefoil.granted WHERE kind = 'writer'));

ALTER TABLE trefoil.member ENABLE ROW LEVEL SECURITY;
CREATE POLICY sees ON trefoil.member FOR SELECT USING (role = current_user);

-- Everybody sees the nodes of an index. A node is whose login first told of it; a writer forgets
-- those that are no more.
ALTER TABLE trefoil.node ENABLE ROW LEVEL SECURITY;
CREATE POLICY sees ON trefoil.node FOR SELECT
    USING (shard IN (SELECT shard FROM trefoil.granted WHERE kind IN ('writer', 'searcher')));
CREATE POLICY adds ON trefoil.node FOR INSERT
    WITH CHECK (login = current_user AND shard IN
        (SELECT shard FROM trefoil.granted WHERE kind IN ('writer', 'searcher')));
CREATE POLICY changes ON trefoil.node FOR UPDATE
    USING (login = current_user AND shard IN
        (SELECT shard FROM trefoil.granted WHERE kind IN ('writer', 'searcher')));
CREATE POLICY removes ON trefoil.node FOR DELETE
    USING (shard IN (SELECT shard FROM trefoil.granted WHERE kind = 'writer'));

ALTER TABLE trefoil.inbox ENABLE ROW LEVEL SECURITY;
CREATE POLICY writes ON trefoil.inbox
    USING (shard IN (SELECT shard FROM trefoil.granted WHERE kind = 'writer'));

ALTER TABLE trefoil.embed ENABLE ROW LEVEL SECURITY;
CREATE POLICY writes ON trefoil.embed
    USING (shard IN (SELECT shard FROM trefoil.granted WHERE kind IN ('writer', 'embedder')));
