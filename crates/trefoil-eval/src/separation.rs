//! How well a score tells two classes apart.

/// The area under the receiver operating characteristic: the chance that a positive scores
/// above a negative, a tie counting half. `None` where a class is empty.
pub fn auroc(positives: &[f64], negatives: &[f64]) -> Option<f64> {
    if positives.is_empty() || negatives.is_empty() {
        return None;
    }
    let mut sorted = negatives.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let above = |&score: &f64| {
        let below = sorted.partition_point(|&negative| negative < score);
        let up_to = sorted.partition_point(|&negative| negative <= score);
        (below + up_to) as f64 / 2.0
    };
    let pairs = (positives.len() * negatives.len()) as f64;
    Some(positives.iter().map(above).sum::<f64>() / pairs)
}

/// Share of `scores` that are at least `threshold`: of negatives the false-accept rate, of
/// positives the true-accept rate. 0 of nothing.
pub fn accept_rate(scores: &[f64], threshold: f64) -> f64 {
    let accepted = scores.iter().filter(|&&score| score >= threshold).count();
    accepted as f64 / scores.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auroc_counts_the_pairs_in_order() {
        assert_eq!(auroc(&[2.0, 3.0], &[0.0, 1.0]), Some(1.0));
        assert_eq!(auroc(&[0.0], &[1.0]), Some(0.0));
        assert_eq!(auroc(&[1.0, 1.0], &[1.0]), Some(0.5));
        // Pairs: 3>1, 3>2, 1=1, 1<2 → (1 + 1 + ½ + 0) / 4.
        assert_eq!(auroc(&[3.0, 1.0], &[1.0, 2.0]), Some(0.625));
        assert_eq!(auroc(&[], &[1.0]), None);
        assert_eq!(auroc(&[1.0], &[]), None);
    }

    #[test]
    fn a_score_at_the_threshold_is_accepted() {
        assert_eq!(accept_rate(&[0.1, 0.5, 0.9], 0.5), 2.0 / 3.0);
        assert_eq!(accept_rate(&[], 0.5), 0.0);
    }
}
