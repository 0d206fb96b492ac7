-- Format 9. An embedding comes with the vectors of its tokens.

-- How the token vectors are compared, and their codes, four bits a number; NULL where there are
-- none.
ALTER TABLE embedding_cache ADD COLUMN token_space TEXT;
ALTER TABLE embedding_cache ADD COLUMN tokens BLOB;
