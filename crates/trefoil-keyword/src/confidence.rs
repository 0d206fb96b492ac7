/// What a list counts whose first hits are all alike, in margins.
const BASE: f32 = 0.3;
/// Coverage · (base + margin) of the usual question that a corpus answers (decision 023).
const USUAL: f32 = 0.55;

/// How much the retriever knows about a question: 0 nothing, 1 as much as it usually does.
///
/// coverage · (.3 + (first − tenth)/first), as a multiple of what is usual: `coverage` (0–1) is the
/// share of the question's information that the best passage holds, the second factor how far the
/// best score stands above the tenth.
pub(crate) fn confidence(coverage: f32, first: f32, tenth: f32) -> f32 {
    let margin = if first > 0.0 { (first - tenth) / first } else { 0.0 };
    coverage.clamp(0.0, 1.0) * (BASE + margin.clamp(0.0, 1.0)) / USUAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_and_margin_both_raise_it() {
        for (coverage, first, tenth, expected) in [
            (1.0, 10.0, 10.0, 0.3),
            (0.25, 10.0, 5.0, 0.2),
            (1.0, 10.0, 5.0, 0.8),
            (1.0, 10.0, 0.0, 1.3),
            (0.0, 10.0, 0.0, 0.0),
            (7.0, 10.0, 0.0, 1.3),
            (7.0, 0.0, 0.0, 0.3),
        ] {
            assert!(
                (USUAL * confidence(coverage, first, tenth) - expected).abs() < 1e-6,
                "{coverage} {first} {tenth}"
            );
        }
    }
}
