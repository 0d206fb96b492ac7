-- Versions next to each other: a node tells which format of rows it works with.

-- format: NULL of a version that did not tell.
ALTER TABLE trefoil.node ADD COLUMN IF NOT EXISTS format int;

-- Whoever is to lead looks whether the tables are of its format.
DROP POLICY IF EXISTS reads ON trefoil.version;
CREATE POLICY reads ON trefoil.version FOR SELECT USING (true);

-- Nodes that are there and work with rows of an older format than $2; $3 is who asks.
CREATE OR REPLACE FUNCTION trefoil.older(int, int, text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT node FROM trefoil.node
    WHERE shard = $1 AND coalesce(format, 0) < $2 AND node <> $3 AND role <> 'embedder'
        AND seen > clock_timestamp() - interval '30 s'
    ORDER BY node
$$;
