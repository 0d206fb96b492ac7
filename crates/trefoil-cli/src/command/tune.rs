use trefoil::{search::FusionSettings, text::language_of};
use trefoil_eval::{Collection, Harness, RetrieverLists, Tuning, tune};

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

/// Asks every retriever, and keeps what was answered if a file for it is named.
fn ask(args: &TuneArgs, settings: &Settings) -> anyhow::Result<Vec<RetrieverLists>> {
    let indexes = eval::indexes(args.indexes.as_deref(), settings);
    let mut harness = Harness::new(settings.engine.clone(), indexes);
    harness.queries = args.queries;
    harness.rerank = !args.no_rerank;
    let mut asked = Vec::new();
    for folder in &args.collections {
        let collection = Collection::read(folder, language_of)?;
        settings.console.status(format_args!("{}: asking every retriever", collection.name));
        asked.extend(harness.retriever_lists(&collection)?);
    }
    if let Some(lists) = &args.lists {
        RetrieverLists::write(&asked, lists)?;
    }
    Ok(asked)
}
