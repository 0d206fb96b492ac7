//! Checksums of the pages of the file, which SQLite has only in its log: a page whose
//! content is not what was written is an error (`SQLITE_IOERR_CORRUPTFS`, which SQLite
//! tells as `SQLITE_CORRUPT`), never an answer.
//!
//! The last four bytes of each page are the CRC-32 of its number and of the rest of it.
//! SQLite leaves them alone where the header of the file reserves them; a file that does
//! not is read as it is. A shim around the platform's file methods sets them when a page
//! is written to the file and compares them when it is read from there. Pages in the
//! write-ahead log have SQLite's own checksums and get ours when they are moved to the file.
//!
//! The header of a file says whether it has room for them. What is larger than the cache
//! reaches the file in any order, the header last perhaps: so a file that is empty when it is
//! opened counts as one with checksums, and every connection asks for room ([`reserve`])
//! before it writes a new file; and a file of an older version is rewritten through the
//! log, out of which pages come in their order.

#![expect(unsafe_code, reason = "SQLite takes file methods as C functions only")]

use std::{
    ffi::{CStr, c_int, c_void},
    fs::File,
    io::Read as _,
    path::Path,
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicPtr, Ordering},
    },
};

use rusqlite::{Connection, OpenFlags, ffi};

use crate::{WriteTx, meta};

/// Name of the file methods with checksums.
pub(crate) const CHECKED: &CStr = c"trefoil";
/// Name of the same for a file that is damaged: see [`open_damaged`].
const DAMAGED: &CStr = c"trefoil-damaged";

/// Bytes of each page that hold its checksum.
const RESERVED: usize = 4;
/// Bytes of a page of our files.
const PAGE: usize = 4096;
/// Smallest page of SQLite; what is read and written in other sizes is no page.
const MIN_PAGE: usize = 512;
/// Where the header tells how many bytes of each page are reserved.
const RESERVED_AT: usize = 20;
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The platform's file methods, on which ours rest.
static PLATFORM: AtomicPtr<ffi::sqlite3_vfs> = AtomicPtr::new(ptr::null_mut());

/// Makes the file methods known to SQLite, once.
pub(crate) fn register() -> rusqlite::Result<()> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    let code = *REGISTERED.get_or_init(|| {
        // SAFETY: null asks for the platform's methods, which live as long as the process.
        let found = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        // SAFETY: as above.
        let Some(platform) = (unsafe { found.as_ref() }) else { return ffi::SQLITE_ERROR };
        PLATFORM.store(found, Ordering::Release);
        for name in [CHECKED, DAMAGED] {
            let mut checked = *platform;
            checked.pNext = ptr::null_mut();
            checked.zName = name.as_ptr();
            checked.szOsFile = aligned(platform.szOsFile) + size();
            checked.xOpen = Some(open);
            // SAFETY: it is never freed. All methods but `xOpen` are the platform's, and find
            // in it what they find in their own; 0 leaves the default as it is.
            let code = unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(checked)), 0) };
            if code != ffi::SQLITE_OK {
                return code;
            }
        }
        ffi::SQLITE_OK
    });
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }
}

/// Asks for room for checksums: taken at once by a file that is still empty, by another
/// when it is rewritten (`VACUUM`).
pub(crate) fn reserve(connection: &Connection) -> rusqlite::Result<()> {
    let mut bytes = c_int::try_from(RESERVED).unwrap_or(0);
    control(connection, ffi::SQLITE_FCNTL_RESERVE_BYTES, (&raw mut bytes).cast())
}

/// Opens a damaged file to read it: without its checksum a page is an error, but those of the
/// schema are read whatever they say, for without them nothing of the file can be read.
///
/// # Errors
/// The schema is too damaged to be read.
pub(crate) fn open_damaged(path: &Path) -> rusqlite::Result<Connection> {
    register()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags_and_vfs(path, flags, DAMAGED)?;
    connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;")?;
    // SQLite keeps the schema once it was read.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    control(&connection, ffi::SQLITE_FCNTL_FILE_POINTER, (&raw mut file).cast())?;
    // SAFETY: `open` made the methods of this file the first field of a `Checked`, and nobody
    // else uses the connection.
    unsafe {
        (*(*file).pMethods.cast::<Checked>().cast_mut()).is_on = true;
    }
    Ok(connection)
}

