//! Summaries: what several units say, in short.

mod body;
mod rolling;

pub use body::{KeyEvent, SharedLoop, SharedState, SummaryBody};
pub use rolling::{RollingKey, rolling_input};
