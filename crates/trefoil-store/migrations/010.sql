-- Format 10. Whose embedding it is, is found without reading every chunk: when a text goes, and
-- when a node is to be told of a vector.

CREATE INDEX payload_chunk_embedding_hash ON payload_chunk (embedding_hash);
CREATE INDEX units_embedding_hash ON units (embedding_hash) WHERE embedding_hash IS NOT NULL;
