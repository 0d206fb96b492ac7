//! What SQLite reports, in our errors.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use rusqlite::{ErrorCode, types::Type};
use trefoil_core::{Error, Part};

/// Tells a failure of SQLite as something a caller can act on.
pub(crate) fn fault(path: &Path, doing: &'static str, error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    let unreadable = matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    );
    // A page without its checksum, where SQLite does not tell it as a damaged file.
    let broken = error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_CORRUPTFS);
    if unreadable
        || broken
        || matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
    {
        return Error::Corrupt {
            part: Part::Store,
            reason: format!("`{}`: {error}", path.display()),
        };
    }
    if code == Some(ErrorCode::ReadOnly) {
        return Error::ReadOnly { path: path.to_path_buf(), doing };
    }
    if matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) {
        return Error::Locked { path: path.to_path_buf() };
    }
    let kind = match code {
        Some(ErrorCode::DiskFull) => Some(ErrorKind::StorageFull),
        Some(ErrorCode::PermissionDenied) => Some(ErrorKind::PermissionDenied),
        Some(
            ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::NoLargeFileSupport,
        ) => Some(ErrorKind::Other),
        Some(_) | None => None,
    };
    match kind {
        Some(kind) => Error::io(doing, path, io::Error::new(kind, error)),
        None => Error::backend(Part::Store, doing, error),
    }
}

/// A stored value that is not what its column is for.
pub(crate) fn unreadable(
    column: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}
