/// A logistic function of several features: `1 / (1 + e^−(bias + Σ weight · feature))`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Logistic {
    pub(crate) bias: f64,
    pub(crate) weights: Vec<f64>,
}

impl Logistic {
    /// The function that makes `targets` (0–1) likeliest, less `ridge / 2 · Σ weight²`, by
    /// Newton's method with halved steps. Every row has one value a feature.
    ///
    /// With one feature, no ridge and [`platt_targets`] it is Platt scaling. Source: Lin,
    /// Lin, Weng: A note on Platt's probabilistic outputs for support vector machines,
    /// Machine Learning 2007.
    pub(crate) fn fit(rows: &[Vec<f64>], targets: &[f64], ridge: f64) -> Self {
        let features = rows.first().map_or(0, Vec::len);
        let mut best = Self { bias: 0.0, weights: vec![0.0; features] };
        let mut loss = best.loss(rows, targets, ridge);
        for _ in 0..100 {
            let step = best.newton_step(rows, targets, ridge);
            let next = (0..20)
                .map(|halvings| best.moved(&step, 0.5_f64.powi(halvings)))
                .map(|next| (next.loss(rows, targets, ridge), next))
                .find(|(next, _)| *next < loss);
            let Some((next_loss, next)) = next else { break };
            let gained = loss - next_loss;
            (loss, best) = (next_loss, next);
            if gained < 1e-12 * loss.max(1.0) {
                break;
            }
        }
        best
    }

    /// The log-odds.
    pub(crate) fn odds(&self, row: &[f64]) -> f64 {
        self.bias + self.weights.iter().zip(row).map(|(weight, value)| weight * value).sum::<f64>()
    }

    /// The probability.
    pub(crate) fn at(&self, row: &[f64]) -> f64 {
        sigmoid(self.odds(row))
    }

    fn loss(&self, rows: &[Vec<f64>], targets: &[f64], ridge: f64) -> f64 {
        let one = |(row, &target): (&Vec<f64>, &f64)| {
            let odds = self.odds(row);
            // log(1 + e^odds) − target · odds, without overflow.
            odds.max(0.0) + (-odds.abs()).exp().ln_1p() - target * odds
        };
        let penalty = ridge / 2.0 * self.weights.iter().map(|weight| weight * weight).sum::<f64>();
        rows.iter().zip(targets).map(one).sum::<f64>() + penalty
    }

    /// Inverse Hessian times gradient; the bias comes last.
    fn newton_step(&self, rows: &[Vec<f64>], targets: &[f64], ridge: f64) -> Vec<f64> {
        let size = self.weights.len() + 1;
        let mut gradient: Vec<f64> = self.weights.iter().map(|weight| ridge * weight).collect();
        gradient.push(0.0);
        let mut hessian: Vec<Vec<f64>> = (0..size)
            .map(|i| {
                let own = if i + 1 < size { ridge } else { 0.0 };
                (0..size).map(|j| if i == j { own + 1e-12 } else { 0.0 }).collect()
            })
            .collect();
        for (row, target) in rows.iter().zip(targets) {
            let probability = self.at(row);
            let curvature = probability * (1.0 - probability);
            let with_bias = || row.iter().copied().chain([1.0]);
            for ((x, slope), line) in with_bias().zip(&mut gradient).zip(&mut hessian) {
                *slope += (probability - target) * x;
                for (y, cell) in with_bias().zip(line) {
                    *cell += curvature * x * y;
                }
            }
        }
        solve(hessian, gradient)
    }

    fn moved(&self, step: &[f64], share: f64) -> Self {
        let along = |(value, step): (&f64, &f64)| value - share * step;
        Self {
            weights: self.weights.iter().zip(step).map(along).collect(),
            bias: self.bias - share * step.last().copied().unwrap_or_default(),
        }
    }
}

