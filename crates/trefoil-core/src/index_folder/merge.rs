//! Which segments a commit rewrites.

/// A segment of more than this share of deleted rows, 1 in 4, is rewritten.
const DELETED_SHARE: usize = 4;
/// A segment takes part in a merge if it is at most this many times as large as all
/// the smaller ones together.
const RATIO: usize = 2;

/// A segment, as far as merging cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Rows that count.
    pub live: usize,
    /// Rows that only take room.
    pub deleted: usize,
}

/// Groups of places in `sizes`, the smallest first: each group should become one segment. What is
/// in no group stays as it is.
///
/// Afterwards each segment is more than twice as large as all the smaller
/// ones together, so there are at most 1 + log₃ n of them, and a row is written
/// O(log n) times in its life.
pub fn plan_merges(sizes: &[Size]) -> Vec<Vec<usize>> {
    let mut ascending: Vec<(usize, &Size)> =
        sizes.iter().enumerate().filter(|(_, size)| size.live > 0).collect();
    ascending.sort_by_key(|&(place, size)| (size.live, place));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut smaller = 0;
    for (place, size) in ascending {
        match groups.last_mut() {
            Some(group) if size.live <= RATIO * smaller => group.push(place),
            _ => groups.push(vec![place]),
        }
        smaller += size.live;
    }
    let stays = |place: usize| {
        sizes.get(place).is_some_and(|s| s.deleted * DELETED_SHARE <= s.live + s.deleted)
    };
    groups.retain(|group| !matches!(group.as_slice(), &[only] if stays(only)));
    groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(live: usize, deleted: usize) -> Size {
        Size { live, deleted }
    }

    fn new(live: usize) -> Size {
        file(live, 0)
    }

    #[test]
    fn equals_merge_and_giants_stay() {
        let none: Vec<Vec<usize>> = Vec::new();
        assert_eq!(plan_merges(&[]), none);
        assert_eq!(plan_merges(&[new(10)]), none);
        assert_eq!(plan_merges(&[new(10), new(1)]), none);
        assert_eq!(plan_merges(&[new(10), new(10)]), [[0, 1]]);
        assert_eq!(plan_merges(&[new(100), new(10), new(5)]), [[2, 1]]);
        assert_eq!(plan_merges(&[new(30), new(10), new(5)]), [[2, 1, 0]]);
    }

    #[test]
    fn the_deleted_go_in_time() {
        assert_eq!(plan_merges(&[file(75, 25)]), Vec::<Vec<usize>>::new());
        assert_eq!(plan_merges(&[file(74, 26)]), [[0]]);
        assert_eq!(plan_merges(&[file(0, 26)]), Vec::<Vec<usize>>::new());
    }

    proptest! {
        #[test]
        fn segments_stay_few_and_writes_cheap(
            batches in prop::collection::vec(prop::collection::vec(1..50_usize, 1..5), 1..200)
        ) {
            let (mut files, mut written, mut total) = (Vec::<Size>::new(), 0, 0);
            for batch in batches {
                // So many commits come before the next merge.
                let committed: usize = batch.iter().sum();
                files.extend(batch.into_iter().map(new));
                total += committed;
                written += committed;
                while let Some(group) = plan_merges(&files).into_iter().next() {
                    let live = group.iter().map(|&place| files[place].live).sum();
                    written += live;
                    let kept = (0..files.len()).filter(|place| !group.contains(place));
                    files = kept.map(|place| files[place]).chain([new(live)]).collect();
                }
                let levels = 1.0 + (total as f64).log(3.0);
                prop_assert!(files.len() as f64 <= levels, "{} of {}", files.len(), total);
            }
            prop_assert_eq!(files.iter().map(|f| f.live).sum::<usize>(), total);
            prop_assert!(written as f64 <= total as f64 * 2.0 * (1.0 + (total as f64).log2()));
        }
    }
}
