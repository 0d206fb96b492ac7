//! Every parser and file reader that is given what others wrote. The fuzzer runs these,
//! and `cargo test` runs them on what the fuzzer has found.

#[path = "targets/files.rs"]
mod files;
#[path = "targets/load.rs"]
mod load;
#[path = "targets/memory.rs"]
mod memory;
#[path = "targets/parcel.rs"]
mod parcel;
#[path = "targets/request.rs"]
mod request;
#[path = "targets/text.rs"]
mod text;

/// What a fuzzer calls with bytes of its choice.
pub(crate) type Target = fn(&[u8]);

/// Name of a target, and what runs it. None may panic, hang or allocate without bound.
pub(crate) const TARGETS: &[(&str, Target)] = &[
    ("query", request::query),
    ("request", request::request),
    ("body", request::body),
    ("profile", request::profile),
    ("text", text::text),
    ("load", load::load),
    ("html", load::html),
    ("pdf", load::pdf),
    ("office", load::office),
    ("vectors", files::vectors),
    ("manifest", files::manifest),
    ("evidence", files::evidence),
    ("snapshot", parcel::snapshot),
    ("card", parcel::card),
    ("policy", memory::policy),
    ("rule", memory::rule),
    ("notation", memory::notation),
    ("draft", memory::draft),
    ("redaction", memory::redaction),
    ("claims", memory::claims),
];

/// A folder of this process in memory, where files are that have to be read from a path.
fn folder() -> &'static std::path::Path {
    static FOLDER: std::sync::LazyLock<tempfile::TempDir> = std::sync::LazyLock::new(|| {
        let shared = std::path::Path::new("/dev/shm");
        if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() }.unwrap()
    });
    FOLDER.path()
}
