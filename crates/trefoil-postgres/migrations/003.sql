-- Roles that are given units of memory up to a class only.

-- boundary: the number of the highest class; 3 is all.
ALTER TABLE trefoil.member
    ADD COLUMN IF NOT EXISTS boundary int NOT NULL DEFAULT 3 CHECK (boundary BETWEEN 0 AND 3),
    ADD CHECK (kind = 'searcher' OR boundary = 3);
-- A barrier: no function of whoever asks sees a row that the view leaves out.
CREATE OR REPLACE VIEW trefoil.granted WITH (security_barrier) AS
    SELECT shard, index_name, kind, boundary
    FROM trefoil.shard JOIN trefoil.member USING (index_name) WHERE role = current_user;

-- The classes that whoever asks is given, for the policy of the table of units.
CREATE OR REPLACE VIEW trefoil.granted_class WITH (security_barrier) AS
    SELECT shard, class::bigint FROM trefoil.granted, generate_series(0, boundary) AS class;
