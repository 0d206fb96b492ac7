use crate::query::Occurrence;

/// Beyond this many positions from its place a term is not close.
const WINDOW: u32 = 8;

/// How often `second` stands about `distance` positions after `first`, both ascending.
/// Each occurrence of `first` counts 1/(1 + δ)², δ being how far the nearest `second`
/// is from its place: 1 for a phrase, ¼ for one position off.
pub(crate) fn closeness(first: &[u32], second: &[u32], distance: u32) -> f32 {
    first
        .iter()
        .map(|position| {
            let place = position.saturating_add(distance);
            let after = second.partition_point(|&other| other < place);
            let nearest = [after.checked_sub(1), Some(after)]
                .into_iter()
                .flatten()
                .filter_map(|index| second.get(index))
                .map(|other| other.abs_diff(place))
                .min();
            nearest.filter(|&off| off < WINDOW).map_or(0.0, |off| ((1 + off) as f32).powi(-2))
        })
        .sum()
}

/// True if the whole sequence occurs: some shift takes every occurrence to a position
/// of its term. `positions` are ascending, one list a term.
pub(crate) fn occurs_literally(sequence: &[Occurrence], positions: &[Vec<u32>]) -> bool {
    let places =
        |occurrence: &Occurrence| positions.get(occurrence.term).map_or(&[][..], Vec::as_slice);
    let Some(rarest) = sequence.iter().min_by_key(|occurrence| places(occurrence).len()) else {
        return false;
    };
    places(rarest).iter().any(|&place| {
        let shift = i64::from(place) - i64::from(rarest.position);
        sequence.iter().all(|occurrence| {
            u32::try_from(i64::from(occurrence.position) + shift)
                .is_ok_and(|wanted| places(occurrence).binary_search(&wanted).is_ok())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closeness_counts_phrases_fully_and_falls_with_the_offset() {
        let check = |first: &[u32], second: &[u32], distance, expected: f32| {
            assert!(
                (closeness(first, second, distance) - expected).abs() < 1e-6,
                "{first:?} {second:?}"
            );
        };
        check(&[], &[1], 1, 0.0);
        check(&[1], &[], 1, 0.0);
        check(&[1, 7], &[2, 8], 1, 2.0);
        check(&[1], &[3], 1, 0.25);
        check(&[3], &[1], 1, 1.0 / 16.0);
        check(&[1], &[4], 3, 1.0);
        check(&[1], &[200], 1, 0.0);
        check(&[u32::MAX], &[0], 5, 0.0);
    }

    #[test]
    fn a_literal_occurrence_keeps_order_and_distance() {
        let at = |term, position| Occurrence { term, position };
        let sequence = [at(0, 0), at(1, 1), at(0, 2)];
        let check = |positions: [&[u32]; 2], expected| {
            assert_eq!(
                occurs_literally(&sequence, &positions.map(<[u32]>::to_vec)),
                expected,
                "{positions:?}"
            );
        };
        check([&[5, 7], &[6]], true);
        check([&[0, 2], &[1, 9]], true);
        check([&[5, 8], &[6]], false);
        check([&[5], &[6]], false);
        check([&[], &[]], false);
        assert!(!occurs_literally(&[], &[]));
    }
}
