use serde::{Deserialize, Serialize};

/// Who asks: what rules see as `actor` and `tool`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Requester {
    /// A person or a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The tool that asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}
