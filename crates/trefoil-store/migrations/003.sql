-- Format 3. Memory: what its units need to be found, corrected and forgotten.

-- Each collection replays its own part of the log: 0 documents, 1 memory.
ALTER TABLE change_log ADD COLUMN collection INTEGER NOT NULL DEFAULT 0 CHECK (collection IN (0, 1));
CREATE INDEX change_log_collection ON change_log (collection, seq);

-- embedding_hash: SHA-256 of what is embedded for a unit of memory; absent for what is not
-- embedded (archived, secret) and for chunks, whose hash is in payload_chunk.
-- archived_as: why a unit is out of search.
ALTER TABLE units ADD COLUMN embedding_hash TEXT;
ALTER TABLE units ADD COLUMN archived_as TEXT;

-- An entity of memory is another than the one of documents with its name: neither shows the
-- other. 0 documents, 1 memory.
ALTER TABLE entities ADD COLUMN collection INTEGER NOT NULL DEFAULT 0 CHECK (collection IN (0, 1));

-- An episode that is an observation. expires_at: when its text is to be scrubbed.
-- digest: SHA-256 of a text that was scrubbed.
ALTER TABLE payload_episode ADD COLUMN observation_kind TEXT
    CHECK (observation_kind IN ('tool_use', 'bash', 'error', 'success', 'note', 'message'));
ALTER TABLE payload_episode ADD COLUMN source_type TEXT
    CHECK (source_type IN ('chat', 'tool', 'file', 'http', 'system'));
ALTER TABLE payload_episode ADD COLUMN source_id TEXT;
ALTER TABLE payload_episode ADD COLUMN session_id TEXT REFERENCES sessions (id);
ALTER TABLE payload_episode ADD COLUMN actor TEXT;
ALTER TABLE payload_episode ADD COLUMN expires_at INTEGER;
ALTER TABLE payload_episode ADD COLUMN token_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payload_episode ADD COLUMN digest TEXT;
ALTER TABLE payload_episode ADD COLUMN scrubbed_at INTEGER;
CREATE INDEX payload_episode_session_id ON payload_episode (session_id);
CREATE INDEX payload_episode_expires_at ON payload_episode (expires_at);

ALTER TABLE payload_claim ADD COLUMN provenance_json TEXT;
CREATE INDEX payload_claim_subject_predicate ON payload_claim (subject, predicate);

-- How two claims stand to each other.
CREATE TABLE claim_links (
    claim_unit_id INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    other_unit_id INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    relation      TEXT    NOT NULL CHECK (relation IN ('contradicts', 'supersedes', 'duplicates')),
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (claim_unit_id, other_unit_id, relation)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_links_other_unit_id ON claim_links (other_unit_id);

-- What a unit was made from: what has to go, or be made again, when a source goes.
CREATE TABLE unit_sources (
    unit_id        INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    source_unit_id INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    PRIMARY KEY (unit_id, source_unit_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX unit_sources_source_unit_id ON unit_sources (source_unit_id);

-- Units that were given up: out of the indexes, and gone after purge_after.
CREATE TABLE tombstones (
    unit_id     INTEGER PRIMARY KEY REFERENCES units (id) ON DELETE CASCADE,
    reason      TEXT    NOT NULL,
    buried_at   INTEGER NOT NULL,
    purge_after INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstones_purge_after ON tombstones (purge_after);

-- The same feedback within a minute counts once.
CREATE UNIQUE INDEX feedbacks_once_a_minute ON feedbacks (claim_unit_id, signal, ts / 60);

-- What happened, by kind and time.
CREATE INDEX events_kind_ts ON events (kind, ts);

CREATE INDEX jobs_kind_status ON jobs (kind, status);

-- Secret units are in no index: these few are read instead.
CREATE INDEX units_secret ON units (id) WHERE boundary = 3;