/// The targets of Platt scaling: (positives + 1) / (positives + 2) and 1 / (negatives + 2)
/// in place of 1 and 0, so that perfect separation does not make it certain.
pub(crate) fn platt_targets(labels: &[bool]) -> Vec<f64> {
    let positives = labels.iter().filter(|&&label| label).count() as f64;
    let negatives = labels.len() as f64 - positives;
    let target = |&label: &bool| {
        if label { (positives + 1.0) / (positives + 2.0) } else { 1.0 / (negatives + 2.0) }
    };
    labels.iter().map(target).collect()
}

pub(crate) fn sigmoid(odds: f64) -> f64 {
    if odds >= 0.0 { 1.0 / (1.0 + (-odds).exp()) } else { odds.exp() / (1.0 + odds.exp()) }
}

/// Solves a positive definite system by Gauss–Jordan elimination.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    for pivot in 0..right.len() {
        let (Some(line), Some(&value)) = (matrix.get(pivot).cloned(), right.get(pivot)) else {
            break;
        };
        let scale = line.get(pivot).copied().unwrap_or(1.0);
        for (index, (other, sum)) in matrix.iter_mut().zip(&mut right).enumerate() {
            let share = if index == pivot {
                1.0 - 1.0 / scale
            } else {
                other.get(pivot).copied().unwrap_or_default() / scale
            };
            for (cell, from) in other.iter_mut().zip(&line) {
                *cell -= share * from;
            }
            *sum -= share * value;
        }
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: &Logistic, bias: f64, weights: &[f64]) {
        assert!((found.bias - bias).abs() < 1e-4, "{found:?}");
        assert_eq!(found.weights.len(), weights.len());
        for (weight, expected) in found.weights.iter().zip(weights) {
            assert!((weight - expected).abs() < 1e-4, "{found:?}");
        }
    }

    fn rows() -> (Vec<Vec<f64>>, Vec<bool>) {
        let x = [0.1, 0.4, 0.35, 0.8, 0.9, 0.55, 0.2, 0.7];
        let y = [1.0, 0.0, 0.5, 0.25, 0.75, 1.0, 0.0, 0.5];
        let labels = [false, false, true, true, true, false, false, true];
        (x.iter().zip(y).map(|(&x, y)| vec![x, y]).collect(), labels.to_vec())
    }

    #[test]
    fn it_agrees_with_scikit_learn() {
        let (rows, labels) = rows();
        let hard: Vec<f64> = labels.iter().map(|&label| f64::from(u8::from(label))).collect();
        // LogisticRegression(C=1, tol=1e-10)
        check(&Logistic::fit(&rows, &hard, 1.0), -0.324_850, &[0.656_166, -0.006_452]);
        // sklearn.calibration._SigmoidCalibration, signs turned
        let first: Vec<Vec<f64>> = rows.iter().map(|row| vec![row[0]]).collect();
        check(&Logistic::fit(&first, &platt_targets(&labels), 0.0), -2.002_842, &[4.011_532]);
    }

    #[test]
    fn nothing_to_learn_gives_the_base_rate() {
        let labels = [true, false, false, false];
        let targets: Vec<f64> = labels.iter().map(|&label| f64::from(u8::from(label))).collect();
        let rows = vec![vec![1.0]; 4];
        let found = Logistic::fit(&rows, &targets, 1.0);
        assert!((found.at(&[1.0]) - 0.25).abs() < 1e-6, "{found:?}");
        assert_eq!(Logistic::fit(&[], &[], 1.0).at(&[]), 0.5);
    }

    #[test]
    fn perfect_separation_stays_finite() {
        let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i)]).collect();
        let labels: Vec<bool> = (0..20).map(|i| i >= 10).collect();
        let found = Logistic::fit(&rows, &platt_targets(&labels), 0.0);
        assert!(found.weights[0] > 0.0 && found.weights[0].is_finite());
        assert!(found.at(&[19.0]) > 0.9 && found.at(&[0.0]) < 0.1);
    }
}
