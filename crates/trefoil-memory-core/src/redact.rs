//! What a policy cuts out of observations and claims.

use trefoil_core::{Error, Result, SourceType};
use trefoil_policy::Policy;

use crate::{Claim, ClaimDraft, ContentHash, ObservationDraft};

/// Makes an observation fit to be stored: what the policy names is cut out of its texts, and
/// what was found raises its class.
///
/// # Errors
/// [`Error::BoundaryDenied`] for a file that holds credentials by its name, and for what its
/// writer marks secret where the policy names no tag that may see it.
pub fn admit(draft: ObservationDraft, policy: &Policy) -> Result<ObservationDraft> {
    let file = draft.source_id.as_deref().filter(|_| draft.source_type == SourceType::File);
    if file.is_some_and(trefoil_text::is_credential_file) {
        return Err(Error::denied("the file's name", "files of this name hold credentials"));
    }
    policy.check_class(draft.boundary_class)?;
    let mut boundary_class = draft.boundary_class;
    let clean = draft.map_texts(&mut |text| {
        let redacted = policy.redact.redact(text);
        boundary_class = redacted.class(boundary_class);
        Ok(redacted.text)
    })?;
    Ok(ObservationDraft { boundary_class, ..clean })
}

/// Makes a claim fit to be stored, as [`admit`] does an observation. A claim whose text is
/// changed by it has the hash of what is left.
///
/// # Errors
/// [`Error::BoundaryDenied`] for what its writer marks secret where the policy names no tag
/// that may see it.
pub fn admit_claim(draft: ClaimDraft, policy: &Policy) -> Result<ClaimDraft> {
    policy.check_class(draft.boundary_class)?;
    let mut boundary_class = draft.boundary_class;
    let mut clean = |text: &str| {
        let redacted = policy.redact.redact(text);
        boundary_class = redacted.class(boundary_class);
        redacted.text
    };
    let text = clean(&draft.text);
    let [subject, object] =
        [&draft.subject, &draft.object].map(|term| term.as_deref().map(&mut clean));
    let content_hash = draft.content_hash.filter(|_| text == draft.text);
    Ok(ClaimDraft { text, boundary_class, content_hash, subject, object, ..draft })
}

/// Cuts out of a claim that is to be shown what its class's policy says; then it has the hash
/// of what is left.
pub fn cut_out(claim: &mut Claim, policy: &Policy) {
    let Some(rules) = policy.boundary_classes.get(&claim.boundary_class) else { return };
    if let Some(text) = rules.cut(&claim.text) {
        claim.content_hash = ContentHash::of(&text);
        claim.text = text;
    }
    for term in [&mut claim.subject, &mut claim.object] {
        let left = term.as_deref().and_then(|term| rules.cut(term));
        *term = left.or_else(|| term.take());
    }
}

#[cfg(test)]
mod tests {
    use trefoil_core::BoundaryClass;

    use super::*;

    #[test]
    fn an_observation_is_cut_before_it_is_stored() {
        let draft = ObservationDraft::message("전화 010-1234-5678, key sk-abcdef0123456789xy");
        let admitted = admit(draft, &Policy::built_in().unwrap()).unwrap();
        assert_eq!(admitted.content, "전화 [phone], key [secret]");
        assert_eq!(admitted.boundary_class, BoundaryClass::Pii);
        let plain =
            admit(ObservationDraft::message("Owls hunt."), &Policy::built_in().unwrap()).unwrap();
        assert_eq!(plain.boundary_class, BoundaryClass::Internal);
    }

    #[test]
    fn secrets_and_credential_files_are_refused() {
        let secret = BoundaryClass::Secret;
        let draft =
            || ObservationDraft { boundary_class: secret, ..ObservationDraft::message("x") };
        let refused = admit(draft(), &Policy::built_in().unwrap());
        assert!(matches!(refused, Err(Error::BoundaryDenied { .. })));
        let yaml = Policy::BUILT_IN.replace(
            "secret: { allow: [], escalation: deny }",
            "secret: { allow: [\"tool:vault\"] }",
        );
        let admitted = admit(draft(), &Policy::from_yaml(&yaml).unwrap()).unwrap();
        assert_eq!(admitted.boundary_class, secret);
        let file = |source_type, name: &str| {
            let source_id = Some(name.to_owned());
            admit(
                ObservationDraft { source_type, source_id, ..ObservationDraft::message("x") },
                &Policy::built_in().unwrap(),
            )
        };
        assert!(file(SourceType::File, "a/prod.env").is_err());
        assert!(file(SourceType::File, "a/prod.md").is_ok());
        assert!(file(SourceType::Chat, "passwords").is_ok());
    }
}
