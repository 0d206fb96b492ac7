//! Short forms of names in the texts of one document.

use std::collections::BTreeMap;

use trefoil_core::{Extraction, Mention, Relation};

/// Of the texts in which a short form stands for a whole name, the share that has to agree on
/// which: a word before a name is now and then taken for a part of it.
const AGREEING: f32 = 0.75;

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

/// A mention of the whole name of each short form that has one.
fn wholes(extractions: &[Extraction]) -> BTreeMap<String, Mention> {
    let mut texts: BTreeMap<&str, BTreeMap<&str, Vec<&Mention>>> = BTreeMap::new();
    for mentions in extractions.iter().map(Extraction::mentions) {
        for mention in mentions {
            for short in mention.aliases.iter().filter(|alias| !alias.contains(' ')) {
                // Where it is a name of its own, it has not been taken for a form of another.
                if mentions.iter().all(|other| other.normalized_name != *short) {
                    let wholes = texts.entry(short).or_default();
                    wholes.entry(&mention.normalized_name).or_default().push(mention);
                }
            }
        }
    }
    let agreed = texts.into_iter().filter_map(|(short, wholes)| {
        let all: usize = wholes.values().map(Vec::len).sum();
        let agreed = wholes.into_values().find(|of| of.len() as f32 >= AGREEING * all as f32)?;
        Some((short.to_owned(), Mention::clone(agreed.first()?)))
    });
    agreed.collect()
}

fn resolve(extraction: Extraction, wholes: &BTreeMap<String, Mention>) -> Extraction {
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
    let found: BTreeMap<String, &Mention> =
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
