-- Format 7. Costs follow the change: what a chunk says is one row, counts are kept, and what
-- filters ask for has an index.

-- All that a chunk of a document says of entities, as bytes (FORMAT.md). Its entities and
-- relations are derived from these rows; `entities`, `unit_entities`, `unit_edges` and `edges`
-- are memory's alone. What chunks said in the tables before is copied by the program.
CREATE TABLE unit_said (
    unit_id INTEGER PRIMARY KEY REFERENCES units (id) ON DELETE CASCADE,
    said    BLOB NOT NULL
) STRICT;

-- A member is named by the public id of its entity, which has no row. chunks: how many mentioned
-- it when the community was found.
CREATE TABLE community_members_7 (
    community_id INTEGER NOT NULL REFERENCES communities (id) ON DELETE CASCADE,
    entity_id    TEXT    NOT NULL,
    ties         INTEGER NOT NULL DEFAULT 0,
    chunks       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (community_id, entity_id)
) STRICT, WITHOUT ROWID;
INSERT INTO community_members_7
    SELECT m.community_id, e.public_id, m.ties,
           (SELECT count(*) FROM unit_entities WHERE entity_id = e.id)
    FROM community_members m JOIN entities e ON e.id = m.entity_id;
DROP TABLE community_members;
ALTER TABLE community_members_7 RENAME TO community_members;

-- The last change of a kind is found without a scan, and so are the removals.
DROP INDEX change_log_collection;
CREATE INDEX change_log_collection_kind ON change_log (collection, kind, seq);
CREATE INDEX change_log_removed ON change_log (collection, seq) WHERE removed = 1;

-- The labels of files, each as a row. files.tags is what counts; triggers keep these in step.
CREATE TABLE file_tags (
    tag     TEXT    NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    PRIMARY KEY (tag, file_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_tags_file_id ON file_tags (file_id);
INSERT OR IGNORE INTO file_tags
    SELECT t.value, f.id FROM files f, json_each(iif(json_valid(f.tags), f.tags, '[]')) t
    WHERE t.type = 'text';
CREATE TRIGGER file_tags_insert AFTER INSERT ON files BEGIN
    INSERT OR IGNORE INTO file_tags
        SELECT value, NEW.id FROM json_each(iif(json_valid(NEW.tags), NEW.tags, '[]'))
        WHERE type = 'text';
END;
CREATE TRIGGER file_tags_update AFTER UPDATE OF tags ON files WHEN OLD.tags <> NEW.tags BEGIN
    DELETE FROM file_tags WHERE file_id = NEW.id;
    INSERT OR IGNORE INTO file_tags
        SELECT value, NEW.id FROM json_each(iif(json_valid(NEW.tags), NEW.tags, '[]'))
        WHERE type = 'text';
END;

-- Which collection a job is for: 0 documents, 1 memory.
ALTER TABLE jobs ADD COLUMN collection INTEGER NOT NULL DEFAULT 0 CHECK (collection IN (0, 1));
UPDATE jobs SET collection = 1
    WHERE EXISTS (SELECT 1 FROM units u
        WHERE u.id = iif(json_valid(payload_json), payload_json ->> 'row', NULL) AND u.kind <> 8);

-- The jobs of a unit of memory, which go with it.
CREATE INDEX jobs_unit ON jobs (iif(json_valid(payload_json), payload_json ->> 'row', NULL))
    WHERE collection = 1;

-- How many rows there are, kept by triggers. what: 'chunk' by language (state 1: a parent),
-- 'job' by kind, collection and status, 'file', 'embedding'.
CREATE TABLE counters (
    what       TEXT    NOT NULL,
    part       TEXT    NOT NULL,
    collection INTEGER NOT NULL,
    state      INTEGER NOT NULL,
    count      INTEGER NOT NULL,
    PRIMARY KEY (what, part, collection, state)
) STRICT, WITHOUT ROWID;

-- What the counters have to be.
CREATE VIEW recounted AS
    SELECT 'chunk' AS what, language AS part, 0 AS collection, ordinal < 0 AS state,
           count(*) AS count
    FROM payload_chunk GROUP BY language, ordinal < 0
    UNION ALL
    SELECT 'job', kind, collection, status, count(*) FROM jobs GROUP BY kind, collection, status
    UNION ALL
    SELECT 'file', '', 0, 0, count(*) FROM files HAVING count(*) > 0
    UNION ALL
    SELECT 'embedding', '', 0, 0, count(*) FROM embedding_cache HAVING count(*) > 0;
INSERT INTO counters SELECT what, part, collection, state, count FROM recounted;

CREATE TRIGGER counters_chunk_insert AFTER INSERT ON payload_chunk BEGIN
    INSERT INTO counters VALUES ('chunk', NEW.language, 0, NEW.ordinal < 0, 1)
        ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER counters_chunk_delete AFTER DELETE ON payload_chunk BEGIN
    UPDATE counters SET count = count - 1
        WHERE what = 'chunk' AND part = OLD.language AND collection = 0
            AND state = (OLD.ordinal < 0);
END;
CREATE TRIGGER counters_chunk_update AFTER UPDATE OF language, ordinal ON payload_chunk
WHEN OLD.language <> NEW.language OR (OLD.ordinal < 0) <> (NEW.ordinal < 0) BEGIN
    UPDATE counters SET count = count - 1
        WHERE what = 'chunk' AND part = OLD.language AND collection = 0
            AND state = (OLD.ordinal < 0);
    INSERT INTO counters VALUES ('chunk', NEW.language, 0, NEW.ordinal < 0, 1)
        ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER counters_job_insert AFTER INSERT ON jobs BEGIN
    INSERT INTO counters VALUES ('job', NEW.kind, NEW.collection, NEW.status, 1)
        ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER counters_job_delete AFTER DELETE ON jobs BEGIN
    UPDATE counters SET count = count - 1
        WHERE what = 'job' AND part = OLD.kind AND collection = OLD.collection
            AND state = OLD.status;
END;
CREATE TRIGGER counters_job_update AFTER UPDATE OF kind, collection, status ON jobs
WHEN (OLD.kind, OLD.collection, OLD.status) IS NOT (NEW.kind, NEW.collection, NEW.status) BEGIN
    UPDATE counters SET count = count - 1
        WHERE what = 'job' AND part = OLD.kind AND collection = OLD.collection
            AND state = OLD.status;
    INSERT INTO counters VALUES ('job', NEW.kind, NEW.collection, NEW.status, 1)
        ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER counters_file_insert AFTER INSERT ON files BEGIN
    INSERT INTO counters VALUES ('file', '', 0, 0, 1)
        ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER counters_file_delete AFTER DELETE ON files BEGIN
    UPDATE counters SET count = count - 1
        WHERE what = 'file' AND part = '' AND collection = 0 AND state = 0;
END;
CREATE TRIGGER counters_embedding_insert AFTER INSERT ON embedding_cache BEGIN
    INSERT INTO counters VALUES ('embedding', '', 0, 0, 1)
        ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER counters_embedding_delete AFTER DELETE ON embedding_cache BEGIN
    UPDATE counters SET count = count - 1
        WHERE what = 'embedding' AND part = '' AND collection = 0 AND state = 0;
END;
