-- Format 1. Times are UTC epoch seconds; JSON is TEXT; a unit owns its payload.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Everything that can be found. AUTOINCREMENT: the indexes rank in row numbers,
-- so a number is never given to another row.
-- kind: 1 episode, 2 fact, 3 summary, 7 loop, 8 chunk, 9 claim.
-- state: 0 raw, 1 validated, 2 consolidated, 3 archived.
-- boundary: 0 public, 1 internal, 2 pii, 3 secret.
-- sensitivity: 0 normal, 1 private, 2 secret.
CREATE TABLE units (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id   TEXT    NOT NULL UNIQUE,
    kind        INTEGER NOT NULL,
    occurred_at INTEGER,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    source      TEXT,
    state       INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
    confidence  REAL    NOT NULL DEFAULT 0.5,
    salience    REAL    NOT NULL DEFAULT 0,
    boundary    INTEGER NOT NULL DEFAULT 1 CHECK (boundary BETWEEN 0 AND 3),
    sensitivity INTEGER NOT NULL GENERATED ALWAYS AS (max(boundary - 1, 0)) VIRTUAL,
    pin         INTEGER NOT NULL DEFAULT 0,
    topic_tags  TEXT,
    persona_affect_label     TEXT,
    persona_affect_intensity REAL
) STRICT;
CREATE INDEX units_kind_created_at ON units (kind, created_at);
CREATE INDEX units_occurred_at ON units (occurred_at);
CREATE INDEX units_state ON units (state);

-- tags: sorted JSON array of strings. dates: JSON array of ISO 8601 days.
CREATE TABLE files (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id TEXT    NOT NULL UNIQUE,
    path      TEXT    NOT NULL UNIQUE,
    size      INTEGER NOT NULL,
    mtime     INTEGER NOT NULL,
    sha256    TEXT    NOT NULL,
    title     TEXT    NOT NULL,
    tags      TEXT    NOT NULL,
    dates     TEXT    NOT NULL
) STRICT;

-- ordinal: leaves count up from 0, parents count down from -1.
-- hash: SHA-256 of text. embedding_hash: SHA-256 of what is embedded for it.
-- The text stands last: what stands before it is read without its pages.
CREATE TABLE payload_chunk (
    unit_id        INTEGER PRIMARY KEY REFERENCES units (id) ON DELETE CASCADE,
    file_id        INTEGER NOT NULL REFERENCES files (id),
    ordinal        INTEGER NOT NULL,
    byte_start     INTEGER NOT NULL,
    byte_end       INTEGER NOT NULL,
    line_start     INTEGER NOT NULL,
    line_end       INTEGER NOT NULL,
    language       TEXT    NOT NULL,
    hash           TEXT    NOT NULL,
    embedding_hash TEXT    NOT NULL,
    heading_path   TEXT    NOT NULL,
    text           TEXT    NOT NULL,
    UNIQUE (file_id, ordinal)
) STRICT;
CREATE INDEX payload_chunk_language ON payload_chunk (language, file_id, ordinal);

CREATE TABLE payload_episode (
    unit_id            INTEGER PRIMARY KEY REFERENCES units (id) ON DELETE CASCADE,
    input_text         TEXT,
    reply_text         TEXT,
    image_summary      TEXT,
    context_note       TEXT,
    reflection_json    TEXT,
    content_compressed TEXT
) STRICT;

CREATE TABLE payload_claim (
    unit_id          INTEGER PRIMARY KEY REFERENCES units (id) ON DELETE CASCADE,
    text             TEXT    NOT NULL,
    kind             TEXT    NOT NULL CHECK (kind IN ('fact', 'preference', 'task', 'policy_hint')),
    scope            TEXT    NOT NULL CHECK (scope IN ('session', 'project', 'principle')),
    session_id       TEXT    REFERENCES sessions (id),
    origin_json      TEXT    NOT NULL,
    quality          REAL    NOT NULL DEFAULT 0.5,
    utility          REAL    NOT NULL DEFAULT 0,
    recency          REAL    NOT NULL DEFAULT 1,
    recency_anchor   INTEGER NOT NULL,
    decayed_at       INTEGER NOT NULL,
    content_hash     TEXT    NOT NULL UNIQUE,
    sources_json     TEXT    NOT NULL DEFAULT '[]',
    epistemic_status TEXT    NOT NULL DEFAULT 'inferred'
                     CHECK (epistemic_status IN ('verified', 'inferred', 'unknown')),
    last_verified_at INTEGER NOT NULL,
    ttl              INTEGER,
    importance       INTEGER NOT NULL DEFAULT 2 CHECK (importance BETWEEN 0 AND 3),
    subject          TEXT,
    predicate        TEXT,
    object           TEXT,
    valid_from       INTEGER,
    valid_to         INTEGER
) STRICT;
CREATE INDEX payload_claim_session_id ON payload_claim (session_id);

