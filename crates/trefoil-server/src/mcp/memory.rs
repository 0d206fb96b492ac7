//! Tools about memory, within the boundary of who calls.

use std::fmt::Write;

use serde_json::{Value, json};
use trefoil::Cancel;
use trefoil_memory::{
    Claim, ContextRequest, FeedbackInput, FeedbackOutcome, Memory, Observation, ObservationDraft,
    Tags,
    recall::{RecallProfile, RecallQuery},
};

use super::{
    arguments::{Activate, ContextPack, Feedback, Observe},
    budget::{Budget, Piece, longest, one_line, put, quoted, shortened},
    client::Client,
    documents::told,
    graph::listed,
    tool::Answer,
};
use crate::problem::Problem;

/// An answer under the policy that holds.
pub(crate) fn under_policy(memory: &Memory, answer: Answer) -> Result<Answer, Problem> {
    Ok(Answer { policy: Some(memory.policy()?.version), ..answer })
}

pub(crate) fn observe(client: &Client, asked: Observe, _: &Cancel) -> Result<Answer, Problem> {
    let draft = ObservationDraft {
        kind: asked.kind,
        source_type: asked.source_type,
        source_id: asked.source_id,
        session: asked.session,
        reply_text: asked.reply_text,
        tags: Tags::new(&asked.tags)?,
        boundary_class: asked.boundary_class,
        lifetime_days: asked.lifetime_days,
        occurred_at: asked.occurred_at,
        ..ObservationDraft::message(asked.content)
    };
    let index = client.writes()?;
    let memory = &index.memory;
    let stored = memory.observe(client.caller.observation(memory, draft)?)?;
    // What it says is found by the next call.
    memory.work()?;
    let Observation { id, kind, boundary_class, .. } = &stored;
    let text = format!("observed {id} · {kind} · {boundary_class}\n");
    let value = json!({
        "id": id,
        "kind": kind,
        "boundaryClass": boundary_class,
        "expiresAt": stored.expires_at(),
    });
    under_policy(memory, Answer::new(text, value))
}

pub(crate) fn activate(client: &Client, asked: Activate, _: &Cancel) -> Result<Answer, Problem> {
    let budget = Budget::new(asked.max_chars)?;
    let memory = &client.reads()?.memory;
    let only = |empty: bool| (!empty).then_some(());
    let query = RecallQuery {
        q: asked.q,
        scope: only(asked.scope.is_empty()).map(|()| asked.scope.into_iter().collect()),
        boundary_classes: only(asked.boundary_classes.is_empty())
            .map(|()| asked.boundary_classes.into_iter().collect()),
        allow: asked.allow,
        session: asked.session,
        top_k: asked.top_k,
        save: false,
        profile: if asked.episodes { RecallProfile::Episodes } else { RecallProfile::Hybrid },
        ..RecallQuery::default()
    };
    let query = client.caller.query(memory, query, false)?;
    let boundary = &client.caller.grant.boundary;
    let (name, pieces, degraded) = if query.profile == RecallProfile::Episodes {
        let found = memory.episodes(&query, boundary)?;
        let pieces = found.episodes.iter();
        let pieces = pieces.map(|one| told_episode(&one.observation, one.score.get()));
        ("episodes", pieces.collect(), found.degraded)
    } else {
        let found = memory.recall(&query, boundary)?;
        let pieces = found.claims.iter().map(|one| told_claim(&one.claim, one.score.get()));
        ("claims", pieces.collect::<Vec<Piece>>(), found.degraded)
    };
    let degraded = told(&degraded, budget.both / 5);
    let pieces = first_fits(pieces, budget.both / 2);
    let text = format!(
        "{} {name} · degraded: {}\n",
        pieces.len(),
        if degraded.is_empty() { "nothing".to_owned() } else { degraded.join("; ") },
    );
    let value = json!({"degraded": degraded});
    under_policy(memory, listed(text, value, name, pieces, budget))
}

