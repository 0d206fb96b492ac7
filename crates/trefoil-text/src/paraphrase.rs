//! Whether two short texts say the same.
//!
//! Their cosine says what they are about, and little of what they say of it: "I live in
//! Kyoto" and "I live in Osaka", or what somebody likes and what he dislikes, are nearer to
//! each other than many a text is to its paraphrase. So the cosine only decides whether two
//! texts are about one thing. Then both are parsed, by words of each language that are data,
//! and say the same only if nothing in them differs (decision 012). Where the words do not
//! decide it, they do not.

mod korean;
mod lexicon;
mod statement;
#[cfg(test)]
mod tests;
mod trigrams;

use self::{
    lexicon::Lexicon,
    statement::{Clause, Statement, is_number},
};
use crate::language_of;

pub use trigrams::Trigrams;

/// From this [`nearness`] on two texts are about one thing. Nearly all pairs that say the same
/// are above it, and hardly any two texts that have nothing in common.
pub const ABOUT_THE_SAME: f32 = 0.6;

/// The first thing in which two texts differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// They are in two languages, or in one whose words are not known.
    Language,
    /// One is about the past.
    Time,
    /// One denies what the other says.
    Denial,
    /// Another number.
    Number,
    /// Words of either that nothing in the other means.
    Words(Vec<String>, Vec<String>),
    /// Words have changed places: "from A to B" and "from B to A".
    Role,
}

impl Difference {
    /// True if one text only says more than the other.
    pub fn is_detail(&self) -> bool {
        matches!(self, Self::Words(ours, theirs) if ours.is_empty() || theirs.is_empty())
    }
}

/// The first thing in which two texts differ; none if they say the same.
pub fn difference(a: &str, b: &str) -> Option<Difference> {
    let (Some(a), Some(b)) = (Statement::of(a), Statement::of(b)) else {
        return Some(Difference::Language);
    };
    if a.language != b.language {
        return Some(Difference::Language);
    }
    if a.past != b.past {
        return Some(Difference::Time);
    }
    clauses_differ(&a.clauses, &b.clauses).or_else(|| roles_differ(&a, &b))
}

/// Sentences in the language of a text about nothing in particular, for [`nearness`].
pub fn background(text: &str) -> &'static [String] {
    Lexicon::of(language_of(text)).map_or(&[], |lexicon| &lexicon.background)
}

/// How near two unit vectors are, by how near they are to a background of vectors: 0 is the
/// mean cosine with those, 1 the same. Models differ in what their cosines are of texts that
/// have nothing in common (.8 and more with the default one), and so do languages.
pub fn nearness(a: &[f32], b: &[f32], background: &[Vec<f32>]) -> f32 {
    let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let all: f32 = background.iter().map(|other| cosine(a, other) + cosine(b, other)).sum();
    let unrelated = all / (2 * background.len().max(1)) as f32;
    (cosine(a, b) - unrelated) / (1.0 - unrelated).max(f32::EPSILON)
}

fn clauses_differ(a: &[Clause], b: &[Clause]) -> Option<Difference> {
    if let ([a], [b]) = (a, b) {
        return clause_differs(a, b);
    }
    let mut left: Vec<&Clause> = b.iter().collect();
    for one in a {
        let Some(at) = left.iter().position(|other| clause_differs(one, other).is_none()) else {
            return Some(Difference::Denial);
        };
        left.remove(at);
    }
    (!left.is_empty()).then_some(Difference::Denial)
}

fn clause_differs(a: &Clause, b: &Clause) -> Option<Difference> {
    let (ours, theirs) = (without(&a.terms, &b.terms), without(&b.terms, &a.terms));
    if a.denied != b.denied {
        return Some(Difference::Denial);
    }
    if ours.iter().chain(&theirs).any(|term| is_number(term)) {
        return Some(Difference::Number);
    }
    // A compound may be written in one word or in more.
    let same_letters = ours.concat() == theirs.concat();
    (a.terms.is_empty() || !same_letters).then_some(Difference::Words(ours, theirs))
}

/// The terms of one list that the other has not, or not as often.
fn without(terms: &[String], others: &[String]) -> Vec<String> {
    let mut others: Vec<&String> = others.iter().collect();
    let mut rest = Vec::new();
    for term in terms {
        match others.iter().position(|other| *other == term) {
            Some(at) => drop(others.swap_remove(at)),
            None => rest.push(term.clone()),
        }
    }
    rest
}

fn roles_differ(a: &Statement, b: &Statement) -> Option<Difference> {
    let are_apart = |one: &Statement| one.people.len() > 1;
    let people = are_apart(a) && are_apart(b) && a.people != b.people;
    let differs = people
        || a.roles
            .iter()
            .any(|(name, terms)| b.roles.get(name).is_some_and(|others| others.is_disjoint(terms)));
    differs.then_some(Difference::Role)
}
