use std::fmt::Write;

use trefoil_memory::{
    ClaimEvidence, Observation, RecalledClaims, RecalledEpisodes, ScoreBreakdown,
    recall::{RecallProfile, RecallQuery},
};

use super::{Outcome, boundary, query, readable, said, told, writable};
use crate::{
    args::RecallArgs,
    command::search::note_degraded,
    console::{Console, print, print_json},
    settings::Settings,
    show::{DIM, TITLE, score},
};

/// Answers a question with claims.
pub(super) fn run(args: RecallArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let (console, boundary) = (settings.console, boundary(&args.request));
    let query = RecallQuery {
        top_k: args.limit,
        include_meta: args.explain,
        profile: args.profile,
        recent_turns: args.turns,
        ..query(args.question, args.request, args.save)
    };
    if query.profile == RecallProfile::Episodes {
        return episodes(&readable(settings)?.episodes(&query, &boundary)?, console);
    }
    let memory = if args.save { writable(settings)? } else { readable(settings)? };
    let found = memory.recall(&query, &boundary)?;
    if console.json {
        print_json(&found)?;
    } else {
        print(text(&found))?;
        if !console.quiet {
            print(format_args!("{DIM}{}{DIM:#}\n", found.reason))?;
        }
        note_degraded(&found.degraded, console);
        if args.save {
            let context = &found.context;
            console.note(format_args!("kept as {} until {}", context.id, context.expires_at));
        }
    }
    Ok(if found.claims.is_empty() { Outcome::NothingFound } else { Outcome::Found })
}

/// Shows what was told, in place of what is held to be so.
fn episodes(found: &RecalledEpisodes, console: Console) -> anyhow::Result<Outcome> {
    if console.json {
        print_json(found)?;
    } else {
        for (one, number) in found.episodes.iter().zip(1..) {
            let Observation { id, kind, created_at, .. } = &one.observation;
            let body = said(&one.observation, "   ");
            print(format_args!(
                "{TITLE}{number}{TITLE:#}  {}   {}  {DIM}{id} · {kind} · {created_at}{DIM:#}\n\n",
                body.trim_start(),
                score(one.score),
            ))?;
        }
        note_degraded(&found.degraded, console);
    }
    Ok(if found.episodes.is_empty() { Outcome::NothingFound } else { Outcome::Found })
}

pub(in crate::command) fn text(found: &RecalledClaims) -> String {
    let digits = found.claims.len().to_string().len();
    let margin = " ".repeat(digits + 2);
    let mut text = String::new();
    for (one, number) in found.claims.iter().zip(1..) {
        let body = told(&one.claim, &margin);
        _ = write!(text, "{TITLE}{number:>digits$}{TITLE:#}  {}", body.trim_start());
        _ = write!(text, "{margin}{}", score(one.score));
        let evidence = found.evidences.iter().filter(|evidence| evidence.claim_id == one.claim.id);
        let told: Vec<String> = evidence.filter_map(source).collect();
        if !told.is_empty() {
            _ = write!(text, "  {DIM}from {}{DIM:#}", told.join(", "));
        }
        text.push('\n');
        if let Some(breakdown) = &one.breakdown {
            _ = writeln!(text, "{margin}{DIM}{}{DIM:#}", made_of(breakdown));
        }
        text.push('\n');
    }
    text
}

fn source(evidence: &ClaimEvidence) -> Option<String> {
    evidence.observation_id.as_ref().map(ToString::to_string)
}

fn made_of(breakdown: &ScoreBreakdown) -> String {
    let ScoreBreakdown { text, vector, tokens, combined, utility, confidence, quality, recency, g } =
        breakdown;
    let tokens = tokens.map(|tokens| format!(", tokens {tokens:.2}")).unwrap_or_default();
    format!(
        "words {text:.2}, meaning {vector:.2}{tokens} → {combined:.2} · utility {utility:+.2}, \
         confidence {confidence:.2}, quality {quality:.2}, recency {recency:.2} → {g:.2}"
    )
}
