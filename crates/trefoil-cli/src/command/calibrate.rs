use std::{collections::BTreeMap, num::NonZero, path::Path};

use trefoil::{
    Engine, EngineConfig, Language, Model, Profile,
    model::{ModelSource, OnnxEmbedder},
    search::Calibration,
    text::language_of,
};
use trefoil_eval::{
    Answered, CalibrationBounds, CalibrationTable, Collection, GradeTable, Harness, RetrievalCase,
    Sample, TokenSamples, calibrate, calibrate_grades, language_means, questions, samples,
    write_language_means, write_token_space,
};

use super::{Outcome, eval, fill};
use crate::{args::CalibrateArgs, console::Console, settings::Settings};

/// The largest share of either class that a grade may take for the other.
const GRADE_ERRORS: f64 = 0.1;
/// Passages that are read for the evidence.
const READ: usize = 16;

/// Fits answerability to questions with and without answers, and writes it as a profile.
pub(super) fn run(args: &CalibrateArgs, settings: Settings) -> anyhow::Result<Outcome> {
    if args.languages {
        return languages(args, &settings);
    }
    if args.tokens {
        return tokens(args, &settings);
    }
    let index = settings.index().to_owned();
    let next_to_models = || settings.home.root().join("eval");
    let indexes = args.indexes.clone().unwrap_or_else(next_to_models);
    // The clock must not decide what the evidence is: as many passages are read as the default
    // budget allows on two cores.
    let mut config = EngineConfig { rerank_budget: None, ..settings.engine };
    config.rerank.top_k = config.rerank.top_k.min(READ);
    let mut collections = Vec::new();
    let mut all = Vec::new();
    for source in &args.sources {
        if source.is_dir() {
            collections.push(Collection::read(source, language_of)?);
        } else {
            settings.console.status(format_args!("{}: asking the index", source.display()));
            all.extend(of_cases(source, &index, &config, settings.console)?);
        }
    }
    let harness =
        Harness { thorough: true, queries: args.queries, ..Harness::new(config.clone(), indexes) };
    for collection in &collections {
        settings.console.status(format_args!("{}: asking", collection.name));
        let Answered { answers, degraded } = harness.samples(collection, &collections)?;
        eval::note_degraded(collection, degraded, settings.console);
        all.extend(answers);
    }
    let (calibrations, mut refused) = by_language(&all, model_name(&config.model).as_deref());
    let mut grades = Vec::new();
    // Between correct and incorrect there is a third grade, so that each may err a little more.
    let bounds = CalibrationBounds { errors: GRADE_ERRORS, ..CalibrationBounds::default() };
    for (reranker, fitted) in calibrate_grades(&all, &bounds) {
        match fitted {
            Ok(grade) => grades.push(grade),
            Err(refusal) => refused.push(format!("grades of {reranker}: {refusal}")),
        }
    }
    let fitted = !(calibrations.is_empty() && grades.is_empty());
    if fitted {
        let start = config
            .profile
            .unwrap_or_else(|| Profile::new(trefoil::search::FusionSettings::default()));
        let profile = Profile { calibrations, grades, ..start };
        let remarks = "Answerability and grades of evidence, fitted by `trefoil calibrate`.";
        profile.write(&args.output, remarks)?;
        settings.console.show(&profile, |Profile { calibrations, grades, .. }| {
            format!("{}\n{}", CalibrationTable(calibrations), GradeTable(grades))
        })?;
        settings.console.status(format_args!("written to {}", args.output.display()));
    }
    for refusal in refused {
        settings.console.note(refusal);
    }
    Ok(if fitted { Outcome::Found } else { Outcome::NothingFound })
}

/// Measures the mean vector of the questions in each language, and writes them.
fn languages(args: &CalibrateArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let embedder = embedder(settings)?;
    let mut texts = Vec::new();
    for source in &args.sources {
        if source.is_dir() {
            let collection = Collection::read(source, language_of)?;
            texts.extend(collection.queries.into_iter().map(|query| query.text));
        } else {
            texts.extend(questions(source)?);
        }
    }
    settings.console.status(format_args!("embedding {} questions", texts.len()));
    let means = language_means(&embedder, &texts)?;
    let named: Vec<&str> = means.languages().map(Language::code).collect();
    settings.console.status(format_args!("{}: {}", args.output.display(), named.join(", ")));
    write_language_means(&args.output, means)?;
    Ok(Outcome::Found)
}

/// Measures what the tokens of the model have in common, and writes it.
fn tokens(args: &CalibrateArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let embedder = embedder(settings)?;
    let mut samples = TokenSamples::default();
    for source in &args.sources {
        samples.add(source)?;
    }
    settings.console.status("embedding texts and questions");
    let space = samples.measure(&embedder)?;
    let [unrelated, perfect] = space.cosine_range();
    settings.console.status(format_args!(
        "{}: unrelated at {unrelated}, perfect at {perfect}",
        args.output.display()
    ));
    write_token_space(&args.output, &space)?;
    Ok(Outcome::Found)
}

/// The embedder that is named.
fn embedder(settings: &Settings) -> anyhow::Result<OnnxEmbedder> {
    let source = match &settings.engine.model {
        Model::Default => ModelSource::default(),
        Model::Named(name) => ModelSource::Name(name.clone()),
        Model::Folder(folder) => ModelSource::Folder(folder.clone()),
        Model::None | Model::Custom(_) | Model::External { .. } => {
            anyhow::bail!("this is measured of a model; name one")
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    Ok(OnnxEmbedder::open(&settings.home, &source, threads)?)
}

fn of_cases(
    file: &Path,
    index: &Path,
    config: &EngineConfig,
    console: Console,
) -> anyhow::Result<Vec<Sample>> {
    let cases = RetrievalCase::read(file)?;
    let engine = Engine::open_read_only(index, config.clone())?;
    fill::note_missing_model(&engine, console)?;
    Ok(samples(&engine, &cases)?)
}

/// The name of the embedding model, where it has one.
fn model_name(model: &Model) -> Option<String> {
    match model {
        Model::Default => match ModelSource::default() {
            ModelSource::Name(name) => Some(name),
            ModelSource::Folder(_) => None,
        },
        Model::Named(name) => Some(name.clone()),
        Model::None | Model::Folder(_) | Model::Custom(_) | Model::External { .. } => None,
    }
}

/// One calibration a language, and what could not be fitted.
fn by_language(samples: &[Sample], model: Option<&str>) -> (Vec<Calibration>, Vec<String>) {
    let mut languages: BTreeMap<Language, Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        languages.entry(sample.language).or_default().push(sample.clone());
    }
    let mut fitted = Vec::new();
    let mut refused = Vec::new();
    for (language, own) in languages {
        match calibrate(
            Some(language),
            model.map(str::to_owned),
            &own,
            &CalibrationBounds::default(),
        ) {
            Ok(calibration) => fitted.push(calibration),
            Err(refusal) => refused.push(format!("{language}: {refusal}")),
        }
    }
    (fitted, refused)
}
