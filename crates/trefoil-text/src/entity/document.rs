//! What the texts of one document say together of the names in each.

use std::collections::{BTreeMap, BTreeSet};

use trefoil_core::{Extraction, Mention, MentionKind, Relation, TitledText};

use super::spaced::SHORT_NAME;

/// Of the texts in which a short form stands for a whole name, the share that has to agree on
/// which: a word before a name is now and then taken for a part of it.
const AGREEING: f32 = 0.75;

/// What each of the texts of a document mentions, read together with the others. `extractions` holds
/// one of each text.
///
/// A short form of a name stands for the whole name in every text, if one of them has both:
/// `Mercer` where another says `Alex Mercer … Mercer`. Not if it stands for several names of the
/// document, nor in a text with another name that it is a word of.
///
/// A capitalised word that only sentences start with is no name if a text has it in small
/// letters.
pub fn resolve_names(texts: &[TitledText<'_>], extractions: Vec<Extraction>) -> Vec<Extraction> {
    resolve_short_names(without_common_words(texts, extractions))
}

fn without_common_words(texts: &[TitledText<'_>], extractions: Vec<Extraction>) -> Vec<Extraction> {
    let common = common_words(texts, &extractions);
    if common.is_empty() {
        return extractions;
    }
    let each = extractions.into_iter().map(|extraction| {
        if !extraction.mentions().iter().any(|mention| common.contains(&mention.normalized_name)) {
            return extraction;
        }
        let (mut mentions, relations) = extraction.into_parts();
        mentions.retain(|mention| !common.contains(&mention.normalized_name));
        Extraction::new(mentions).with_relations(relations)
    });
    each.collect()
}

/// The words that no text certainly has as a name, and one has in small letters.
fn common_words(texts: &[TitledText<'_>], extractions: &[Extraction]) -> BTreeSet<String> {
    let mut sure = BTreeSet::new();
    let mut unsure = BTreeSet::new();
    for mention in extractions.iter().flat_map(Extraction::mentions) {
        let is_weak = mention.kind == MentionKind::ProperNoun
            && mention.confidence.get() < SHORT_NAME
            && mention.name.starts_with(char::is_uppercase);
        let words = if is_weak { &mut unsure } else { &mut sure };
        words.insert(mention.normalized_name.as_str());
    }
    unsure.retain(|word| !sure.contains(word));
    if unsure.is_empty() {
        return BTreeSet::new();
    }
    let words = texts.iter().flat_map(|one| one.text.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| unsure.contains(word)).map(str::to_owned).collect()
}

fn resolve_short_names(extractions: Vec<Extraction>) -> Vec<Extraction> {
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
