use std::{cmp::Ordering, fmt, str::FromStr};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, Score};

/// Where an item stands in the order of results; what comes first is less.
///
/// The reranked items come first, by their blend; then those whose token vectors were compared,
/// by what these and fusion say together; then, and where these are equal, by `combined`, newer
/// before older before undated, and by id. Ids differ, so that no two items stand at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderKey {
    /// The blend of fused and rerank score; absent for what was not reranked.
    pub reranked: Option<Score>,
    /// What its token vectors and the fused score say together; absent where they were not compared.
    pub compared: Option<Score>,
    /// The fused score.
    pub combined: Score,
    /// Date of the document.
    pub date: Option<Date>,
    /// Public id of the item: a prefix and ASCII letters, digits, `-` or `_`.
    pub id: String,
}

impl Ord for OrderKey {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.reranked.cmp(&self.reranked))
            .then_with(|| other.compared.cmp(&self.compared))
            .then_with(|| other.combined.cmp(&self.combined))
            .then_with(|| other.date.cmp(&self.date))
            .then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for OrderKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Where a page of results ended, to go on from there: to a caller, opaque text.
///
/// It names an item by its place in the order, not by a number, so that items of equal
/// score are neither shown twice nor left out, and what was added above since does not
/// push shown items onto the next page.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor {
    /// The last item of the page.
    pub last: OrderKey,
    /// How many candidates the pages are cut from: a deeper search ranks differently.
    pub depth: usize,
    /// What the first page did besides.
    pub first: FirstPage,
    /// What was asked of what, with all of this but the item: a cursor is of use for the same query
    /// and settings only, and as it was given.
    pub fingerprint: u64,
}

/// What the first page of a search did within its time. Later pages repeat it, so that all come
/// from one order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstPage {
    /// Whether token vectors that are kept were compared, of its list or of one that a repair made.
    pub compared: bool,
    /// How many words of a short question a passage has at most; 0 where they are not looked for.
    pub words: usize,
    /// How many passages were reranked.
    pub reranked: usize,
    /// How many passages were read for each of the repairs that were tried, in order. Empty without
    /// grading.
    pub repairs: Vec<usize>,
}

impl Cursor {
    /// How many of `keys`, which are in order, stand on the pages before: the next page
    /// begins there. The last item need not be among them any more.
    pub fn seen(&self, keys: &[OrderKey]) -> usize {
        // First, the item itself: what was added since may have moved its score, and scores
        // that were rounded to the same may hide the order.
        match keys.iter().position(|key| key.id == self.last.id) {
            Some(place) => place + 1,
            None => keys.partition_point(|key| *key <= self.last),
        }
    }
}

/// Version of the text form.
const FORM: &str = "5";

/// More candidates than any search looks at.
const DEEPEST: usize = 100_000;

/// More words than a short question has.
const MOST_WORDS: usize = 9;

/// More repairs than any search tries.
const MOST_REPAIRS: usize = 16;

/// Stands for a part that is absent.
const ABSENT: &str = "_";

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { last: OrderKey { reranked, compared, combined, date, id }, first, .. } = self;
        let bits = |score: Score| format!("{:08x}", score.get().to_bits());
        let or_absent = |part: Option<String>| part.unwrap_or_else(|| ABSENT.to_owned());
        let repairs: Vec<String> = first.repairs.iter().map(usize::to_string).collect();
        let repairs = or_absent((!repairs.is_empty()).then(|| repairs.join("-")));
        let FirstPage { compared: told, words, reranked: read, .. } = first;
        write!(f, "{FORM}.{:016x}.{}.", self.fingerprint, self.depth)?;
        write!(f, "{}.{words}.{read}.", u8::from(*told))?;
        let [reranked, compared] = [reranked, compared].map(|it| or_absent(it.map(bits)));
        write!(f, "{repairs}.{reranked}.{compared}.{}.", bits(*combined))?;
        write!(f, "{}.{id}", or_absent(date.map(|date| date.to_string())))
    }
}

impl FromStr for Cursor {
    type Err = Error;

    /// Takes exactly what `to_string` gives.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for anything else.
    fn from_str(text: &str) -> Result<Self> {
        parse(text).filter(|cursor| cursor.to_string() == text).ok_or_else(|| {
            Error::invalid_query("options.cursor", text, "the `nextCursor` of a result, unchanged")
        })
    }
}

crate::string_conversions!(Cursor);

