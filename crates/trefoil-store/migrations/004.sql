-- Format 4. What is still to be looked for in the files after a text was erased.

-- Every run of 16 bytes of an erased text, as a keyed hash, with the hashes of the run without
-- its last and without its first byte; the key is in meta (`erasure_key`). Empty as soon as a
-- search of all files has found nothing.
CREATE TABLE erased_runs (
    run  INTEGER PRIMARY KEY,
    head INTEGER NOT NULL,
    tail INTEGER NOT NULL
) STRICT;
