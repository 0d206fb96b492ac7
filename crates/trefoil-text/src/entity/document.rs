//! Short forms of names in the texts of one document.

use std::collections::BTreeMap;

use trefoil_core::{EntityType, Extraction, Mention, Relation};

/// The whole name that a short form stands for.
struct Whole {
    name: String,
    normalized_name: String,
    entity_type: EntityType,
}

/// Lets a short form of a name stand for the whole name in every text of a document, if one of
/// its texts has both: `Mercer` where another says `Alex Mercer … Mercer`.
///
/// Not if it stands for several names of the document, nor in a text with another name that
/// it is a word of.
pub fn resolve_short_names(extractions: Vec<Extraction>) -> Vec<Extraction> {
    let wholes = wholes(&extractions);
    if wholes.is_empty() {
        return extractions;
    }
    extractions.into_iter().map(|extraction| resolve(extraction, &wholes)).collect()
}

/// The whole name of each short form that has only one.
fn wholes(extractions: &[Extraction]) -> BTreeMap<String, Whole> {
    let mut wholes: BTreeMap<String, Option<Whole>> = BTreeMap::new();
    for mentions in extractions.iter().map(Extraction::mentions) {
        for mention in mentions {
            for short in mention.aliases.iter().filter(|alias| !alias.contains(' ')) {
                // Where it is a name of its own, it has not been taken for a form of another.
                if find(mentions, short).is_some() {
                    continue;
                }
                let same = |whole: &Whole| whole.normalized_name == mention.normalized_name;
                wholes
                    .entry(short.clone())
                    .and_modify(|whole| *whole = whole.take().filter(same))
                    .or_insert_with(|| {
                        let Mention { name, normalized_name, entity_type, .. } = mention.clone();
                        Some(Whole { name, normalized_name, entity_type })
                    });
            }
        }
    }
    wholes.into_iter().filter_map(|(short, whole)| Some((short, whole?))).collect()
}

fn resolve(extraction: Extraction, wholes: &BTreeMap<String, Whole>) -> Extraction {
    let of = |short: &str| {
        let whole = wholes.get(short)?;
        let is_word_of = |mention: &Mention| {
            mention.normalized_name != whole.normalized_name
                && mention.normalized_name != short
                && mention.normalized_name.split(' ').any(|word| word == short)
        };
        (!extraction.mentions().iter().any(is_word_of)).then_some(whole)
    };
    let short_forms = extraction.mentions().iter().map(|mention| &*mention.normalized_name);
    let found: BTreeMap<String, &Whole> =
        short_forms.filter_map(|short| Some((short.to_owned(), of(short)?))).collect();
    if found.is_empty() {
        return extraction;
    }
    let (mut mentions, mut relations) = extraction.into_parts();
    for mention in &mut mentions {
        if let Some(whole) = found.get(&mention.normalized_name) {
            mention.name.clone_from(&whole.name);
            mention.entity_type = whole.entity_type.clone();
            let short =
                std::mem::replace(&mut mention.normalized_name, whole.normalized_name.clone());
            mention.aliases.push(short);
        }
    }
    for Relation { source, target, .. } in &mut relations {
        for end in [source, target] {
            if let Some(whole) = found.get(end) {
                end.clone_from(&whole.normalized_name);
            }
        }
    }
    Extraction::new(mentions).with_relations(relations)
}

fn find<'m>(mentions: &'m [Mention], key: &str) -> Option<&'m Mention> {
    mentions.iter().find(|mention| mention.normalized_name == key)
}
