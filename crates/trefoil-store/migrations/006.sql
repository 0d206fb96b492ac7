-- Format 6. What claims add to the sums of memory's graph: what holds of an entity, and since
-- when and until when an edge holds. Later writes keep them in step.
UPDATE entities SET attrs_json = (
    SELECT json_group_object(label, json(names)) FROM
        (SELECT label, json_group_array(name) AS names FROM
            (SELECT DISTINCT e.relation_label AS label, t.name AS name
             FROM unit_edges e JOIN units u ON u.id = e.unit_id AND u.state < 3
             JOIN payload_claim c ON c.unit_id = e.unit_id AND c.valid_to IS NULL
             JOIN unit_entities t ON t.unit_id = e.unit_id AND t.role = 1
                 AND t.entity_id = e.dst_entity_id
             WHERE e.src_entity_id = entities.id ORDER BY 1, 2)
         GROUP BY label))
WHERE EXISTS (
    SELECT 1 FROM unit_edges e JOIN units u ON u.id = e.unit_id AND u.state < 3
    JOIN payload_claim c ON c.unit_id = e.unit_id AND c.valid_to IS NULL
    WHERE e.src_entity_id = entities.id);

UPDATE edges SET props_json = (
    SELECT nullif(json_patch('{}', json_object('valid_from', min(c.valid_from), 'valid_to',
               CASE WHEN count(c.valid_to) = count(*) THEN max(c.valid_to) END)), '{}')
    FROM unit_edges e JOIN units u ON u.id = e.unit_id AND u.state < 3
    JOIN payload_claim c ON c.unit_id = e.unit_id
    WHERE e.src_entity_id = edges.src_entity_id AND e.relation_label = edges.relation_label
      AND e.dst_entity_id = edges.dst_entity_id);
