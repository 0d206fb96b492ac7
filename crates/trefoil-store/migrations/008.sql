-- Format 8. Documents have metadata, and sessions an owner.

-- A JSON object of the caller's own, without white space.
ALTER TABLE files ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';

-- Whose a session is, as the caller names it; NULL: nobody's in particular.
ALTER TABLE sessions ADD COLUMN owner TEXT;
