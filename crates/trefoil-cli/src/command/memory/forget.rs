use std::fmt::Write;

use trefoil::admin::ForgetReceipt;

use super::{Outcome, writable};
use crate::{
    args::ForgetArgs,
    command::{fill::plural, remove::stored_name},
    progress::bytes,
    settings::Settings,
};

/// Erases something with all that was made from it, and shows the receipt.
pub(super) fn run(args: &ForgetArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let receipt = match args {
        ForgetArgs { document: Some(path), .. } => {
            settings.open_existing()?.forget_document(&stored_name(path))?
        }
        ForgetArgs { unit: Some(id), .. } => writable(settings)?.forget_unit(id)?,
        ForgetArgs { subject, .. } => {
            writable(settings)?.forget_subject(subject.as_deref().unwrap_or_default())?
        }
    };
    settings.console.show(&receipt, text)?;
    Ok(match (receipt.hits, receipt.removed.is_empty()) {
        (0, false) => Outcome::Found,
        (0, true) => Outcome::NothingFound,
        _ => Outcome::Wrong,
    })
}

/// What was erased, and what a search of the files found of it.
pub(in crate::command) fn text(receipt: &ForgetReceipt) -> String {
    let ForgetReceipt { removed, searched, files, bytes_scanned, hits } = receipt;
    let counts: Vec<String> =
        removed.iter().map(|(kind, count)| format!("{count} {}", plural(*count, kind))).collect();
    let mut text = match (removed.is_empty(), searched) {
        (false, _) => format!("forgotten: {}\n", counts.join(", ")),
        (true, false) => return "there was nothing to forget\n".to_owned(),
        (true, true) => "there was nothing more to forget; what was forgotten before:\n".to_owned(),
    };
    _ = writeln!(
        text,
        "{} {} of {} searched for it: {}",
        files.len(),
        plural(files.len(), "file"),
        bytes(*bytes_scanned),
        match hits {
            0 => "nothing is left".to_owned(),
            1 => "1 place left; run it again".to_owned(),
            hits => format!("{hits} places left; run it again"),
        }
    );
    for file in files.iter().filter(|file| file.hits > 0) {
        _ = writeln!(text, "  {}", file.path.display());
    }
    if *hits > 0 {
        text.push_str("what Trefoil did not write there has to be removed by hand\n");
    }
    text
}
