use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{Score, SessionId, TokenCounter, UnitKind};
use trefoil_text::canonical_text;

use crate::{Unit, UnitId};

/// How much is told of what was found, from the least.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("minimum" = 1, "maximum" = 3)))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(try_from = "u8", into = "u8")]
pub enum Layer {
    /// One line each, about 50 tokens at most; best first.
    #[default]
    Line,
    /// What it is about, about 200 tokens at most; oldest first.
    Context,
    /// Everything, with the session and what it is related to; best first.
    Whole,
}

impl Layer {
    /// The most tokens that are told of a text; absent for all.
    pub const fn tokens(self) -> Option<usize> {
        match self {
            Self::Line => Some(50),
            Self::Context => Some(200),
            Self::Whole => None,
        }
    }
}

impl TryFrom<u8> for Layer {
    type Error = trefoil_core::Error;

    fn try_from(layer: u8) -> trefoil_core::Result<Self> {
        match layer {
            1 => Ok(Self::Line),
            2 => Ok(Self::Context),
            3 => Ok(Self::Whole),
            _ => Err(trefoil_core::Error::invalid_query("layer", layer, "1, 2 or 3")),
        }
    }
}

impl From<Layer> for u8 {
    fn from(layer: Layer) -> Self {
        match layer {
            Layer::Line => 1,
            Layer::Context => 2,
            Layer::Whole => 3,
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug)]
pub struct FoundUnit {
    /// The unit.
    pub unit: Unit,
    /// What it says.
    pub text: String,
    /// How well it answers.
    pub score: Score,
    /// The session that it is of.
    pub session: Option<SessionId>,
    /// What it is related to.
    pub related: Vec<UnitId>,
}

/// What is told of a unit.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// The unit.
    pub id: UnitId,
    /// How well it answers.
    pub score: Score,
    /// What it says, or the beginning of it.
    pub text: String,
    /// What it is; from the second layer on.
    pub kind: Option<UnitKind>,
    /// When it happened; from the second layer on.
    pub happened_at: Option<Timestamp>,
    /// The session that it is of; in the third layer.
    pub session: Option<SessionId>,
    /// What it is related to; in the third layer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<UnitId>,
    /// Tokens of `text`.
    pub tokens: usize,
}

/// The same results as seen through a layer. They are given best first.
pub fn views(found: &[FoundUnit], layer: Layer, counter: &dyn TokenCounter) -> Vec<View> {
    let mut views: Vec<View> = found.iter().map(|one| view(one, layer, counter)).collect();
    if layer == Layer::Context {
        views.sort_by_key(|view| view.happened_at);
    }
    views
}

fn view(found: &FoundUnit, layer: Layer, counter: &dyn TokenCounter) -> View {
    let text = match layer {
        Layer::Line => canonical_text(&found.text),
        Layer::Context | Layer::Whole => found.text.trim().to_owned(),
    };
    let text = layer.tokens().map_or_else(|| text.clone(), |most| beginning(&text, most, counter));
    let told = |least| layer >= least;
    View {
        id: found.unit.id.clone(),
        score: found.score,
        kind: told(Layer::Context).then_some(found.unit.kind),
        happened_at: told(Layer::Context).then(|| found.unit.happened_at()),
        session: found.session.clone().filter(|_| told(Layer::Whole)),
        related: if told(Layer::Whole) { found.related.clone() } else { Vec::new() },
        tokens: counter.count(&text),
        text,
    }
}

/// The longest beginning of a text, cut between words where there are any, that has at most
/// `most` tokens, with `…` if it is not all of it.
pub(crate) fn beginning(text: &str, most: usize, counter: &dyn TokenCounter) -> String {
    if counter.count(text) <= most {
        return text.to_owned();
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let shortened = |end: usize| {
        let kept = text.get(..end).unwrap_or_default();
        // A word that is cut is left out, unless it is all that there is.
        let whole = kept.rfind(char::is_whitespace).filter(|&at| 2 * at > end).unwrap_or(end);
        format!("{}…", kept.get(..whole).unwrap_or_default().trim_end())
    };
    let fits = ends.partition_point(|&end| counter.count(&shortened(end)) <= most);
    fits.checked_sub(1).and_then(|at| ends.get(at)).map(|&end| shortened(end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_text::ApproximateTokens;

    use super::*;

    fn unit(number: i64) -> Unit {
        let at = Timestamp::from_second(number).unwrap();
        Unit::new(format!("obs_{number}").parse().unwrap(), UnitKind::Episode, at)
    }

    #[test]
    fn a_layer_is_a_number_on_the_wire() {
        for number in 1..=3_u8 {
            let layer: Layer = serde_json::from_str(&number.to_string()).unwrap();
            assert_eq!(serde_json::to_string(&layer).unwrap(), number.to_string());
        }
        assert!(
            serde_json::from_str::<Layer>("4").is_err()
                && serde_json::from_str::<Layer>("0").is_err()
        );
        assert_eq!(Layer::default(), Layer::Line);
    }

    #[test]
    fn each_layer_tells_more() {
        let (newer, older) = (unit(2), unit(1));
        let long = "An owl hunts at night.\n".repeat(60);
        let session: SessionId = "ses_1".parse().unwrap();
        let found = [&newer, &older].map(|unit| FoundUnit {
            unit: unit.clone(),
            text: long.clone(),
            score: Score::HALF,
            session: Some(session.clone()),
            related: vec![older.id.clone()],
        });
        let [lines, context, whole] = [Layer::Line, Layer::Context, Layer::Whole]
            .map(|layer| views(&found, layer, &ApproximateTokens));
        assert!(lines.iter().all(|view| view.tokens <= 50 && !view.text.contains('\n')));
        assert_eq!(
            (lines[0].id.as_str(), lines[0].happened_at, lines[0].session.as_ref()),
            ("obs_2", None, None)
        );
        // The second layer is in the order of time.
        assert!(context.iter().all(|view| view.tokens <= 200 && view.tokens > 50));
        assert_eq!((context[0].id.as_str(), context[0].kind), ("obs_1", Some(UnitKind::Episode)));
        assert_eq!((whole[0].text.as_str(), whole[0].related.len()), (long.trim(), 1));
        assert_eq!(whole[0].session, Some(session));
        assert_eq!(whole[0].tokens, ApproximateTokens.count(long.trim()));
    }

    proptest! {
        #[test]
        fn a_beginning_fits_and_is_one(text in "([a-z]{1,9} |東京の|한국어 ){0,40}", most in 0_usize..40) {
            let text = text.trim();
            let kept = beginning(text, most, &ApproximateTokens);
            prop_assert!(ApproximateTokens.count(&kept) <= most);
            prop_assert!(text.starts_with(kept.trim_end_matches('…')));
            prop_assert!(kept == text || kept.is_empty() || kept.ends_with('…'));
        }
    }
}
