use std::fmt::Write;

use trefoil::{
    Engine,
    admin::{RepairReport, TableSaved},
};

use super::{
    Outcome,
    fill::{plural, shown},
    verify,
};
use crate::{settings::Settings, show::printable};

/// Sets aside what is damaged and rebuilds it.
pub(super) fn run(settings: &Settings) -> anyhow::Result<Outcome> {
    let repair = Engine::repair(settings.index(), &settings.node(None)?)?;
    settings.console.show(&repair, text)?;
    Ok(if repair.after.is_sound() { Outcome::Found } else { Outcome::Wrong })
}

fn text(repair: &RepairReport) -> String {
    let mut text = String::new();
    for finding in &repair.before.findings {
        _ = writeln!(text, "the {}: {}", finding.part, printable(&finding.fault.to_string()));
    }
    if let Some(saved) = &repair.saved {
        for TableSaved { table, saved, lost } in &saved.tables {
            _ = match lost {
                Some(0) if *saved == 0 => Ok(()),
                Some(lost) => writeln!(text, "{table:<20} {saved} rows saved, {lost} lost"),
                None => writeln!(text, "{table:<20} {saved} rows saved, others lost"),
            };
        }
        if !saved.graph {
            _ = writeln!(text, "the graph was rebuilt from the texts");
        }
        if !saved.incomplete.is_empty() {
            let files = plural(saved.incomplete.len(), "file");
            let count = saved.incomplete.len();
            _ = writeln!(text, "{count} {files} lost something; `trefoil index` them again:");
            for path in &saved.incomplete {
                _ = writeln!(text, "  {}", printable(path));
            }
        }
    }
    let rebuilt: Vec<String> = repair.rebuilt.iter().map(ToString::to_string).collect();
    if !rebuilt.is_empty() {
        _ = writeln!(text, "rebuilt: {}", rebuilt.join(", "));
    }
    if let Some(folder) = &repair.set_aside {
        _ = writeln!(text, "what was damaged is in {}", shown(folder));
    }
    text + &verify::text(&repair.after)
}
