use std::collections::HashMap;

use fastrand::Rng;

/// A Markov chain over the characters of a text: what it makes has the words of the text
/// at their frequencies, and now and then a new one, but none of its sentences.
#[derive(Debug)]
pub(crate) struct Chain {
    /// Which characters follow so many.
    followers: HashMap<Vec<char>, Vec<char>>,
    start: Vec<char>,
}

impl Chain {
    /// Learns which character follows each `order` of them. The text is read in a circle.
    pub(crate) fn of(text: &str, order: usize) -> Self {
        let mut circle: Vec<char> =
            text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
        circle.extend_from_within(..order.min(circle.len()));
        let mut followers: HashMap<Vec<char>, Vec<char>> = HashMap::new();
        for window in circle.windows(order + 1) {
            if let [context @ .., next] = window {
                followers.entry(context.to_vec()).or_default().push(*next);
            }
        }
        circle.truncate(order);
        Self { followers, start: circle }
    }

    /// So many characters.
    pub(crate) fn text(&self, length: usize, random: &mut Rng) -> String {
        let order = self.start.len();
        // The first few words are always the same, so they are left out.
        let mut made = self.start.clone();
        while made.len() < LEAD + length {
            let context = made.get(made.len() - order..).unwrap_or_default();
            match self.followers.get(context).and_then(|next| random.choice(next)) {
                Some(next) => made.push(*next),
                None => break,
            }
        }
        made.into_iter().skip(LEAD).collect()
    }
}

/// Characters after which a chain has forgotten where it started.
const LEAD: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_makes_the_characters_of_its_text_and_repeats_itself() {
        let chain = Chain::of("うらにわにはにわ、にわにはにわ、にわとりがいる。", 2);
        let text = |seed| chain.text(30, &mut Rng::with_seed(seed));
        assert_eq!(text(1).chars().count(), 30);
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        assert!(text(1).chars().all(|c| "うらにわはとりがいる。、".contains(c)), "{}", text(1));
        assert_eq!(Chain::of("", 2).text(30, &mut Rng::with_seed(1)), "");
    }
}
