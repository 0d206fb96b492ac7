//! The folder that an index is kept in.

mod checksummed_file;
mod lock;
mod manifest_file;
mod merge;
mod mount;
mod private;
mod tombstones;

pub use self::{
    checksummed_file::*, lock::*, manifest_file::*, merge::*, mount::*, private::*, tombstones::*,
};
