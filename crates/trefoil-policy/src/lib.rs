//! Policies: which claims are kept for how long, who may see what, what is cut out of texts,
//! and how recall weighs. Pure: no clock, no store, no engine.
//!
//! A [`Policy`] is read from YAML, and every mistake in it is reported at once. A caller has a
//! [`Boundary`]; [`PolicyValidator`] decides whether a text may pass it, and rules in a small
//! language ([`PolicyRule`]) must hold for what passes.
//!
//! ```
//! use jiff::Timestamp;
//! use trefoil_core::BoundaryClass;
//! use trefoil_policy::{AllowTag, Boundary, Payload, Policy, PolicyValidator};
//!
//! let policy = Policy::from_yaml(&Policy::BUILT_IN.replace(
//!     "invariants: []",
//!     "invariants: [{ name: no-mail, applies_to: ['*'], rule: \"!(tool == 'mail')\" }]",
//! ))?;
//! let validator = PolicyValidator { now: Timestamp::UNIX_EPOCH };
//! let ask = |payload: &Payload<'_>, boundary: &Boundary| {
//!     validator.validate(payload, boundary, &policy)
//! };
//!
//! let note = Payload { text: "The build needs Rust 1.95.", ..Payload::default() };
//! assert!(ask(&note, &Boundary::default()).allowed);
//! let by_mail = Payload { tool: Some("mail"), ..note };
//! let reason = ask(&by_mail, &Boundary::default()).reason;
//! assert_eq!(reason.as_deref(), Some("the invariant `no-mail` does not hold"));
//!
//! // Personal data needs a boundary and a tag that admit it, and is cut out even then.
//! let lookup: AllowTag = "tool:contact-lookup".parse()?;
//! let mut boundary = Boundary::default();
//! boundary.allow.insert(lookup.clone());
//! boundary.boundary_classes.insert(BoundaryClass::Pii);
//! let address = Payload { text: "Mika: mika@example.com", allow: &[lookup], ..Payload::default() };
//! let said = ask(&address, &boundary);
//! assert!(said.allowed && said.class == BoundaryClass::Pii);
//! assert_eq!(said.redacted.as_deref(), Some("Mika: [email]"));
//! # Ok::<(), trefoil_core::Error>(())
//! ```

mod boundary;
mod invariant;
mod policy;
mod read;
mod rule;
mod ttl;
mod validate;
mod version;

pub use boundary::{AllowTag, Boundary, InvariantDefinition};
pub use invariant::{Invariant, Requester, RuleEvaluator};
pub use policy::{
    ClassPolicy, HybridPolicy, Policy, RecencyPolicy, RerankPolicy, RetrievalPolicy, ScopePolicy,
};
pub use rule::{ClaimFacts, PolicyRule, RuleFacts};
pub use ttl::Ttl;
pub use validate::{Payload, PolicyValidator, Validation};
pub use version::PolicyVersion;
