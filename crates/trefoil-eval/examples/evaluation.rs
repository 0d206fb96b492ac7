//! Measures the default configuration on collections and writes `docs/EVALUATION.md`; with
//! `--costs` prints what it costs.
//!
//! ```sh
//! cargo run --release -p trefoil-eval --example evaluation -- [--costs] [--indexes DIR] [--rerank N] [--left-out FILE] DATA/scifact …
//! ```
//!
//! Indexes are kept in `--indexes` (`target/evaluation` by default). Reranking is measured
//! on `--rerank` questions of each collection (100 by default; 0 for none), since it takes
//! most of the time. `--left-out` is what `trefoil tune --leave-one-out` printed: how the fusion does on
//! collections that it was not tuned on. Costs want a machine that does nothing else.
#![allow(clippy::print_stderr, reason = "a program that tells how far it is")]
#![allow(clippy::print_stdout, reason = "a program that prints a table if asked")]

use std::{error::Error, fmt::Write as _, fs, path::PathBuf};

use trefoil::{EngineConfig, Fusion, search::FusionSettings, text::language_of};
use trefoil_eval::{
    Answered, Breakdown, BreakdownTable, Collection, Harness, Metric, Report, RetrieverLists,
};

const QUALITY: &str = "docs/EVALUATION.md";

fn main() -> Result<(), Box<dyn Error>> {
    let mut indexes = PathBuf::from("target/evaluation");
    let mut rerank = 100;
    let mut costs = false;
    let mut left_out = None;
    let mut folders = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--costs" => costs = true,
            "--indexes" => indexes = arguments.next().ok_or("--indexes needs a folder")?.into(),
            "--left-out" => {
                let file = arguments.next().ok_or("--left-out needs a file")?;
                left_out = Some(fs::read_to_string(file)?);
            }
            "--rerank" => rerank = arguments.next().ok_or("--rerank needs a number")?.parse()?,
            _ => folders.push(PathBuf::from(argument)),
        }
    }
    let fused = Harness { rerank: false, ..Harness::new(EngineConfig::default(), indexes) };
    let reranked = Harness { rerank: true, thorough: true, queries: Some(rerank), ..fused.clone() };
    let mut tables = Tables { left_out, ..Tables::default() };
    for folder in &folders {
        let collection = Collection::read(folder, language_of)?;
        eprintln!("{}", collection.name);
        if costs {
            let report = fused.measure(&collection)?.report;
            note_degraded(&collection, report.degraded());
            tables.costs.push(report);
            continue;
        }
        let lists = retriever_lists(&fused, &collection)?;
        tables.precision.push(Breakdown::of(&lists, Metric::Ndcg(10)));
        tables.fusers.push(fusers(&lists)?);
        tables.recall.push(Breakdown::of(&lists, Metric::Recall(5)));
        if rerank > 0 {
            let lists = retriever_lists(&reranked, &collection)?;
            tables.reranked.push(Breakdown::of(&lists, Metric::Ndcg(10)));
            tables.reranked_recall.push(Breakdown::of(&lists, Metric::Recall(5)));
        }
        // What is there already is not lost if a later collection fails.
        fs::write(QUALITY, tables.quality()?)?;
    }
    if costs {
        println!("{}", tables.costs()?);
    }
    Ok(())
}

/// The lists of a collection's questions. Says what did not run.
fn retriever_lists(
    harness: &Harness,
    collection: &Collection,
) -> trefoil::Result<Vec<RetrieverLists>> {
    let Answered { answers, degraded } = harness.retriever_lists(collection)?;
    note_degraded(collection, degraded.iter().map(String::as_str));
    Ok(answers)
}

fn note_degraded<'r>(collection: &Collection, reasons: impl Iterator<Item = &'r str>) {
    for reason in reasons {
        eprintln!("{}: {reason}", collection.name);
    }
}

/// Every fuser with the weights that suit the type of each question, and its name.
const FUSERS: [(&str, Fusion, u32); 5] = [
    ("adaptive", Fusion::Adaptive, 60),
    ("RRF, k 60", Fusion::Rrf, 60),
    ("RRF, k 10", Fusion::Rrf, 10),
    ("min–max", Fusion::RelativeScore, 60),
    ("mean ± 3σ", Fusion::DistributionBased, 60),
];

/// nDCG@10 of each fuser on the questions of one collection.
fn fusers(lists: &[RetrieverLists]) -> trefoil::Result<(String, Vec<f64>)> {
    let set = lists.first().map(|one| one.set.clone()).unwrap_or_default();
    let of = |(_, fusion, k): (&str, Fusion, u32)| {
        let settings = FusionSettings { fusion, k, ..FusionSettings::default() };
        let mut sum = 0.0;
        for one in lists {
            sum += Metric::Ndcg(10).of(one.fused_by(&settings)?, &one.judgements);
        }
        Ok(sum / lists.len().max(1) as f64)
    };
    Ok((set, FUSERS.into_iter().map(of).collect::<trefoil::Result<_>>()?))
}

