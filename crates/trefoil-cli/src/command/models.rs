use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use trefoil::model::{
    AddSource, AddedModel, Card, Draft, LanguageCheck, ModelHome, ModelRole, ModelStatus,
    PullOptions, TranslationCheck,
};

use super::Outcome;
use crate::{
    args::{AddArgs, ModelsCommand},
    console::{Console, print, print_json},
    interrupt::say_on_ctrl_c,
    progress::{PullBars, bytes},
    settings::Settings,
};

/// One line of the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: &'a str,
    role: ModelRole,
    version: &'a str,
    license: &'a str,
    languages: &'a [String],
    size: u64,
    present: bool,
    path: String,
}

impl<'a> From<&'a ModelStatus> for Listed<'a> {
    fn from(status: &'a ModelStatus) -> Self {
        Self {
            name: status.name(),
            role: status.role(),
            version: &status.version,
            license: &status.card.license,
            languages: &status.card.languages,
            size: status.size,
            present: status.present,
            path: status.path.display().to_string(),
        }
    }
}

/// Fetches, lists, checks and locates models.
pub(super) fn run(command: &ModelsCommand, settings: &Settings) -> anyhow::Result<Outcome> {
    let home = &settings.home;
    match command {
        ModelsCommand::Pull { names, offline } => {
            say_on_ctrl_c(
                "stopped; what is complete is kept, and the same command goes on from here",
            )?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            pull(home, &names, *offline, settings.console)?;
            list(home, settings.console)
        }
        ModelsCommand::List => list(home, settings.console),
        ModelsCommand::Verify { names } => verify(home, names, settings.console),
        ModelsCommand::Path { name } => {
            let path = match name {
                Some(name) => home.path(name)?,
                None => home.root().to_owned(),
            };
            settings.console.show(&path, |_| format!("{}\n", path.display()))?;
            Ok(Outcome::Found)
        }
        ModelsCommand::Add(args) => add(home, args, settings.console),
        ModelsCommand::Remove { name } => {
            let folder = home.remove(name)?;
            settings.console.show(&folder, |_| format!("removed {}\n", folder.display()))?;
            Ok(Outcome::Found)
        }
    }
}

/// Fetches models in sight of a person.
pub(super) fn pull(
    home: &ModelHome,
    names: &[&str],
    offline: bool,
    console: Console,
) -> anyhow::Result<()> {
    let bars = PullBars::new(console);
    let pulled = home.pull(names, &bars, PullOptions { offline });
    bars.finish();
    Ok(pulled?)
}

/// Adds a model in sight of a person, or shows what would be added.
fn add(home: &ModelHome, args: &AddArgs, console: Console) -> anyhow::Result<Outcome> {
    let source: AddSource = args.source.parse()?;
    let (options, pull) = (args.options(), PullOptions { offline: args.offline });
    let bars = PullBars::new(console);
    if args.dry_run {
        let draft = home.draft(&source, &options, &bars, pull);
        bars.finish();
        let Draft { card, unknown, .. } = &draft?;
        remark(unknown, console);
        console.show(&draft_json(card, unknown), |_| card_text(card))?;
        return Ok(Outcome::Found);
    }
    let added = home.add(&source, &options, &bars, pull);
    bars.finish();
    let added = added?;
    remark(&added.remarks, console);
    console.show(&added, |added| format!("{}\n{}", card_text(&added.card), checks(added)))?;
    let name = &added.card.name;
    let embeds = added.card.role == ModelRole::Embedder;
    let flag = if embeds { "--model" } else { "--rerank-model" };
    console.status(format_args!("added; use it with `{flag} {name}`"));
    Ok(Outcome::Found)
}

/// What a person has to look up.
fn remark(remarks: &[String], console: Console) {
    for remark in remarks {
        console.note(remark);
    }
}

/// The card as it is in its file.
fn card_text(card: &Card) -> String {
    toml::to_string(card).unwrap_or_default()
}

fn draft_json<'a>(card: &'a Card, unknown: &'a [String]) -> impl Serialize + 'a {
    #[derive(Serialize)]
    struct Drafted<'a> {
        card: &'a Card,
        unknown: &'a [String],
    }
    Drafted { card, unknown }
}

/// What was measured, a line each.
fn checks(added: &AddedModel) -> String {
    let mut text = String::new();
    for LanguageCheck { language, questions, found } in &added.check.languages {
        _ = writeln!(text, "{language}: {found} of {questions} questions have their answer first");
    }
    for TranslationCheck { from, to, texts, nearest } in &added.check.translations {
        _ = writeln!(
            text,
            "{from} → {to}: {nearest} of {texts} texts are nearest to their translation"
        );
    }
    let [unrelated, perfect] = added.check.range;
    _ = writeln!(text, "unrelated texts score {unrelated}, perfect matches {perfect}");
    text
}

fn list(home: &ModelHome, console: Console) -> anyhow::Result<Outcome> {
    let models = home.list()?;
    console.show(&models.iter().map(Listed::from).collect::<Vec<_>>(), |_| table(&models))?;
    Ok(Outcome::Found)
}

fn table(models: &[ModelStatus]) -> String {
    let green = Style::new().fg_color(Some(AnsiColor::Green.into()));
    let dim = Style::new().dimmed();
    let width = models.iter().map(|model| model.name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for model in models {
        let (style, state) = if model.present { (green, "here") } else { (dim, "absent") };
        _ = writeln!(
            text,
            "{:<width$}  {:<10}  {:>8}  {style}{state:<6}{style:#}  {:<10}  {dim}{}{dim:#}",
            model.name(),
            model.role().name(),
            bytes(model.size),
            model.card.license,
            model.card.languages.join(" "),
        );
    }
    text
}

fn verify(home: &ModelHome, names: &[String], console: Console) -> anyhow::Result<Outcome> {
    let all = home.list()?;
    let names: Vec<&str> = if names.is_empty() {
        all.iter().filter(|model| model.present).map(ModelStatus::name).collect()
    } else {
        names.iter().map(String::as_str).collect()
    };
    if names.is_empty() {
        console.note("there are no models; run `trefoil models pull`");
        return Ok(Outcome::NothingFound);
    }
    let mut verified = Vec::new();
    for name in names {
        let status = home.verify(name)?;
        if !console.json {
            print(format_args!("{name}: every checksum agrees\n"))?;
        }
        verified.push(status);
    }
    if console.json {
        print_json(&verified.iter().map(Listed::from).collect::<Vec<_>>())?;
    }
    Ok(Outcome::Found)
}
