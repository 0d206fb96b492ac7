//! What became of the words of late: stemming costs several times as much as looking up,
//! and a text has few words that the last texts had not.

use std::cell::RefCell;

/// Places of the cache: some thousand words are most of any text.
const PLACES: u32 = 1 << 13;

/// Longer words are rare and not kept.
const LONGEST_WORD: usize = 32;

/// A word as a term.
#[derive(Debug)]
pub(crate) struct Stem {
    pub(crate) term: Box<str>,
    /// True for a function word.
    pub(crate) stop: bool,
}

/// Hands the stem of `word` to `user`; `stem` makes it unless this thread has of late.
/// A word stems alike every time, so that the cache never shows.
pub(crate) fn with_stem(word: &str, stem: impl FnOnce(&str) -> Stem, user: impl FnOnce(&Stem)) {
    if word.len() > LONGEST_WORD {
        return user(&stem(word));
    }
    let place = place_of(word);
    // Taken out while it is used: `user` may come back here.
    let kept = CACHE
        .with_borrow_mut(|cache| cache.get_mut(place).and_then(Option::take))
        .filter(|kept| *kept.word == *word)
        .unwrap_or_else(|| Kept { word: word.into(), stem: stem(word) });
    user(&kept.stem);
    CACHE.with_borrow_mut(|cache| {
        cache.resize_with(PLACES as usize, || None);
        if let Some(place) = cache.get_mut(place) {
            *place = Some(kept);
        }
    });
}

struct Kept {
    word: Box<str>,
    stem: Stem,
}

thread_local! {
    /// By hash of the word; a later word takes the place of an earlier one.
    static CACHE: RefCell<Vec<Option<Kept>>> = const { RefCell::new(Vec::new()) };
}

/// 32-bit FNV-1a, cut to the places.
fn place_of(word: &str) -> usize {
    let hash = word
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    ((hash ^ (hash >> 16)) % PLACES) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_gets_its_own_stem_whatever_stands_in_its_place() {
        // Far more words than places, twice over.
        for round in 0..2 {
            for number in 0..3 * PLACES {
                let word = format!("word{number}");
                let make = |word: &str| Stem { term: word.to_uppercase().into(), stop: false };
                let mut got = None;
                with_stem(&word, make, |stem| got = Some(stem.term.clone()));
                assert_eq!(got.as_deref(), Some(&*word.to_uppercase()), "round {round}");
            }
        }
    }
}