CREATE TABLE payload_fact (
    unit_id                INTEGER PRIMARY KEY REFERENCES units (id) ON DELETE CASCADE,
    subject_entity_id      INTEGER REFERENCES entities (id) ON DELETE SET NULL,
    predicate              TEXT NOT NULL,
    object_text            TEXT,
    object_entity_id       INTEGER REFERENCES entities (id) ON DELETE SET NULL,
    valid_from             INTEGER,
    valid_to               INTEGER,
    evidence_unit_ids_json TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE INDEX payload_fact_subject_entity_id_predicate ON payload_fact (subject_entity_id, predicate);
CREATE INDEX payload_fact_object_entity_id ON payload_fact (object_entity_id);

CREATE TABLE payload_summary (
    unit_id      INTEGER PRIMARY KEY REFERENCES units (id) ON DELETE CASCADE,
    scope_label  TEXT NOT NULL,
    scope_key    TEXT NOT NULL,
    range_start  INTEGER,
    range_end    INTEGER,
    summary_text TEXT NOT NULL,
    summary_json TEXT
) STRICT;
CREATE INDEX payload_summary_scope_label_scope_key ON payload_summary (scope_label, scope_key);

CREATE TABLE payload_loop (
    unit_id    INTEGER PRIMARY KEY REFERENCES units (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL,
    due_at     INTEGER,
    loop_text  TEXT    NOT NULL UNIQUE
) STRICT;
CREATE INDEX payload_loop_due_at ON payload_loop (due_at);
CREATE INDEX payload_loop_expires_at ON payload_loop (expires_at);

CREATE TABLE unit_versions (
    unit_id        INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    version        INTEGER NOT NULL,
    parent_version INTEGER,
    patch_reason   TEXT    NOT NULL CHECK (patch_reason IN (
                       'reflect', 'extract_update', 'integrate_merge', 'feedback', 'decay', 'downgrade',
                       'summarize', 'admin_update_unit_meta', 'forget')),
    payload_hash   TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    PRIMARY KEY (unit_id, version)
) STRICT, WITHOUT ROWID;

-- The graph. type_label is upper-case, roles are lower-case.
CREATE TABLE entities (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id     TEXT    NOT NULL UNIQUE,
    type_label    TEXT,
    name          TEXT    NOT NULL,
    normalized    TEXT,
    roles_json    TEXT    NOT NULL DEFAULT '[]',
    canonical_key TEXT,
    attrs_json    TEXT,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX entities_type_label_name ON entities (type_label, name);
CREATE INDEX entities_normalized ON entities (normalized);

CREATE TABLE entity_aliases (
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    alias     TEXT    NOT NULL,
    PRIMARY KEY (entity_id, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_aliases_alias ON entity_aliases (alias);

-- role: 1 mentioned.
CREATE TABLE unit_entities (
    unit_id   INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    role      INTEGER NOT NULL,
    weight    REAL    NOT NULL DEFAULT 1,
    PRIMARY KEY (unit_id, entity_id, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX unit_entities_entity_id ON unit_entities (entity_id);

CREATE TABLE edges (
    src_entity_id    INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    relation_label   TEXT    NOT NULL,
    dst_entity_id    INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    weight           REAL    NOT NULL DEFAULT 1,
    count            INTEGER NOT NULL DEFAULT 1,
    first_seen_at    INTEGER,
    last_seen_at     INTEGER,
    evidence_unit_id INTEGER REFERENCES units (id) ON DELETE SET NULL,
    props_json       TEXT,
    PRIMARY KEY (src_entity_id, relation_label, dst_entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_src_entity_id ON edges (src_entity_id);
CREATE INDEX edges_dst_entity_id ON edges (dst_entity_id);
CREATE INDEX edges_evidence_unit_id ON edges (evidence_unit_id);

CREATE TABLE communities (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id      TEXT    NOT NULL UNIQUE,
    level          INTEGER NOT NULL,
    parent_id      INTEGER REFERENCES communities (id) ON DELETE SET NULL,
    name           TEXT    NOT NULL,
    size           INTEGER NOT NULL,
    internal_edges INTEGER NOT NULL DEFAULT 0,
    external_edges INTEGER NOT NULL DEFAULT 0,
    modularity     REAL    NOT NULL DEFAULT 0,
    summary        TEXT    NOT NULL DEFAULT '',
    keywords_json  TEXT    NOT NULL DEFAULT '[]',
    content_hash   TEXT    NOT NULL DEFAULT '',
    updated_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX communities_parent_id ON communities (parent_id);

CREATE TABLE community_members (
    community_id INTEGER NOT NULL REFERENCES communities (id) ON DELETE CASCADE,
    entity_id    INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    PRIMARY KEY (community_id, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX community_members_entity_id ON community_members (entity_id);

-- Memory.
CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    project_path TEXT    NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    summary      TEXT,
    token_count  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE evidences (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id           TEXT    NOT NULL UNIQUE,
    claim_unit_id       INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    observation_unit_id INTEGER REFERENCES units (id) ON DELETE SET NULL,
    method              TEXT    NOT NULL CHECK (method IN ('rule', 'llm', 'manual')),
    note                TEXT,
    created_at          INTEGER NOT NULL
) STRICT;
CREATE INDEX evidences_claim_unit_id ON evidences (claim_unit_id);
CREATE INDEX evidences_observation_unit_id ON evidences (observation_unit_id);

CREATE TABLE feedbacks (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id     TEXT    NOT NULL UNIQUE,
    claim_unit_id INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    ts            INTEGER NOT NULL,
    signal        TEXT    NOT NULL CHECK (signal IN ('helpful', 'harmful', 'outdated', 'duplicate')),
    score         REAL    CHECK (score BETWEEN -1 AND 1)
) STRICT;
CREATE INDEX feedbacks_claim_unit_id_signal_ts ON feedbacks (claim_unit_id, signal, ts);

CREATE TABLE active_contexts (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id       TEXT    NOT NULL UNIQUE,
    "window"        INTEGER,
    scope           TEXT    NOT NULL,
    provenance_json TEXT,
    policy_version  TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX active_contexts_expires_at ON active_contexts (expires_at);

CREATE TABLE active_context_items (
    context_id    INTEGER NOT NULL REFERENCES active_contexts (id) ON DELETE CASCADE,
    rank          INTEGER NOT NULL,
    claim_unit_id INTEGER NOT NULL REFERENCES units (id) ON DELETE CASCADE,
    score         REAL    NOT NULL,
    PRIMARY KEY (context_id, rank)
) STRICT, WITHOUT ROWID;
CREATE INDEX active_context_items_claim_unit_id ON active_context_items (claim_unit_id);

CREATE TABLE policies (
    version    TEXT PRIMARY KEY,
    yaml       TEXT    NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

-- unit_id is kept after the unit is gone: an event tells that it was.
CREATE TABLE events (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    ts           INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    unit_id      INTEGER,
    payload_json TEXT    NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX events_unit_id ON events (unit_id);

-- status: 0 queued, 1 running, 2 done, 3 failed.
CREATE TABLE jobs (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT    NOT NULL,
    payload_json TEXT    NOT NULL,
    status       INTEGER NOT NULL DEFAULT 0 CHECK (status BETWEEN 0 AND 3),
    run_after    INTEGER NOT NULL,
    tries        INTEGER NOT NULL DEFAULT 0,
    last_error   TEXT,
    lease_until  INTEGER,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    UNIQUE (kind, payload_json)
) STRICT;
CREATE INDEX jobs_status_run_after ON jobs (status, run_after);

-- text_hash: payload_chunk.embedding_hash. fingerprint: SHA-256 of the line that
-- names the vector space, first 16 bytes. vector: little-endian f32.
CREATE TABLE embedding_cache (
    text_hash   TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    vector      BLOB NOT NULL,
    PRIMARY KEY (text_hash, fingerprint)
) STRICT;

-- What the indexes replay. A row keeps its last change of each kind only.
-- kind: 0 text (or removed), 1 vector.
CREATE TABLE change_log (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    unit_id INTEGER NOT NULL,
    kind    INTEGER NOT NULL CHECK (kind IN (0, 1)),
    removed INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1)),
    UNIQUE (unit_id, kind)
) STRICT;