/// The pieces, of which the first is cut if it alone is too long.
fn first_fits(mut pieces: Vec<Piece>, room: usize) -> Vec<Piece> {
    if let Some(first) = pieces.first_mut()
        && first.cost() > room
    {
        let whole = first.value.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        let head = first.text.lines().next().unwrap_or_default().to_owned();
        let with = |part: &str| {
            let part = format!("{part}…");
            let mut value = first.value.clone();
            put(&mut value, "text", part.clone());
            Piece { text: format!("{head}\n{}", quoted(&part)), value }
        };
        let cut = with(longest(&whole, room, |part| with(part).cost()));
        *first = cut;
    }
    pieces
}

fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1_000.0).round() / 1_000.0
}

fn told_claim(claim: &Claim, score: f32) -> Piece {
    let Claim { id, kind, scope, boundary_class, .. } = claim;
    let confidence = rounded(claim.confidence.get());
    let score = rounded(score);
    Piece {
        text: format!(
            "{id} · {kind} · {scope} · {boundary_class} · confidence {confidence:.2} · \
             {score:.3}\n{}",
            quoted(&claim.text)
        ),
        value: json!({
            "id": id,
            "kind": kind,
            "scope": scope,
            "boundaryClass": boundary_class,
            "status": claim.epistemic_status,
            "confidence": confidence,
            "score": score,
            "text": claim.text,
        }),
    }
}

fn told_episode(observation: &Observation, score: f32) -> Piece {
    let Observation { id, kind, boundary_class, created_at, .. } = observation;
    let (text, score) = (observation.text(), rounded(score));
    let at = observation.occurred_at.unwrap_or(*created_at);
    Piece {
        text: format!("{id} · {kind} · {boundary_class} · {at} · {score:.3}\n{}", quoted(&text)),
        value: json!({
            "id": id,
            "kind": kind,
            "boundaryClass": boundary_class,
            "at": at,
            "score": score,
            "text": text,
        }),
    }
}

pub(crate) fn context_pack(
    client: &Client,
    asked: ContextPack,
    _: &Cancel,
) -> Result<Answer, Problem> {
    if !(256..=32_768).contains(&asked.window) {
        return Err(Problem::parameter("window", &asked.window.to_string(), "256–32,768"));
    }
    let memory = &client.reads()?.memory;
    let query = RecallQuery { session: asked.session, save: false, ..RecallQuery::new(asked.q) };
    let query = client.caller.query(memory, query, false)?;
    let request = ContextRequest { query, window: asked.window, context: asked.context };
    let packed = memory.context(&request, &client.caller.grant.boundary)?;
    let pack = &packed.pack;
    let degraded = told(&packed.degraded, 1_000);
    let text = match pack.text.trim() {
        "" => "Nothing is remembered that bears on it.\n".to_owned(),
        text => format!("{text}\n"),
    };
    let value = json!({
        "sections": pack.sections,
        "tokens": pack.tokens,
        "budget": pack.budget,
        "degraded": degraded,
    });
    under_policy(memory, Answer::new(text, value))
}

pub(crate) fn feedback(client: &Client, asked: Feedback, _: &Cancel) -> Result<Answer, Problem> {
    let input = FeedbackInput {
        duplicate_of: asked.duplicate_of,
        ..FeedbackInput::new(asked.claim, asked.signal)
    };
    let index = client.writes()?;
    let memory = &index.memory;
    client.caller.feedback(memory, &input)?;
    let done = memory.feedback(&input)?;
    let FeedbackOutcome { feedback, previous, updated, representative } = &done;
    let changed = feedback.is_some();
    let (before, after) = (previous.confidence.get(), updated.confidence.get());
    let mut text = if changed {
        format!("confidence {before:.2} → {after:.2}, utility {:+.2}\n", updated.utility)
    } else {
        "the same was said within this minute; nothing changes\n".to_owned()
    };
    if let Some(other) = representative {
        _ = writeln!(text, "merged into {other}");
    }
    let value: Value = json!({
        "changed": changed,
        "confidence": rounded(after),
        "utility": updated.utility,
        "mergedInto": representative,
    });
    under_policy(memory, Answer::new(text, value))
}

/// A text of a caller, to show in an answer.
pub(crate) fn named(text: &str) -> String {
    shortened(&one_line(text), 200)
}
