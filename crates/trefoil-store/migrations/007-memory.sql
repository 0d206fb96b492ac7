-- Format 7, what is done once the tables hold nothing but memory.

-- How units of memory write and take an entity, so that its sum is not read from all of its
-- mentions. what: 0 a name, 1 a type, 2 where a link leads, 3 an alias. weight: confidences in
-- units of 2^-24, which f32 of at least .5 are whole numbers of, so that no order of additions
-- can be seen in a sum. Kept by triggers.
CREATE TABLE entity_tallies (
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    what      INTEGER NOT NULL,
    text      TEXT    NOT NULL,
    weight    INTEGER NOT NULL,
    count     INTEGER NOT NULL,
    PRIMARY KEY (entity_id, what, text)
) STRICT, WITHOUT ROWID;

-- Each mention of a unit of memory as what it adds to the tallies.
CREATE VIEW tallied AS
    SELECT unit_id, entity_id, role, 0 AS what, name AS text,
           CAST(round(weight * 16777216) AS INTEGER) AS weight FROM unit_entities
    UNION ALL
    SELECT unit_id, entity_id, role, 1, type_label,
           CAST(round(weight * 16777216) AS INTEGER) FROM unit_entities
    UNION ALL
    SELECT unit_id, entity_id, role, 2, target,
           CAST(round(weight * 16777216) AS INTEGER) FROM unit_entities WHERE target IS NOT NULL
    UNION ALL
    SELECT unit_id, entity_id, role, 3, a.value, CAST(round(m.weight * 16777216) AS INTEGER)
    FROM unit_entities m, json_each(iif(json_valid(m.aliases), m.aliases, '[]')) a
    WHERE a.type = 'text';

INSERT INTO entity_tallies
    SELECT entity_id, what, text, sum(weight), count(*) FROM tallied GROUP BY entity_id, what, text;

CREATE TRIGGER entity_tallies_insert AFTER INSERT ON unit_entities BEGIN
    INSERT INTO entity_tallies SELECT entity_id, what, text, weight, 1 FROM tallied
        WHERE unit_id = NEW.unit_id AND entity_id = NEW.entity_id AND role = NEW.role
        ON CONFLICT DO UPDATE SET weight = weight + excluded.weight, count = count + 1;
END;
CREATE TRIGGER entity_tallies_delete BEFORE DELETE ON unit_entities BEGIN
    UPDATE entity_tallies SET weight = entity_tallies.weight - t.weight, count = count - 1
        FROM tallied t
        WHERE t.unit_id = OLD.unit_id AND t.entity_id = OLD.entity_id AND t.role = OLD.role
          AND entity_tallies.entity_id = t.entity_id AND entity_tallies.what = t.what
          AND entity_tallies.text = t.text;
    DELETE FROM entity_tallies WHERE entity_id = OLD.entity_id AND count <= 0;
END;

-- What holds of an entity by claims is read when it is asked for.
UPDATE entities SET attrs_json = NULL;
