//! Communities: groups of entities that are related to each other more than to the rest.

pub(crate) mod components;
pub(crate) mod hierarchy;
pub(crate) mod leiden;
pub(crate) mod modularity;
pub(crate) mod name;
pub(crate) mod partition;
