-- Format 5. What the sums of the graph tell besides counts: how sure an edge is and when it was
-- seen, and what an entity is taken for. Later writes keep them in step.
UPDATE edges SET (weight, first_seen_at, last_seen_at) = (
    SELECT sum(e.count * min(ifnull(s.weight, 1), ifnull(t.weight, 1))),
           min(ifnull(u.occurred_at, u.created_at)), max(ifnull(u.occurred_at, u.created_at))
    FROM unit_edges e JOIN units u ON u.id = e.unit_id
    LEFT JOIN unit_entities s ON s.unit_id = e.unit_id AND s.role = 1
        AND s.entity_id = e.src_entity_id
    LEFT JOIN unit_entities t ON t.unit_id = e.unit_id AND t.role = 1
        AND t.entity_id = e.dst_entity_id
    WHERE e.src_entity_id = edges.src_entity_id AND e.relation_label = edges.relation_label
      AND e.dst_entity_id = edges.dst_entity_id)
WHERE EXISTS (SELECT 1 FROM unit_edges e
    WHERE e.src_entity_id = edges.src_entity_id AND e.relation_label = edges.relation_label
      AND e.dst_entity_id = edges.dst_entity_id);

UPDATE entities SET roles_json = (
    SELECT json_group_array(role) FROM
        (SELECT DISTINCT lower(type_label) AS role FROM unit_entities
         WHERE entity_id = entities.id ORDER BY 1)),
    canonical_key = (
        SELECT target FROM unit_entities WHERE entity_id = entities.id AND target IS NOT NULL
        GROUP BY target ORDER BY sum(weight) DESC, target LIMIT 1);
