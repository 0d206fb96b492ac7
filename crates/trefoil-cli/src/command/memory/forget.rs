use std::fmt::Write;

use trefoil::admin::{ForgetReceipt, SharedErasure, UncleanNode};

use super::{Outcome, writable};
use crate::{
    args::ForgetArgs,
    command::{fill::plural, remove::stored_name},
    progress::bytes,
    settings::Settings,
    show::printable,
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
    let ForgetReceipt { removed, searched, files, bytes_scanned, hits, shared } = receipt;
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
    if let Some(shared) = shared {
        text.push_str(&elsewhere(shared));
    }
    text
}

/// What of it is left on other nodes, and beyond the reach of all.
fn elsewhere(SharedErasure { transaction, nodes, out_of_reach }: &SharedErasure) -> String {
    let mut text = match nodes.len() {
        0 => "no node that was seen has it any more\n".to_owned(),
        1 => "1 node may still have it, until it follows:\n".to_owned(),
        nodes => format!("{nodes} nodes may still have it, until they follow:\n"),
    };
    for UncleanNode { name, transaction: at, seen_seconds_ago, .. } in nodes {
        let behind = transaction.saturating_sub(*at);
        let name = printable(name);
        _ = writeln!(text, "  {name} {behind} transactions behind, {seen_seconds_ago} s ago");
    }
    let places: Vec<&str> = out_of_reach.iter().map(|place| place.as_str()).collect();
    if !places.is_empty() {
        _ = writeln!(text, "not reached: {}", places.join(", "));
    }
    text
}
