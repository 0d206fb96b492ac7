//! Number of English nouns, by the rules of spelling and a list of what breaks them.

use crate::word_list::WordList;

/// Nouns whose plural is irregular; sorted by plural.
#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("analyses", "analysis"), ("appendices", "appendix"), ("axes", "axis"), ("bases", "basis"),
    ("caches", "cache"), ("calves", "calf"), ("children", "child"), ("corpora", "corpus"),
    ("crises", "crisis"), ("criteria", "criterion"), ("feet", "foot"), ("geese", "goose"),
    ("halves", "half"), ("hypotheses", "hypothesis"), ("indices", "index"), ("knives", "knife"),
    ("leaves", "leaf"), ("lives", "life"), ("loaves", "loaf"), ("matrices", "matrix"),
    ("men", "man"), ("mice", "mouse"), ("phenomena", "phenomenon"), ("potatoes", "potato"),
    ("scarves", "scarf"), ("shelves", "shelf"), ("teeth", "tooth"), ("theses", "thesis"),
    ("thieves", "thief"), ("tomatoes", "tomato"), ("vertices", "vertex"), ("wives", "wife"),
    ("wolves", "wolf"), ("women", "woman"),
];

/// Words in -s that are no plurals.
static SINGULAR: WordList = WordList::new(
    "afterwards alias always besides canvas does gas has hers indoors its kubernetes lens maths news
     ours outdoors pants perhaps postgres redis scissors series sometimes species theirs this
     towards trousers vs was whereas yes yours",
);

/// The singular of a plural in small letters; none of a word that is no plural, is
/// short, or has any other character: a capital may begin a name (`Leeds`).
pub(crate) fn singular(word: &str) -> Option<String> {
    if !is_plain(word) || SINGULAR.contains(word) {
        return None;
    }
    if let Ok(at) = IRREGULAR.binary_search_by_key(&word, |&(plural, _)| plural) {
        return IRREGULAR.get(at).map(|&(_, singular)| singular.to_owned());
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 2) {
        return Some(format!("{stem}y"));
    }
    for ending in ["ches", "shes", "sses", "xes", "zzes"] {
        if word.ends_with(ending) {
            return word.strip_suffix("es").map(str::to_owned);
        }
    }
    let mass = ["ss", "us", "is", "ics", "ous"].iter().any(|ending| word.ends_with(ending));
    word.strip_suffix('s').filter(|stem| !mass && stem.len() > 2).map(str::to_owned)
}

/// The plural of a singular in small letters, told by its spelling alone.
pub(crate) fn plural(word: &str) -> Option<String> {
    if !is_plain(word) || word.len() < 3 || word.ends_with('s') || singular(word).is_some() {
        return None;
    }
    if let Some((plural, _)) = IRREGULAR.iter().find(|&&(_, singular)| singular == word) {
        return Some((*plural).to_owned());
    }
    let consonant_y =
        word.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    Some(match consonant_y {
        Some(stem) => format!("{stem}ies"),
        None if ["ch", "sh", "x", "z"].iter().any(|ending| word.ends_with(ending)) => {
            format!("{word}es")
        }
        None => format!("{word}s"),
    })
}

fn is_plain(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn singulars() {
        let check = |word, expected: Option<&str>| {
            assert_eq!(singular(word).as_deref(), expected, "{word}");
        };
        check("radiators", Some("radiator"));
        check("policies", Some("policy"));
        check("ties", Some("tie"));
        check("boxes", Some("box"));
        check("classes", Some("class"));
        check("caches", Some("cache"));
        check("knives", Some("knife"));
        check("mice", Some("mouse"));
        for word in [
            "", "s", "gas", "status", "analysis", "class", "news", "physics", "Leeds", "egg", "v2s",
        ] {
            check(word, None);
        }
    }

    #[test]
    fn plurals() {
        let check = |word, expected: Option<&str>| {
            assert_eq!(plural(word).as_deref(), expected, "{word}");
        };
        check("owl", Some("owls"));
        check("policy", Some("policies"));
        check("tray", Some("trays"));
        check("box", Some("boxes"));
        check("knife", Some("knives"));
        for word in ["owls", "class", "mice", "York", "a", ""] {
            check(word, None);
        }
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(IRREGULAR.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