/// Asks something of the file of a connection.
fn control(connection: &Connection, what: c_int, argument: *mut c_void) -> rusqlite::Result<()> {
    // SAFETY: the handle is open, null names its main file, and both callers give what SQLite
    // takes with `what`, which outlives the call.
    let code =
        unsafe { ffi::sqlite3_file_control(connection.handle(), ptr::null(), what, argument) };
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }
}

/// Gives checksums to a file of an older version, which is rewritten for it.
///
/// # Errors
/// `SQLITE_CORRUPT` as [`check`].
pub(crate) fn upgrade(path: &Path, connection: &Connection) -> rusqlite::Result<()> {
    check(path, connection)?;
    if is_plain(path) {
        connection.execute_batch("PRAGMA journal_mode = WAL; VACUUM;")?;
        empty_log(connection)?;
    }
    Ok(())
}

/// Moves all that is in the write-ahead log to the file, and empties the log.
///
/// # Errors
/// `SQLITE_BUSY` while another process reads the log.
pub(crate) fn empty_log(connection: &Connection) -> rusqlite::Result<()> {
    let busy: i64 =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy == 0 {
        return Ok(());
    }
    Err(rusqlite::Error::SqliteFailure(
        ffi::Error::new(ffi::SQLITE_BUSY),
        Some("another process reads the write-ahead log".to_owned()),
    ))
}

/// Writes down that the file has checksums, so that it cannot lose them unnoticed.
pub(crate) fn promise(connection: &Connection) -> rusqlite::Result<()> {
    if !is_promised(connection)? {
        let tx = WriteTx::begin(connection)?;
        meta::set(&tx, meta::PAGE_CHECKSUMS, "crc32")?;
        tx.commit()?;
    }
    Ok(())
}

/// Compares the header with what is written down.
///
/// # Errors
/// `SQLITE_CORRUPT` if the file should have checksums and its header says that it has none.
pub(crate) fn check(path: &Path, connection: &Connection) -> rusqlite::Result<()> {
    if is_plain(path) && is_promised(connection)? {
        let reason = "its header is not its own".to_owned();
        let code = ffi::Error::new(ffi::SQLITE_CORRUPT);
        return Err(rusqlite::Error::SqliteFailure(code, Some(reason)));
    }
    Ok(())
}

/// True if the file at `path` was written with checksums: told by any page that has one, or by
/// what is written down, for its header may be damaged.
pub(crate) fn had_checksums(path: &Path, connection: &Connection) -> bool {
    let any_is_whole = || {
        let mut file = File::open(path).ok()?;
        let mut page = [0; PAGE];
        for offset in (0..).step_by(PAGE) {
            file.read_exact(&mut page).ok()?;
            if is_whole(&page, offset) {
                return Some(());
            }
        }
        None
    };
    is_promised(connection).unwrap_or(false) || any_is_whole().is_some()
}

fn is_promised(connection: &Connection) -> rusqlite::Result<bool> {
    let mut select = connection.prepare_cached("SELECT 1 FROM meta WHERE key = ?1")?;
    select.exists([meta::PAGE_CHECKSUMS])
}

/// True if the header of the file says that it has no checksums. A file that is still empty
/// has its first pages in the log, and room in them.
fn is_plain(path: &Path) -> bool {
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(100).read_to_end(&mut header));
    read.is_ok() && !header.is_empty() && !has_checksums(&header)
}

fn has_checksums(header: &[u8]) -> bool {
    header.starts_with(MAGIC)
        && header.get(RESERVED_AT).is_some_and(|&bytes| usize::from(bytes) == RESERVED)
}

/// What stands behind the platform's own file: its methods with two replaced, and the two.
#[repr(C)]
struct Checked {
    methods: ffi::sqlite3_io_methods,
    read: Option<Read>,
    write: Option<Write>,
    /// Whether the header reserves room for checksums, or will.
    is_on: bool,
    /// Whether it was opened by [`open_damaged`], which tells whether `is_on`: its header says
    /// what it may, and its first page is a part of the schema.
    is_damaged: bool,
}

type Read = unsafe extern "C" fn(*mut ffi::sqlite3_file, *mut c_void, c_int, i64) -> c_int;
type Write = unsafe extern "C" fn(*mut ffi::sqlite3_file, *const c_void, c_int, i64) -> c_int;

