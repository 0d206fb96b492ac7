mod string_enum;

use self::string_enum::numbered_enum;
pub use self::string_enum::unknown_name;
use crate::string_enum;

numbered_enum!(
    /// What kind of thing a unit is: which table its body is in.
    UnitKind, "kind" {
        /// An observation.
        Episode = 1 "episode",
        /// A claim with a predicate.
        Fact = 2 "fact",
        /// A summary of other units.
        Summary = 3 "summary",
        /// Something that is left to do.
        Loop = 7 "loop",
        /// A span of a document.
        Chunk = 8 "chunk",
        /// A claim without a predicate.
        Claim = 9 "claim",
    }

    /// How far a unit has come in its life.
    #[derive(Default)]
    UnitState, "state" {
        /// As it was written.
        #[default]
        Raw = 0 "raw",
        /// Integrated with what was there.
        Validated = 1 "validated",
        /// Folded into a summary; still found.
        Consolidated = 2 "consolidated",
        /// Superseded, rolled back or discarded: not found and not injected.
        Archived = 3 "archived",
    }

    /// Who may see a unit, from everybody to nobody. What is derived takes the maximum of
    /// its sources, and no class is ever lowered.
    #[derive(Default)]
    BoundaryClass, "boundary_class" {
        /// Anybody.
        Public = 0 "public",
        /// Whoever works on it: the default.
        #[default]
        Internal = 1 "internal",
        /// Whoever may see what identifies a person.
        Pii = 2 "pii",
        /// Only a request that carries a tag that the policy names for it.
        Secret = 3 "secret",
    }

    /// How sensitive the rows of a unit are, told from its class.
    Sensitivity, "sensitivity" {
        /// Public or internal.
        Normal = 0 "normal",
        /// Identifies a person.
        Private = 1 "private",
        /// Secret.
        Secret = 2 "secret",
    }

    /// How much is lost with a claim, from the most.
    Importance, "importance" {
        /// Never given up.
        S0 = 0 "S0",
        /// Never given up: the default of norms.
        S1 = 1 "S1",
        /// Given up when it is stale: the default.
        S2 = 2 "S2",
        /// Given up when it is stale.
        S3 = 3 "S3",
    }
);

string_enum!(
    /// What a claim says.
    #[derive(Default)]
    ClaimKind, "kind" {
        /// How something is.
        #[default]
        Fact = "fact",
        /// What somebody likes or wants.
        Preference = "preference",
        /// What is to be done.
        Task = "task",
        /// What should always or never be done.
        PolicyHint = "policy_hint",
    }

    /// How far a claim holds, from the narrowest.
    #[derive(Default)]
    Scope, "scope" {
        /// In one session.
        Session = "session",
        /// In one project.
        #[default]
        Project = "project",
        /// Everywhere.
        Principle = "principle",
    }

    /// What is known of whether a claim is so.
    EpistemicStatus, "epistemic_status" {
        /// It was not checked for too long.
        Unknown = "unknown",
        /// Somebody said so, or it follows.
        Inferred = "inferred",
        /// A source shows it.
        Verified = "verified",
    }

    /// How it was found that something speaks for a claim.
    EvidenceMethod, "method" {
        /// By rules.
        Rule = "rule",
        /// By a language model.
        Llm = "llm",
        /// By a person.
        Manual = "manual",
    }

    /// What somebody says of a claim that was recalled.
    FeedbackSignal, "signal" {
        /// It helped.
        Helpful = "helpful",
        /// It did harm.
        Harmful = "harmful",
        /// It is no longer so.
        Outdated = "outdated",
        /// Another claim says the same.
        Duplicate = "duplicate",
    }

    /// Where an observation comes from.
    #[derive(Default)]
    SourceType, "source_type" {
        /// A conversation.
        #[default]
        Chat = "chat",
        /// A tool that was called.
        Tool = "tool",
        /// A file.
        File = "file",
        /// A web request.
        Http = "http",
        /// The program itself.
        System = "system",
    }

    /// What was observed.
    #[derive(Default)]
    ObservationKind, "kind of an observation" {
        /// The use of a tool and its result.
        ToolUse = "tool_use",
        /// A command and its output.
        Bash = "bash",
        /// A failure.
        Error = "error",
        /// A success.
        Success = "success",
        /// A note.
        Note = "note",
        /// What somebody said.
        #[default]
        Message = "message",
    }

    /// A feeling, as coarse as rules can tell it.
    AffectLabel, "affect" {
        /// Gladness.
        Joy = "joy",
        /// Sorrow.
        Sadness = "sadness",
        /// Anger.
        Anger = "anger",
        /// Fear, worry.
        Fear = "fear",
        /// None of them.
        Neutral = "neutral",
    }
);

impl BoundaryClass {
    /// How sensitive a unit of this class is.
    pub const fn sensitivity(self) -> Sensitivity {
        match self {
            Self::Public | Self::Internal => Sensitivity::Normal,
            Self::Pii => Sensitivity::Private,
            Self::Secret => Sensitivity::Secret,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers are in files: they may never change.
    #[test]
    fn numbers_are_stable() {
        let kinds: Vec<_> = UnitKind::ALL.iter().map(|one| (one.as_str(), one.code())).collect();
        let expected =
            [("episode", 1), ("fact", 2), ("summary", 3), ("loop", 7), ("chunk", 8), ("claim", 9)];
        assert_eq!(kinds, expected);
        let states: Vec<_> =
            (0..9).map_while(UnitState::from_code).map(UnitState::as_str).collect();
        assert_eq!(states, ["raw", "validated", "consolidated", "archived"]);
        for &kind in UnitKind::ALL {
            assert_eq!(UnitKind::from_code(kind.code()), Some(kind));
        }
        assert_eq!(UnitKind::from_code(4), None);
    }

    #[test]
    fn classes_are_in_one_order() {
        use BoundaryClass::{Internal, Pii, Public, Secret};
        assert_eq!(BoundaryClass::ALL, [Public, Internal, Pii, Secret]);
        assert!(BoundaryClass::ALL.is_sorted());
        let sensitivities: Vec<_> =
            BoundaryClass::ALL.iter().map(|class| class.sensitivity().code()).collect();
        assert_eq!(sensitivities, [0, 0, 1, 2]);
        assert_eq!(BoundaryClass::default(), Internal);
        assert_eq!(serde_json::to_string(&Pii).unwrap(), r#""pii""#);
    }
}
