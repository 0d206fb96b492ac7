//! Our metrics against those of `pytrec_eval`.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::{fmt::Write, fs, path::Path, process::Command};

use crate::{Evaluation, Metric, Qrels, Run, Scored, random::Random};

const CUTOFFS: [usize; 4] = [1, 5, 10, 100];

fn golden(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(file)
}

/// Compares with lines of question, metric and value; gives how many there were.
#[track_caller]
fn check(run: &Run, qrels: &Qrels, expected: &str) -> usize {
    let mut metrics = vec![Metric::Map];
    for cutoff in CUTOFFS {
        metrics.extend([
            Metric::Ndcg(cutoff),
            Metric::Recall(cutoff),
            Metric::Mrr(cutoff),
            Metric::Precision(cutoff),
            Metric::Hit(cutoff),
        ]);
    }
    let evaluation = Evaluation::of(run, qrels, &metrics);
    for line in expected.lines() {
        let [query, metric, value] = *line.split('\t').collect::<Vec<_>>() else {
            panic!("not a value: {line}");
        };
        let value: f64 = value.parse().unwrap();
        let found = evaluation.scores(metric.parse().unwrap()).unwrap()[query];
        assert!((found - value).abs() < 1e-9, "{query} {metric}: {found} is not {value}");
    }
    expected.lines().count()
}

#[test]
fn metrics_equal_the_stored_ones() {
    let run = Run::read(golden("run.tsv")).unwrap();
    let qrels = Qrels::read(golden("qrels.tsv")).unwrap();
    let expected = fs::read_to_string(golden("expected.tsv")).unwrap();
    // 13 of 14 questions were answered, with 21 metrics each.
    assert_eq!(check(&run, &qrels, &expected), expected.lines().count());
}

#[test]
fn metrics_equal_those_of_pytrec_eval_where_it_is_installed() {
    let mut random = Random::seeded(9);
    let (mut run, mut qrels) = (Run::new("random"), Qrels::default());
    for query in 0..200 {
        let id = |document| format!("document {document}");
        for _ in 0..=random.below(12) {
            let gain = i32::try_from(random.below(5)).unwrap() - 1;
            qrels.insert(format!("q{query}"), id(random.below(300)), gain);
        }
        let one =
            |_| Scored { document: id(random.below(300)), score: random.below(40) as f32 / 7.0 };
        run.insert(format!("q{query}"), (0..120).map(one).collect());
    }
    let dir = tempfile::tempdir().unwrap();
    let (run_file, qrels_file) = (dir.path().join("run.tsv"), dir.path().join("qrels.tsv"));
    run.write(&run_file).unwrap();
    qrels.write(&qrels_file).unwrap();
    assert_eq!(Run::read(&run_file).unwrap(), run);
    let script = golden("reference.py");
    let output = Command::new("python3").arg(script).args([&run_file, &qrels_file]).output();
    match output {
        Ok(output) if output.status.success() => {
            let expected = String::from_utf8(output.stdout).unwrap();
            assert!(check(&run, &qrels, &expected) > 3_000);
        }
        Ok(output) if output.status.code() != Some(3) => {
            let mut message = String::from_utf8_lossy(&output.stderr).into_owned();
            let _ = write!(message, " ({})", output.status);
            panic!("reference.py failed: {message}");
        }
        _ => eprintln!("skipped: python3 has no pytrec_eval; pip install pytrec_eval-terrier"),
    }
}