fn parse(text: &str) -> Option<Cursor> {
    let mut parts = text.splitn(12, '.');
    let mut next = || parts.next();
    if next()? != FORM {
        return None;
    }
    let fingerprint = u64::from_str_radix(next()?, 16).ok()?;
    let depth = next()?.parse().ok().filter(|depth| *depth <= DEEPEST)?;
    let first = FirstPage {
        compared: next()?.parse::<u8>().ok().filter(|it| *it < 2)? == 1,
        words: next()?.parse().ok().filter(|words| *words <= MOST_WORDS)?,
        reranked: next()?.parse().ok().filter(|read| *read <= depth)?,
        repairs: optional(next()?, counts)?.unwrap_or_default(),
    };
    let reranked = optional(next()?, score)?;
    let compared = optional(next()?, score)?;
    let combined = score(next()?)?;
    let date = optional(next()?, |part| part.parse().ok())?;
    let id = next()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let valid = (1..=132).contains(&id.len()) && id.bytes().all(plain);
    valid.then(|| Cursor {
        last: OrderKey { reranked, compared, combined, date, id: id.to_owned() },
        depth,
        first,
        fingerprint,
    })
}

/// Absent, or what `read` makes of the part; none if it makes nothing.
#[expect(clippy::option_option, reason = "outside: is it a part at all; inside: is it there")]
fn optional<T>(part: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if part == ABSENT { Some(None) } else { read(part).map(Some) }
}

fn counts(text: &str) -> Option<Vec<usize>> {
    let count = |part: &str| part.parse().ok().filter(|count| *count <= DEEPEST);
    let counts: Option<Vec<usize>> = text.split('-').map(count).collect();
    counts.filter(|counts| counts.len() <= MOST_REPAIRS)
}