/// Opens a file as the platform does; that of a database gets our methods.
unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls this with the methods that were registered, a copy of the
    // platform's, and with `szOsFile` bytes at `file`: first the platform's own, which it
    // fills in, then an aligned `Checked`. No one else looks at either during the call.
    unsafe {
        let platform = PLATFORM.load(Ordering::Acquire);
        let (Some(platform_open), Some(vfs)) = ((*platform).xOpen, vfs.as_ref()) else {
            return ffi::SQLITE_CANTOPEN;
        };
        let code = platform_open(platform, name, file, flags, out_flags);
        let Some(methods) = (*file).pMethods.as_ref() else { return code };
        if code != ffi::SQLITE_OK || flags & ffi::SQLITE_OPEN_MAIN_DB == 0 {
            return code;
        }
        let mut length = 0;
        let measured = methods.xFileSize.map(|file_size| file_size(file, &raw mut length));
        let at = usize::try_from(vfs.szOsFile - size()).unwrap_or(0);
        let checked = file.byte_add(at).cast::<Checked>();
        checked.write(Checked {
            methods: ffi::sqlite3_io_methods {
                // Version 3 would let SQLite map the file and read past us.
                iVersion: methods.iVersion.min(2),
                xRead: Some(read),
                xWrite: Some(write),
                ..*methods
            },
            read: methods.xRead,
            write: methods.xWrite,
            is_on: measured == Some(ffi::SQLITE_OK) && length == 0,
            is_damaged: CStr::from_ptr(vfs.zName) == DAMAGED,
        });
        (*file).pMethods = &raw const (*checked).methods;
        ffi::SQLITE_OK
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: `open` made the methods of this file the first field of a `Checked`, and a
    // connection is used by one thread at a time; `buffer` has room for `amount` bytes.
    unsafe {
        let checked = (*file).pMethods.cast::<Checked>().cast_mut();
        let Some(platform_read) = (*checked).read else { return ffi::SQLITE_IOERR_READ };
        let code = platform_read(file, buffer, amount, offset);
        // After any other failure nobody promises that the buffer was filled.
        if code != ffi::SQLITE_OK && code != ffi::SQLITE_IOERR_SHORT_READ {
            return code;
        }
        let length = usize::try_from(amount).unwrap_or(0);
        let bytes = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length);
        if offset == 0 && (*checked).is_damaged {
            if let Some(reserved) = bytes.get_mut(RESERVED_AT) {
                *reserved = u8::try_from(RESERVED).unwrap_or_default();
            }
            return code;
        }
        if offset == 0 && code == ffi::SQLITE_OK && length > RESERVED_AT {
            (*checked).is_on = has_checksums(bytes);
        }
        let is_page = is_page(length, offset) && (*checked).is_on;
        if is_page && !is_whole(bytes, offset) {
            return ffi::SQLITE_IOERR_CORRUPTFS;
        }
        code
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: as in `read`; `buffer` holds `amount` bytes, and they are left as they are.
    unsafe {
        let checked = (*file).pMethods.cast::<Checked>().cast_mut();
        let Some(platform_write) = (*checked).write else { return ffi::SQLITE_IOERR_WRITE };
        let length = usize::try_from(amount).unwrap_or(0);
        let bytes = std::slice::from_raw_parts(buffer.cast::<u8>(), length);
        if offset == 0 && length > RESERVED_AT {
            (*checked).is_on = has_checksums(bytes);
        }
        let content = bytes.split_last_chunk::<RESERVED>();
        let Some((content, _)) = content.filter(|_| is_page(length, offset) && (*checked).is_on)
        else {
            return platform_write(file, buffer, amount, offset);
        };
        let page = [content, checksum(content, offset).as_slice()].concat();
        platform_write(file, page.as_ptr().cast(), amount, offset)
    }
}

fn is_page(length: usize, offset: i64) -> bool {
    length >= MIN_PAGE
        && length.is_power_of_two()
        && usize::try_from(offset).is_ok_and(|offset| offset.is_multiple_of(length))
}

fn is_whole(page: &[u8], offset: i64) -> bool {
    page.split_last_chunk::<RESERVED>()
        .is_some_and(|(content, found)| checksum(content, offset) == *found)
}

/// The offset is part of it: a page at the place of another is not whole.
fn checksum(content: &[u8], offset: i64) -> [u8; RESERVED] {
    let mut hash = crc32fast::Hasher::new();
    hash.update(&offset.to_le_bytes());
    hash.update(content);
    hash.finalize().to_le_bytes()
}

/// Bytes of a `Checked`.
fn size() -> c_int {
    c_int::try_from(size_of::<Checked>()).unwrap_or(c_int::MAX)
}

