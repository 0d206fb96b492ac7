//! What the graph of entities is made from, and what it tells.

mod extraction;
mod label;
mod relationship;

pub use self::{extraction::*, label::*, relationship::*};
