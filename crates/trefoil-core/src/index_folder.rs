//! The folder that an index is kept in.

mod mount;
mod private;

pub use self::{mount::*, private::*};
