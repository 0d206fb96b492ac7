//! A community as callers see it.

use serde::Serialize;
use trefoil_core::CommunityId;
use trefoil_store::CommunityRow;

/// Entities that belong together, and what is said of them.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Community"))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommunityView {
    /// Its id.
    pub id: CommunityId,
    /// 0 for the communities of the whole graph; one more for the parts of those.
    pub level: u8,
    /// The community that this one is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<CommunityId>,
    /// What it is called.
    pub name: String,
    /// How many entities are in it.
    pub size: usize,
    /// What it is about; may be empty.
    pub summary: String,
    /// Its terms, at most 10.
    pub keywords: Vec<String>,
}

impl From<CommunityRow> for CommunityView {
    fn from(row: CommunityRow) -> Self {
        Self {
            id: row.id,
            level: row.level,
            parent: row.parent,
            name: row.name,
            size: row.members.len(),
            summary: row.summary,
            keywords: row.keywords,
        }
    }
}
