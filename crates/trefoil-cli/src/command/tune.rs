use std::collections::BTreeSet;

use trefoil::{search::FusionSettings, text::language_of};
use trefoil_eval::{Answered, Collection, Harness, RetrieverLists, Tuning, leave_one_out, tune};

use super::{Outcome, eval};
use crate::{args::TuneArgs, settings::Settings};

/// Chooses settings on collections and writes them as a profile.
pub(super) fn run(args: &TuneArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let mut tuning = Tuning { folds: args.folds.into(), ..Tuning::default() };
    tuning.metric = args.metric.parse()?;
    let asked = match args.lists.as_deref().filter(|lists| lists.exists()) {
        Some(lists) => RetrieverLists::read(lists)?,
        None => ask(args, settings)?,
    };
    if args.leave_one_out {
        return left_out(args, asked, settings);
    }
    let start = FusionSettings { rerank: !args.no_rerank, ..FusionSettings::default() };
    settings.console.status(format_args!("{} questions: trying settings", asked.len()));
    let mut tuned = tune(&asked, &start, &tuning)?;
    if args.no_rerank {
        // It was not tried, so that the profile has nothing to say about it.
        let rules = tuned.profile.rules.iter_mut().map(|rule| &mut rule.settings);
        rules.chain([&mut tuned.profile.default]).for_each(|settings| settings.rerank = true);
    }
    let names: Vec<&str> = {
        let mut names: Vec<&str> = asked.iter().map(|one| one.set.as_str()).collect();
        names.dedup();
        names
    };
    let remarks = format!("{} chosen on {}.\n\n{tuned}", tuning.metric, names.join(", "));
    tuned.profile.write(&args.output, &remarks)?;
    settings.console.show(&tuned.profile, |_| &tuned)?;
    settings.console.status(format_args!("written to {}", args.output.display()));
    Ok(Outcome::Found)
}

/// Shows how adaptive fusion does on collections whose source it was not tuned on.
fn left_out(
    args: &TuneArgs,
    mut asked: Vec<RetrieverLists>,
    settings: &Settings,
) -> anyhow::Result<Outcome> {
    let mut sources: Vec<Vec<String>> =
        args.source.iter().map(|names| names.split(',').map(str::to_owned).collect()).collect();
    for path in &args.with {
        // The same collection asked with another model is another one, of the same source.
        let run = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let renamed = |set: &str| format!("{set} ({run})");
        let lists = RetrieverLists::read(path)?;
        let sets: BTreeSet<String> = lists.iter().map(|one| one.set.clone()).collect();
        for set in sets {
            match sources.iter_mut().find(|source| source.contains(&set)) {
                Some(source) => source.push(renamed(&set)),
                None => sources.push(vec![renamed(&set), set]),
            }
        }
        asked.extend(lists.into_iter().map(|one| RetrieverLists { set: renamed(&one.set), ..one }));
    }
    settings.console.status(format_args!("{} questions: leaving sources out", asked.len()));
    let table = leave_one_out(&asked, &sources)?;
    settings.console.show(&table, ToString::to_string)?;
    Ok(Outcome::Found)
}

/// Asks every retriever, and keeps what was answered if a file for it is named.
fn ask(args: &TuneArgs, settings: &Settings) -> anyhow::Result<Vec<RetrieverLists>> {
    let indexes = eval::indexes(args.indexes.as_deref(), settings);
    let mut harness = Harness::new(settings.engine.clone(), indexes);
    harness.queries = args.queries;
    harness.rerank = !args.no_rerank;
    // Other settings bring other passages to the top: the scores of all are wanted.
    harness.thorough = true;
    let mut asked = Vec::new();
    for folder in &args.collections {
        let collection = Collection::read(folder, language_of)?;
        settings.console.status(format_args!("{}: asking every retriever", collection.name));
        let Answered { answers, degraded } = harness.retriever_lists(&collection)?;
        eval::note_degraded(&collection, degraded, settings.console);
        asked.extend(answers);
    }
    if let Some(lists) = &args.lists {
        RetrieverLists::write(&asked, lists)?;
    }
    Ok(asked)
}
