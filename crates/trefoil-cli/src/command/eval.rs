use std::{
    fmt,
    path::{Path, PathBuf},
};

use trefoil::{Error, Fusion, text::language_of};
use trefoil_eval::{
    Answered, Breakdown, BreakdownTable, Collection, Comparison, Evaluation, Harness, Metric,
    ReportTable, Run,
};

use super::Outcome;
use crate::{
    args::EvalArgs,
    console::{Console, print, print_json},
    settings::Settings,
};

/// Measures the engine on collections, or compares two runs on one.
pub(super) fn run(args: &EvalArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    if let [a, b] = args.compare.as_slice() {
        return compare(args, a, b, settings.console);
    }
    let harness = harness(args, settings)?;
    if args.retrievers {
        return retrievers(args, &harness, settings.console);
    }
    let mut reports = Vec::new();
    for folder in &args.collections {
        let collection = Collection::read(folder, language_of)?;
        settings.console.status(format_args!(
            "{}: {} documents, {} questions",
            collection.name,
            collection.documents.len(),
            collection.answerable().count()
        ));
        let measured = harness.measure(&collection)?;
        note_degraded(&collection, measured.report.degraded(), settings.console);
        if let Some(path) = &args.run {
            measured.run.write(of_collection(path, &collection.name, args.collections.len()))?;
        }
        reports.push(measured.report);
    }
    settings.console.show(&reports, |reports| ReportTable(reports).to_string())?;
    Ok(Outcome::Found)
}

/// Shows what each retriever's own list is worth, and what the engine returns without and with
/// reranking.
fn retrievers(args: &EvalArgs, harness: &Harness, console: Console) -> anyhow::Result<Outcome> {
    let mut breakdowns = Vec::new();
    for folder in &args.collections {
        let collection = Collection::read(folder, language_of)?;
        console.status(format_args!("{}: asking every retriever", collection.name));
        let Answered { answers: lists, degraded } = harness.retriever_lists(&collection)?;
        note_degraded(&collection, &degraded, console);
        for metric in [Metric::Ndcg(10), Metric::Recall(5)] {
            breakdowns.push(Breakdown::of(&lists, metric));
        }
    }
    if console.json {
        print_json(&breakdowns)?;
        return Ok(Outcome::Found);
    }
    for metric in [Metric::Ndcg(10), Metric::Recall(5)] {
        let of_metric = breakdowns.iter().filter(|one| one.metric == metric).cloned();
        print(format_args!("{metric}\n\n{}\n", BreakdownTable(&of_metric.collect::<Vec<_>>())))?;
    }
    Ok(Outcome::Found)
}

/// Says what did not run, such as a retriever without its model: the figures are without it.
pub(super) fn note_degraded(
    collection: &Collection,
    reasons: impl IntoIterator<Item: fmt::Display>,
    console: Console,
) {
    for reason in reasons {
        console.note(format_args!("{}: {reason}", collection.name));
    }
}

fn harness(args: &EvalArgs, settings: &Settings) -> anyhow::Result<Harness> {
    let mut config = settings.engine.clone();
    if let Some(name) = &args.fuser {
        config.fusion = fusion(name)?;
        config.profile = None;
    }
    let mut harness = Harness::new(config, indexes(args.indexes.as_deref(), settings));
    if !args.strategies.is_empty() {
        harness.strategies.clone_from(&args.strategies);
    }
    harness.rerank = !args.no_rerank;
    harness.thorough = args.thorough;
    harness.queries = args.queries;
    Ok(harness)
}

/// Where the indexes of collections are kept: in the folder that is chosen for them, or for
/// an index, or next to the models.
pub(super) fn indexes(chosen: Option<&Path>, settings: &Settings) -> PathBuf {
    let next_to_models = || settings.index_or(settings.home.root().join("eval"));
    chosen.map_or_else(next_to_models, Path::to_owned)
}

fn fusion(name: &str) -> trefoil::Result<Fusion> {
    serde_json::from_value(serde_json::Value::from(name)).map_err(|_| Error::InvalidConfig {
        field: "fuser",
        value: name.to_owned(),
        allowed: "adaptive, rrf, relativeScore or distributionBased",
    })
}

/// Where the run of one of several collections goes: `run.trec` becomes `run.scifact.trec`.
fn of_collection(path: &Path, name: &str, collections: usize) -> PathBuf {
    if collections == 1 {
        return path.to_owned();
    }
    match path.extension() {
        Some(extension) => path.with_extension(format!("{name}.{}", extension.display())),
        None => path.with_extension(name),
    }
}

/// Judges two runs question by question.
fn compare(args: &EvalArgs, a: &Path, b: &Path, console: Console) -> anyhow::Result<Outcome> {
    let [folder] = args.collections.as_slice() else {
        anyhow::bail!("--compare takes one collection, {} were given", args.collections.len());
    };
    let collection = Collection::read(folder, language_of)?;
    let metric = Metric::Ndcg(10);
    let judged = |path: &Path| -> trefoil::Result<_> {
        let evaluation = Evaluation::of(&Run::read(path)?, &collection.qrels, &[metric]);
        Ok(evaluation.scores(metric).cloned().unwrap_or_default())
    };
    let verdict = Comparison::of(metric, &judged(a)?, &judged(b)?);
    console.show(&verdict, Comparison::to_string)?;
    Ok(Outcome::Found)
}