/// Where a `Checked` may stand behind a file of this size.
fn aligned(size: c_int) -> c_int {
    let align = c_int::try_from(align_of::<Checked>()).unwrap_or(1);
    (size + align - 1) / align * align
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;
    use trefoil_core::{Error, Part};

    use super::*;
    use crate::{
        Access,
        fixture::{Fixture, file},
    };

    /// A file of some pages, all of them moved out of the log, and what is in it.
    fn filled() -> (Fixture, Vec<u8>) {
        let fixture = Fixture::new();
        let texts: Vec<String> = (0..30).map(|n| format!("text number {n} ").repeat(9)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        fixture.put(&file("a", &texts));
        let fixture = fixture.reopen();
        let bytes = fs::read(fixture.path()).unwrap();
        (fixture, bytes)
    }

    #[test]
    fn every_page_has_its_checksum() {
        let (fixture, bytes) = filled();
        assert!(has_checksums(&bytes));
        assert!(bytes.len() > 20 * 4096);
        for (page, offset) in bytes.chunks(4096).zip((0..).step_by(4096)) {
            assert!(is_whole(page, offset), "{offset}");
            assert!(!is_whole(page, offset + 4096), "a page at the place of another");
        }
        fixture.store.check().unwrap();
    }

    /// A file of another version, as SQLite alone writes it, with so many kilobytes in it.
    fn plain(path: &Path, kilobytes: u32) {
        let old = Connection::open(path).unwrap();
        old.execute_batch(&format!(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE meta (key, value);
             CREATE TABLE t (a, b);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {kilobytes})
             INSERT INTO t SELECT i, randomblob(1000) FROM n;
             CREATE INDEX by_b ON t (b);"
        ))
        .unwrap();
        drop(old);
        assert!(!has_checksums(&fs::read(path).unwrap()));
    }

    fn checked(path: &Path) -> Connection {
        register().unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let connection = Connection::open_with_flags_and_vfs(path, flags, CHECKED).unwrap();
        // What is larger than the cache is written to the file while it is made.
        connection.execute_batch("PRAGMA cache_size = 50").unwrap();
        reserve(&connection).unwrap();
        connection
    }

    #[track_caller]
    fn check_whole(path: &Path, kilobytes: u32) {
        let bytes = fs::read(path).unwrap();
        assert!(has_checksums(&bytes));
        assert!(bytes.chunks(4096).zip((0..).step_by(4096)).all(|(page, at)| is_whole(page, at)));
        let sum = "SELECT sum(a), sum(length(b)) FROM t";
        let sums: (u32, u32) =
            checked(path).query_row(sum, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(sums, (kilobytes * (kilobytes + 1) / 2, kilobytes * 1000));
    }

    #[test]
    fn a_file_without_checksums_is_given_them_whatever_its_size() {
        for kilobytes in [1, 4000] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.db");
            plain(&path, kilobytes);
            upgrade(&path, &checked(&path)).unwrap();
            check_whole(&path, kilobytes);
        }
    }

    #[test]
    fn a_copy_has_them_whatever_its_size() {
        for kilobytes in [1, 4000] {
            let folder = tempfile::tempdir().unwrap();
            let (from, to) = (folder.path().join("store.db"), folder.path().join("copy.db"));
            plain(&from, kilobytes);
            checked(&from).execute("VACUUM INTO ?1", [to.to_str()]).unwrap();
            check_whole(&to, kilobytes);
        }
    }

    proptest! {
        /// Also in the middle of a text, where SQLite itself would not notice.
        #[test]
        fn no_changed_bit_is_read(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
            let (fixture, mut bytes) = filled();
            let path = fixture.path();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let damaged = path.with_extension("damaged");
            fs::write(&damaged, bytes).unwrap();
            let opened = crate::Store::open_file(&damaged, Access::ReadOnly, fixture.clock.clone());
            let checked = opened.and_then(|store| store.check());
            let is_told = matches!(checked, Err(Error::Corrupt { part: Part::Store, .. }));
            prop_assert!(is_told, "{at}: {checked:?}");
        }

        /// The header says whether there are checksums: it is not trusted alone.
        #[test]
        fn checksums_are_not_lost_unnoticed(reserved: u8) {
            let (fixture, mut bytes) = filled();
            bytes[RESERVED_AT] = reserved;
            let damaged = fixture.path().with_extension("damaged");
            fs::write(&damaged, bytes).unwrap();
            for access in [Access::ReadOnly, Access::ReadWrite] {
                let opened = crate::Store::open_file(&damaged, access, fixture.clock.clone());
                prop_assert_eq!(opened.is_ok(), usize::from(reserved) == RESERVED);
            }
        }
    }
}
