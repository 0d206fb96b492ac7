//! The folder that an index is kept in.

mod mount;
mod private;

pub use self::{
    mount::is_remote,
    private::{create_private_folder, make_private, private_file, sync},
};