#[derive(Default)]
struct Tables {
    precision: Vec<Breakdown>,
    fusers: Vec<(String, Vec<f64>)>,
    recall: Vec<Breakdown>,
    reranked: Vec<Breakdown>,
    reranked_recall: Vec<Breakdown>,
    costs: Vec<Report>,
    left_out: Option<String>,
}

impl Tables {
    fn quality(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        let worst = self.precision.iter().map(|one| one.fusion.mean).fold(f64::INFINITY, f64::min);
        let above = self.precision.iter().filter(|one| one.fusion.mean > 0.0).count();
        let below = self
            .precision
            .iter()
            .filter(|one| one.fusion.mean < 0.0 && one.fusion.p_value < 0.05)
            .count();
        write!(
            text,
            "# Evaluation\n\n\
             Written by `just eval DATA/…` (`cargo run --release -p trefoil-eval --example \
             evaluation -- DATA/…`), where each `DATA/<name>` is a collection in BEIR layout: \
             `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`. Seeds are fixed and nothing \
             depends on time, so that a second run gives the same figures.\n\n\
             A document's score is that of its best chunk. Means have 95 % bootstrap intervals; \
             p-values are those of the paired randomisation test, two-sided. The defaults and \
             how they were chosen: [decision 023](decisions/023-fusion-by-evidence.md).\n\n\
             ## Fusion\n\n\
             nDCG@10 of each retriever's own list, and of the list that `Engine::search` \
             returns with the default settings and without reranking. The default settings were \
             chosen with these collections in sight. Fusion is above the best single retriever on {above} of {} collections, at worst \
             {worst:+.4}, and significantly below it (p < .05) on {below}.\n\n{}\n\
             Recall@5:\n\n{}\n",
            self.precision.len(),
            BreakdownTable(&self.precision),
            BreakdownTable(&self.recall),
        )?;
        if let Some(table) = &self.left_out {
            write!(
                text,
                "## Fusion, left out\n\n\
                 What `trefoil tune --leave-one-out` prints: the parameters for a collection are \
                 chosen on those of other sources only (`left out`), next to those chosen on all \
                 (`in sight`) and to the default ones, from stored lists.\n\n{table}\n"
            )?;
        }
        let names: Vec<&str> = FUSERS.iter().map(|(name, ..)| *name).collect();
        writeln!(
            text,
            "## Fusers\n\nnDCG@10 of the same lists of the retrievers under every fuser, computed from \
             the stored lists; the first column repeats what the engine returns, but for questions of \
             one to three words.\n\n| collection | {} |\n|---{}|",
            names.join(" | "),
            "|---:".repeat(names.len())
        )?;
        for (set, values) in &self.fusers {
            let cells: Vec<String> = values.iter().map(|value| format!("{value:.4}")).collect();
            writeln!(text, "| {set} | {} |", cells.join(" | "))?;
        }
        let mean = |column: usize| -> f64 {
            let values = self.fusers.iter().filter_map(|(_, values)| values.get(column));
            values.sum::<f64>() / self.fusers.len().max(1) as f64
        };
        let means: Vec<String> =
            (0..names.len()).map(|column| format!("{:.4}", mean(column))).collect();
        writeln!(text, "| mean | {} |\n", means.join(" | "))?;
        if !self.reranked.is_empty() {
            write!(
                text,
                "## Reranking\n\n\
                 nDCG@10 on some of the questions, spread over all, without a time budget. A \
                 list in English is reranked by the cross-encoder (50 passages), a list with \
                 Japanese or Korean by the token vectors of the embedder (10 passages). What the \
                 first two name is lifted ([decision 011](decisions/011-names-after-reranking.md)).\n\n\
                 {}\nRecall@5:\n\n{}\n",
                BreakdownTable(&self.reranked),
                BreakdownTable(&self.reranked_recall)
            )?;
        }
        Ok(text)
    }

    fn costs(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        writeln!(
            text,
            "One question at a time, reranking off, in milliseconds: the embedding of the \
             question is part of `semantic`.\n\n\
             | collection | documents | ms p50 | p95 | p99 | semantic p50 | documents a second | index MB | peak MB |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---:|"
        )?;
        for report in &self.costs {
            let latency = report.latency_ms.as_ref();
            let ms = |pick: fn(&trefoil_eval::Latency) -> f64| {
                latency.map_or(String::new(), |latency| format!("{:.1}", pick(latency)))
            };
            let semantic = latency.and_then(|latency| latency.stages.get("semantic"));
            writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                report.dataset,
                report.documents,
                ms(|latency| latency.p50),
                ms(|latency| latency.p95),
                ms(|latency| latency.p99),
                semantic.map_or(String::new(), |stage| format!("{:.1}", stage.p50)),
                report
                    .ingest
                    .map_or(String::new(), |one| format!("{:.0}", one.documents_per_second)),
                report.index_mb.map_or(String::new(), |size| format!("{size:.1}")),
                report.peak_rss_mb.map_or(String::new(), |size| format!("{size:.0}")),
            )?;
        }
        Ok(text)
    }
}
