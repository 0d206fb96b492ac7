use std::collections::BTreeSet;

use crate::normalize;

/// The runs of three characters in a text, whatever its case, width and spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigrams(BTreeSet<[char; 3]>);

impl Trigrams {
    /// Of a text; one of fewer than three characters is filled up.
    pub fn of(text: &str) -> Self {
        let plain = normalize(text).to_lowercase();
        let words: Vec<&str> = plain.split_whitespace().collect();
        let mut letters: Vec<char> = words.join(" ").chars().collect();
        if (1..3).contains(&letters.len()) {
            letters.resize(3, '\0');
        }
        Self(letters.windows(3).filter_map(|three| three.try_into().ok()).collect())
    }

    /// Dice's coefficient, twice what both have over what each has: 0 for nothing in common
    /// (also of two empty texts), 1 for the same.
    pub fn similarity(&self, other: &Self) -> f64 {
        let all = self.0.len() + other.0.len();
        if all == 0 {
            return 0.0;
        }
        2.0 * self.0.intersection(&other.0).count() as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, expected: f64) {
        let similarity = Trigrams::of(a).similarity(&Trigrams::of(b));
        assert!((similarity - expected).abs() < 1e-9, "{a} {b} {similarity}");
    }

    #[test]
    fn dice_of_runs_of_three_characters() {
        check("night", "nacht", 0.0);
        check("nights", "night", 6.0 / 7.0);
        check("abcd", "bcde", 0.5);
        check("同じ文です", "同じ文です", 1.0);
        check("ＡＢＣ  d", "abc d", 1.0);
        check("ab", "ab", 1.0);
        check("ab", "abc", 0.0);
        check("", "", 0.0);
        check("", "abc", 0.0);
    }
}
