//! The file of a store on the disk: its pages, its format, its copies, and what can be saved of it
//! when it is damaged.

pub(crate) mod copy;
pub(crate) mod database_file;
pub(crate) mod folder;
pub(crate) mod fork;
pub(crate) mod migration;
pub(crate) mod pages;
pub(crate) mod salvage;
