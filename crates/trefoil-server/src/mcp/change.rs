//! Tools that change documents and claims, and those of the owner of an index.

use serde_json::json;
use trefoil::{Cancel, Document};
use trefoil_memory::{ClaimDraft, Observation, Origin, Payload};

use super::{
    arguments::{AddDocument, BoundaryValidate, Forget, PolicyApply, RemoveDocument, UpsertClaim},
    client::Client,
    memory::{named, under_policy},
    tool::Answer,
};
use crate::problem::Problem;

pub(crate) fn add_document(
    client: &Client,
    asked: AddDocument,
    _: &Cancel,
) -> Result<Answer, Problem> {
    let document = Document {
        path: asked.path,
        title: asked.title,
        body: asked.body,
        format: asked.format.into(),
        language: None,
        tags: asked.tags,
        date: asked.date,
        metadata: asked.metadata,
        embedding: None,
    };
    let index = client.writes()?;
    let done = index.engine.ingest(std::slice::from_ref(&document))?;
    let what = if done.written > 0 { "stored" } else { "unchanged" };
    let text = format!(
        "{what} {} · {} passages added, {} removed\n",
        named(&document.path),
        done.chunks_added,
        done.chunks_removed,
    );
    let value = json!({
        "path": document.path,
        "written": done.written > 0,
        "passagesAdded": done.chunks_added,
        "passagesRemoved": done.chunks_removed,
    });
    Ok(Answer::new(text, value))
}

pub(crate) fn remove_document(
    client: &Client,
    RemoveDocument { path }: RemoveDocument,
    _: &Cancel,
) -> Result<Answer, Problem> {
    let removed = client.writes()?.engine.remove_documents(&[&path])?;
    if removed == 0 {
        let detail = format!("there is no document `{}`; `search` tells paths", named(&path));
        return Err(Problem::own("not_found", detail));
    }
    Ok(Answer::new(
        format!("removed {}\n", named(&path)),
        json!({"path": path, "removed": removed}),
    ))
}

pub(crate) fn upsert_claim(
    client: &Client,
    asked: UpsertClaim,
    _: &Cancel,
) -> Result<Answer, Problem> {
    let origin = match (asked.observed, asked.derived) {
        (Some(observed), derived) if derived.is_empty() => Origin::Observed(observed),
        (None, derived) if !derived.is_empty() => Origin::Derived(derived),
        _ => {
            let detail = "give either `observed` or `derived`; `observe` tells an id";
            return Err(Problem::own("invalid_parameter", detail));
        }
    };
    let draft = match origin {
        Origin::Observed(observation) => ClaimDraft::observed(asked.text, observation),
        Origin::Derived(claims) => ClaimDraft::derived(asked.text, claims),
    };
    let draft = ClaimDraft {
        kind: asked.kind,
        scope: asked.scope,
        boundary_class: asked.boundary_class,
        importance: asked.importance,
        subject: asked.subject,
        predicate: asked.predicate,
        object: asked.object,
        sources: asked.sources,
        ..draft
    };
    let index = client.writes()?;
    let memory = &index.memory;
    let claim = memory.insert_claim(client.caller.claim(memory, draft)?)?;
    let text = format!("stored {} · {} · {}\n", claim.id, claim.kind, claim.boundary_class);
    let value = json!({
        "id": claim.id,
        "kind": claim.kind,
        "scope": claim.scope,
        "boundaryClass": claim.boundary_class,
        "status": claim.epistemic_status,
    });
    under_policy(memory, Answer::new(text, value))
}

pub(crate) fn boundary_validate(
    client: &Client,
    BoundaryValidate { text, class, scope, allow }: BoundaryValidate,
    _: &Cancel,
) -> Result<Answer, Problem> {
    Problem::at_most(text.len(), Observation::MAX_CONTENT, "text")?;
    let payload = Payload {
        text: &text,
        class,
        scope,
        allow: &allow,
        actor: Some(&client.caller.name),
        tool: None,
        claim: None,
    };
    let memory = &client.reads()?.memory;
    let verdict = memory.validate(&payload, &client.caller.grant.boundary)?;
    let text = format!(
        "{} · {} · {}\n",
        if verdict.allowed { "may pass" } else { "may not pass" },
        verdict.class,
        verdict.reason.as_deref().unwrap_or("no rule forbids it"),
    );
    let value = serde_json::to_value(&verdict).unwrap_or_default();
    under_policy(memory, Answer::new(text, value))
}

pub(crate) fn policy_apply(
    client: &Client,
    PolicyApply { yaml, dry_run }: PolicyApply,
    _: &Cancel,
) -> Result<Answer, Problem> {
    let index = client.writes()?;
    let memory = &index.memory;
    let version = memory.apply_policy(&yaml, dry_run)?;
    let what = if dry_run { "is valid; it was not applied" } else { "holds from now on" };
    let value = json!({"version": version, "applied": !dry_run});
    under_policy(memory, Answer::new(format!("policy {version} {what}\n"), value))
}

pub(crate) fn forget(
    client: &Client,
    Forget { subject, unit, document }: Forget,
    _: &Cancel,
) -> Result<Answer, Problem> {
    let index = client.writes()?;
    let receipt = match (&subject, &unit, &document) {
        (Some(subject), None, None) => index.memory.forget_subject(subject)?,
        (None, Some(unit), None) => index.memory.forget_unit(unit)?,
        (None, None, Some(path)) => index.engine.forget_document(path)?,
        _ => {
            let detail = "give one of `subject`, `unit` and `document`";
            return Err(Problem::own("invalid_parameter", detail));
        }
    };
    let counts: Vec<String> =
        receipt.removed.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let text = format!(
        "forgotten: {} · {} places left in {} files\n",
        if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") },
        receipt.hits,
        receipt.files.len(),
    );
    let value = json!({
        "removed": receipt.removed,
        "filesSearched": receipt.files.len(),
        "bytesSearched": receipt.bytes_scanned,
        "placesLeft": receipt.hits,
        "shared": receipt.shared,
    });
    under_policy(&index.memory, Answer::new(text, value))
}
