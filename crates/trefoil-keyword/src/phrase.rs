use crate::query::Occurrence;

/// How often `second` stands exactly `distance` positions after `first`, both ascending.
pub(crate) fn pairs(first: &[u32], second: &[u32], distance: u32) -> usize {
    let place = |position: &&u32| position.checked_add(distance);
    first
        .iter()
        .filter(|at| place(at).is_some_and(|place| second.binary_search(&place).is_ok()))
        .count()
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
    fn pairs_stand_in_order_at_their_distance() {
        let check = |first: &[u32], second: &[u32], distance, expected| {
            assert_eq!(pairs(first, second, distance), expected, "{first:?} {second:?}");
        };
        check(&[], &[1], 1, 0);
        check(&[1], &[], 1, 0);
        check(&[1, 7], &[2, 8], 1, 2);
        check(&[1], &[3], 1, 0);
        check(&[3], &[2], 1, 0);
        check(&[1], &[4], 3, 1);
        check(&[u32::MAX], &[0], 1, 0);
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
