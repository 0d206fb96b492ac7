use trefoil_memory::ContextRequest;

use super::{Outcome, boundary, query, readable, writable};
use crate::{
    args::ContextArgs,
    command::search::note_degraded,
    console::{print, print_json},
    settings::Settings,
    show::{DIM, printable},
};

/// Puts together what to tell a language model.
pub(super) fn run(args: ContextArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let boundary = boundary(&args.request);
    let request = ContextRequest {
        query: query(args.question, args.request, args.save),
        window: args.window,
        context: args.about,
    };
    let memory = if args.save { writable(settings)? } else { readable(settings)? };
    let packed = memory.context(&request, &boundary)?;
    let pack = &packed.pack;
    if settings.console.json {
        print_json(&packed)?;
    } else {
        print(format_args!("{}\n", printable(pack.text.trim_end())))?;
        if !settings.console.quiet {
            let (tokens, budget) = (pack.tokens, pack.budget);
            print(format_args!("\n{DIM}{tokens} of {budget} tokens{DIM:#}\n"))?;
        }
        note_degraded(&packed.degraded, settings.console);
    }
    Ok(if pack.sections.is_empty() { Outcome::NothingFound } else { Outcome::Found })
}