fn score(bits: &str) -> Option<Score> {
    Score::new(f32::from_bits(u32::from_str_radix(bits, 16).ok()?)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy as Generator, any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn key(reranked: Option<f32>, combined: f32, year: Option<i16>, id: &str) -> OrderKey {
        OrderKey {
            reranked: reranked.map(Score::clamped),
            compared: None,
            combined: Score::clamped(combined),
            date: year.map(|year| jiff::civil::date(year, 1, 1)),
            id: id.to_owned(),
        }
    }

    #[test]
    fn the_order_is_blend_then_compared_then_combined_then_newer_then_id() {
        let compared = |score, key| OrderKey { compared: Some(Score::clamped(score)), ..key };
        let ordered = [
            key(Some(0.9), 0.1, None, "chk_z"),
            key(Some(0.5), 0.9, None, "chk_y"),
            key(Some(0.5), 0.8, None, "chk_x"),
            compared(0.6, key(None, 0.2, None, "chk_w")),
            compared(0.4, key(None, 0.9, None, "chk_v")),
            compared(0.4, key(None, 0.3, None, "chk_u")),
            key(None, 1.0, Some(2020), "chk_c"),
            key(None, 0.7, Some(2026), "chk_b"),
            key(None, 0.7, Some(2020), "chk_a"),
            key(None, 0.7, None, "chk_1"),
            key(None, 0.7, None, "chk_2"),
        ];
        assert!(ordered.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn the_text_form_is_fixed() {
        let last = OrderKey {
            compared: Some(Score::clamped(0.25)),
            ..key(Some(0.5), 1.0, Some(2026), "chk_1a")
        };
        let first = FirstPage { compared: true, words: 2, reranked: 50, repairs: vec![4, 0] };
        let cursor = Cursor { last, depth: 60, first, fingerprint: 0xabc };
        let text = "5.0000000000000abc.60.1.2.50.4-0.3f000000.3e800000.3f800000.2026-01-01.chk_1a";
        assert_eq!(cursor.to_string(), text);
        assert_eq!(text.parse::<Cursor>().unwrap(), cursor);
        assert_eq!(serde_json::to_value(&cursor).unwrap(), text);
    }

    #[test]
    fn what_was_changed_is_refused_by_name() {
        for bad in [
            "",
            "5",
            "50",
            "1.0000000000000abc.60._.3f800000._.chk_1",
            "2.0000000000000abc.60.0._.3f800000._.chk_1",
            "3.0000000000000abc.60.0._._.3f800000._.chk_1",
            "4.0000000000000abc.60.0._._._.3f800000._.chk_1",
            "5.abc.60.0.0.0._._._.3f800000._.chk_1",
            "5.0000000000000ABC.60.0.0.0._._._.3f800000._.chk_1",
            "5.0000000000000abc.+60.0.0.0._._._.3f800000._.chk_1",
            "5.0000000000000abc.100001.0.0.0._._._.3f800000._.chk_1",
            "5.0000000000000abc.-1.0.0.0._._._.3f800000._.chk_1",
            "5.0000000000000abc.60.0.0.61._._._.3f800000._.chk_1",
            "5.0000000000000abc.60.0.0.0.4-._._.3f800000._.chk_1",
            "5.0000000000000abc.60.0.0.0.-4._._.3f800000._.chk_1",
            "5.0000000000000abc.60.0.0.0.04._._.3f800000._.chk_1",
            "5.0000000000000abc.60.0.0.0.100001._._.3f800000._.chk_1",
            "5.0000000000000abc.60.0.0.0._._._.7fc00000._.chk_1",
            "5.0000000000000abc.60.0.0.0._._._.40000000._.chk_1",
            "5.0000000000000abc.60.0.0.0._._._.bf000000._.chk_1",
            "5.0000000000000abc.60.0.0.0._._._.3f800000.2026-02-30.chk_1",
            "5.0000000000000abc.60.0.0.0._._._.3f800000.2026-01-01T00:00.chk_1",
            "5.0000000000000abc.60.0.0.0._._._.3f800000._.",
            "5.0000000000000abc.60.0.0.0._._._.3f800000._.chk_1.",
            "5.0000000000000abc.60.0.0.0._._._.3f800000._.chk_é",
            " 5.0000000000000abc.60.0.0.0._._._.3f800000._.chk_1",
            "5.0000000000000abc.60.2.0.0._._._.3f800000._.chk_1",
            "5.0000000000000abc.60._.0.0._._._.3f800000._.chk_1",
            "5.0000000000000abc.60.0.10.0._._._.3f800000._.chk_1",
        ] {
            let error = bad.parse::<Cursor>().unwrap_err();
            assert!(matches!(error, Error::InvalidQuery { field: "options.cursor", .. }), "{bad}");
            assert!(serde_json::from_value::<Cursor>(bad.into()).is_err());
        }
    }

    fn any_key() -> impl Generator<Value = OrderKey> {
        // Few values, so that ties are common.
        let score = || (0_u8..4).prop_map(|step| f32::from(step) / 3.0);
        (
            [score(), score()].map(proptest::option::of),
            score(),
            proptest::option::of(2024_i16..2027),
            "chk_[0-9]{1,3}",
        )
            .prop_map(|([reranked, compared], combined, year, id)| OrderKey {
                compared: compared.map(Score::clamped),
                ..key(reranked, combined, year, &id)
            })
    }

    /// A list in order; no two items have one id.
    fn any_list(least: usize) -> impl Generator<Value = Vec<OrderKey>> {
        proptest::collection::btree_set(any_key(), least..40).prop_map(|keys| {
            let numbered = keys.into_iter().zip(0..);
            let mut keys: Vec<OrderKey> = numbered
                .map(|(key, n)| OrderKey { id: format!("{}_{n}", key.id), ..key })
                .collect();
            keys.sort();
            keys
        })
    }

    proptest! {
        #[test]
        fn print_and_parse_agree(
            last in any_key(),
            depth in 0_usize..40_000,
            compared in any::<bool>(),
            repairs in proptest::collection::vec(0_usize..60, 0..6),
            fingerprint in any::<u64>(),
        ) {
            let first = FirstPage { compared, words: depth % 4, reranked: depth / 2, repairs };
            let cursor = Cursor { last, depth, first, fingerprint };
            prop_assert_eq!(&cursor, &cursor.to_string().parse::<Cursor>()?);
        }

        #[test]
        fn no_text_makes_it_panic(text in "([0-9a-f._-]|\\PC){0,60}") {
            if let Ok(cursor) = text.parse::<Cursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }

        #[test]
        fn pages_show_every_item_once(
            keys in any_list(0),
            limit in 1_usize..7,
        ) {
            let (mut shown, mut start) = (Vec::new(), 0);
            while start < keys.len() {
                let page = &keys[start..keys.len().min(start + limit)];
                shown.extend_from_slice(page);
                let last = page.last().cloned().unwrap();
                let cursor: Cursor = Cursor { last, depth: 9, first: FirstPage::default(), fingerprint: 0 }.to_string().parse()?;
                start = cursor.seen(&keys);
            }
            prop_assert_eq!(shown, keys);
        }

        #[test]
        fn what_is_added_or_removed_above_shifts_no_page(
            keys in any_list(2),
            cut in any::<proptest::sample::Index>(),
            kept in proptest::collection::vec(any::<bool>(), 40),
        ) {
            let at = cut.index(keys.len());
            let cursor = Cursor { last: keys[at].clone(), depth: 9, first: FirstPage::default(), fingerprint: 0 };
            let after: Vec<OrderKey> = keys.iter().enumerate()
                .filter(|&(place, _)| place > at || kept[place])
                .map(|(_, key)| key.clone())
                .collect();
            prop_assert_eq!(&after[cursor.seen(&after)..], &keys[at + 1..]);
            prop_assert!(after[..cursor.seen(&after)].iter().all(|key| *key <= cursor.last));
        }
    }
}
