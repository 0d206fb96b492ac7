use std::{
    collections::BTreeMap,
    fs::File,
    io::{ErrorKind, Read},
    path::{Component, Path, PathBuf},
    time::UNIX_EPOCH,
};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder};
use serde::Serialize;
use trefoil_core::{Error, Result};

use crate::load::Kind;

/// What a walk passes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkOptions {
    /// Files of more bytes are reported, not read; 16 MiB by default.
    pub max_file_bytes: u64,
    /// Whether `.gitignore` and `.ignore` hold, also outside a repository; they do by default.
    pub ignore_files: bool,
    /// Files and folders that are never read: globs that match a name, or a path
    /// below the root, in any case. By default `*.env`, `*.key`, `*secret*` and
    /// `*password*`.
    pub privacy_globs: Vec<String>,
    /// Extensions, in lower case, that the caller reads besides those which
    /// [`load`](crate::load) knows; none by default.
    pub extensions: Vec<String>,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            max_file_bytes: 16 * 1024 * 1024,
            ignore_files: true,
            privacy_globs: ["*.env", "*.key", "*secret*", "*password*"].map(String::from).to_vec(),
            extensions: Vec::new(),
        }
    }
}

/// What a walk found, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Files that [`load`](crate::load) can read.
    pub files: Vec<SourceFile>,
    /// What was passed over, and why. Hidden and ignored files are not listed.
    pub skipped: Vec<Skipped>,
    /// Files and folders that could not be looked at, named as by [`stored_name`]: what is there
    /// and below is not known. Each is in `skipped` as well.
    pub unread: Vec<String>,
}

impl Walk {
    /// Whether the walk can tell that there is no file of this stored name.
    pub fn knows(&self, name: &str) -> bool {
        !self.unread.iter().any(|unread| is_within(name, unread))
    }
}

/// Whether a stored name is `root` or of something below it, where `root` is a name that
/// [`stored_name`] gave.
pub fn is_within(name: &str, root: &str) -> bool {
    if root.is_empty() {
        return !Path::new(name).is_absolute();
    }
    let rest = name.strip_prefix(root);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || root.ends_with('/'))
}

/// A file to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Absolute path.
    pub path: PathBuf,
    /// The path to store: relative to the current directory for what is below it,
    /// else absolute; folders are separated by `/`.
    pub name: String,
    /// Length in bytes.
    pub size: u64,
    /// Time of the last change, in seconds since 1970; 0 where it is not known.
    pub mtime: i64,
}

/// A file or folder that was passed over.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its path, written like [`SourceFile::name`].
    pub path: String,
    /// Why, to follow "skipped:".
    pub reason: String,
}

/// Lists the files below `roots` that can be loaded; a root may be a file.
///
/// Hidden files are passed over in silence. Symbolic links are reported, not
/// followed, except for a root itself. What is reached from two roots is listed once.
///
/// # Errors
/// [`Error::Io`] if a root cannot be looked at, [`Error::InvalidConfig`] for a privacy glob
/// that is none. What fails below a root is reported in [`Walk::skipped`] and
/// [`Walk::unread`].
pub fn walk(roots: &[PathBuf], options: &WalkOptions) -> Result<Walk> {
    let private = PrivacyGlobs::new(&options.privacy_globs)?;
    let mut found = BTreeMap::new();
    let mut unread = Vec::new();
    for root in roots {
        let root = absolute(root)?;
        std::fs::metadata(&root).map_err(|error| Error::io("read", &root, error))?;
        let mut builder = WalkBuilder::new(&root);
        builder
            .hidden(true)
            .ignore(options.ignore_files)
            .git_ignore(options.ignore_files)
            .git_exclude(options.ignore_files)
            .parents(options.ignore_files)
            .require_git(false)
            // The user's global file is not part of the corpus: the same files are
            // found whoever walks.
            .git_global(false)
            .follow_links(false);
        let pruned = private.clone();
        let base = root.clone();
        // A private folder is yielded, to be reported, but not entered.
        builder.filter_entry(move |entry| {
            entry.path().parent().is_none_or(|folder| pruned.matching(&base, folder).is_none())
        });
        for entry in builder.build() {
            match entry {
                Ok(entry) => {
                    // Without its ignore file nobody knows which files a folder has to offer.
                    let unreadable = entry.error().map(ToString::to_string).or_else(|| {
                        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                        let looked_at = options.ignore_files && is_folder;
                        looked_at.then(|| unreadable_ignore_file(entry.path())).flatten()
                    });
                    if let Some(error) = unreadable {
                        let reason = format!("its ignore file cannot be read: {error}");
                        unread.push(stored_name(entry.path())?);
                        found.insert(name_of(entry.path()), Err(reason));
                    }
                    match judge(&entry, &root, &private, options) {
                        Verdict::Nothing => {}
                        Verdict::File(file) => {
                            found.insert(file.name.clone(), Ok(file));
                        }
                        Verdict::Skip(reason) => {
                            found.insert(name_of(entry.path()), Err(reason));
                        }
                        Verdict::Unread(error) => {
                            unread.push(stored_name(entry.path())?);
                            found.insert(name_of(entry.path()), Err(error.to_string()));
                        }
                    }
                }
                Err(error) => {
                    let path = error_path(&error).unwrap_or_else(|| root.clone());
                    unread.push(stored_name(&path)?);
                    found.entry(name_of(&path)).or_insert(Err(error.to_string()));
                }
            }
        }
    }
    unread.sort();
    unread.dedup();
    let mut walk = Walk { unread, ..Walk::default() };
    for (name, verdict) in found {
        match verdict {
            Ok(file) => walk.files.push(file),
            Err(reason) => walk.skipped.push(Skipped { path: name, reason }),
        }
    }
    Ok(walk)
}

/// How `path` begins in the [`SourceFile::name`] of what is below it: empty for the
/// current directory.
///
/// # Errors
/// [`Error::Io`] if the path cannot be resolved.
pub fn stored_name(path: &Path) -> Result<String> {
    let path = absolute(path)?;
    let here = std::env::current_dir().map_err(|error| Error::io("resolve", &path, error))?;
    Ok(if path == here { String::new() } else { name_of(&path) })
}

/// Why an ignore file of a folder cannot be read, if there is one: the walk itself takes such a
/// file for one that is not there.
fn unreadable_ignore_file(folder: &Path) -> Option<String> {
    [".gitignore", ".ignore"].into_iter().find_map(|name| {
        let read = File::open(folder.join(name)).and_then(|mut file| file.read(&mut [0]));
        let error = read.err().filter(|error| error.kind() != ErrorKind::NotFound)?;
        Some(format!("{name}: {error}"))
    })
}

/// What an entry of a folder is to the walk.
enum Verdict {
    File(SourceFile),
    /// Why it is passed over.
    Skip(String),
    /// Why it could not be looked at.
    Unread(std::io::Error),
    /// A folder: there is nothing to say about it.
    Nothing,
}

fn judge(entry: &DirEntry, root: &Path, private: &PrivacyGlobs, options: &WalkOptions) -> Verdict {
    let path = entry.path();
    let skip = Verdict::Skip;
    if let Some(glob) = private.matching(root, path) {
        return skip(format!("matches the privacy glob `{glob}`"));
    }
    if entry.depth() > 0 && entry.path_is_symlink() {
        return skip("is a symbolic link".to_owned());
    }
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return Verdict::Unread(error),
    };
    if metadata.is_dir() {
        return Verdict::Nothing;
    }
    if !metadata.is_file() {
        return skip("is not a regular file".to_owned());
    }
    let extension = path.extension().map(|one| one.to_string_lossy().to_ascii_lowercase());
    let is_read = extension.is_some_and(|one| options.extensions.contains(&one));
    if let Err(reason) = Kind::of(path)
        && !is_read
    {
        return skip(reason);
    }
    if metadata.len() > options.max_file_bytes {
        return skip(format!(
            "has {} bytes, more than the limit of {}",
            metadata.len(),
            options.max_file_bytes
        ));
    }
    let mtime = metadata.modified().ok().and_then(|time| match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).ok(),
        Err(before) => i64::try_from(before.duration().as_secs()).ok().map(|seconds| -seconds),
    });
    Verdict::File(SourceFile {
        path: path.to_owned(),
        name: name_of(path),
        size: metadata.len(),
        mtime: mtime.unwrap_or_default(),
    })
}

#[derive(Clone)]
struct PrivacyGlobs {
    set: GlobSet,
    globs: Vec<String>,
}

impl PrivacyGlobs {
    fn new(globs: &[String]) -> Result<Self> {
        let invalid = |glob: &str| Error::InvalidConfig {
            field: "privacy_globs",
            value: format!("`{glob}`"),
            allowed: "globs such as `*.env` or `private/**`",
        };
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            let built =
                GlobBuilder::new(glob).case_insensitive(true).literal_separator(true).build();
            set.add(built.map_err(|_| invalid(glob))?);
        }
        let set = set.build().map_err(|_| invalid(&globs.join("`, `")))?;
        Ok(Self { set, globs: globs.to_vec() })
    }

    /// The first glob that matches a file below `root`, or a folder that it is in.
    fn matching(&self, root: &Path, path: &Path) -> Option<&str> {
        // Of a root only its own name counts: where the corpus lies is the caller's business.
        let below =
            path.strip_prefix(root).ok().filter(|below| below.components().next().is_some());
        let below = below.or_else(|| path.file_name().map(Path::new).filter(|_| path == root))?;
        let whole = below.ancestors().find_map(|part| self.set.matches(part).into_iter().min());
        let name = || {
            below.components().find_map(|part| self.set.matches(Path::new(&part)).into_iter().min())
        };
        self.globs.get(whole.or_else(name)?).map(String::as_str)
    }
}

fn error_path(error: &ignore::Error) -> Option<PathBuf> {
    if let ignore::Error::WithPath { path, .. } = error {
        Some(path.clone())
    } else if let ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } =
        error
    {
        error_path(err)
    } else {
        None
    }
}

/// The path from the file system's root, without `.` and `..`.
fn absolute(path: &Path) -> Result<PathBuf> {
    let full = std::path::absolute(path).map_err(|error| Error::io("resolve", path, error))?;
    if !full.components().any(|part| part == Component::ParentDir) {
        return Ok(full);
    }
    // After a link, `..` is not the folder that the text names: ask the file system.
    full.canonicalize().map_err(|error| Error::io("read", path, error))
}

fn name_of(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let below = path.strip_prefix(&here).ok().filter(|below| !below.as_os_str().is_empty());
    let text = below.unwrap_or(path).to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        text.into_owned()
    } else {
        text.replace(std::path::MAIN_SEPARATOR, "/")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with these files; each holds its own name.
    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        folder
    }

    fn below<'a>(root: &Path, name: &'a str) -> &'a str {
        name.strip_prefix(&format!("{}/", root.display())).unwrap()
    }

    fn check(root: &Path, options: &WalkOptions, files: &[&str], skipped: &[(&str, &str)]) {
        let walk = walk(&[root.to_owned()], options).unwrap();
        let found: Vec<_> = walk.files.iter().map(|file| below(root, &file.name)).collect();
        assert_eq!(found, files);
        let found: Vec<_> =
            walk.skipped.iter().map(|s| (below(root, &s.path), s.reason.as_str())).collect();
        assert_eq!(found, skipped);
    }

    #[test]
    fn lists_in_order_what_can_be_loaded() {
        let root = folder(&["b.md", "a/z.txt", "a/b/c.rs", "photo.png", ".hidden/x.md", ".env"]);
        let skipped = [("photo.png", "`.png` files are not supported")];
        check(root.path(), &WalkOptions::default(), &["a/b/c.rs", "a/z.txt", "b.md"], &skipped);
        let walk = walk(&[root.path().join("b.md")], &WalkOptions::default()).unwrap();
        assert_eq!(walk.files.len(), 1);
        let file = &walk.files[0];
        assert_eq!((file.size, file.path.clone()), (4, root.path().join("b.md")));
        assert!(file.mtime > 1_700_000_000);
    }

    #[test]
    fn ignore_files_hold_outside_a_repository_too() {
        let root = folder(&["a.md", "build/b.md", "c.md"]);
        fs::write(root.path().join(".gitignore"), "build/\n").unwrap();
        fs::write(root.path().join(".ignore"), "c.md\n").unwrap();
        check(root.path(), &WalkOptions::default(), &["a.md"], &[]);
        let all = WalkOptions { ignore_files: false, ..WalkOptions::default() };
        check(root.path(), &all, &["a.md", "build/b.md", "c.md"], &[]);
    }

    #[test]
    fn private_files_and_folders_are_reported_unread() {
        let root = folder(&[
            "my-SECRETS/a.md",
            "prod.env",
            "x/server.key",
            "x/Passwords.txt",
            "x/ok.md",
            "drafts/d.md",
        ]);
        let mut options = WalkOptions::default();
        options.privacy_globs.push("drafts/**".to_owned());
        let skipped = [
            ("drafts/d.md", "matches the privacy glob `drafts/**`"),
            ("my-SECRETS", "matches the privacy glob `*secret*`"),
            ("prod.env", "matches the privacy glob `*.env`"),
            ("x/Passwords.txt", "matches the privacy glob `*password*`"),
            ("x/server.key", "matches the privacy glob `*.key`"),
        ];
        check(root.path(), &options, &["x/ok.md"], &skipped);
        options.privacy_globs.push("a[".to_owned());
        assert!(
            walk(&[root.path().to_owned()], &options).unwrap_err().to_string().contains("`a[`")
        );
    }

    #[test]
    fn a_file_above_the_limit_is_reported() {
        let root = folder(&["long-name.md", "b.md"]);
        let options = WalkOptions { max_file_bytes: 11, ..WalkOptions::default() };
        check(
            root.path(),
            &options,
            &["b.md"],
            &[("long-name.md", "has 12 bytes, more than the limit of 11")],
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out_of_the_root() {
        let outside = folder(&["o.md"]);
        let root = folder(&["a.md"]);
        std::os::unix::fs::symlink(outside.path(), root.path().join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("o.md"), root.path().join("file.md"))
            .unwrap();
        std::os::unix::fs::symlink("nowhere", root.path().join("dangling.md")).unwrap();
        let link = "is a symbolic link";
        let skipped = [("dangling.md", link), ("file.md", link), ("folder", link)];
        check(root.path(), &WalkOptions::default(), &["a.md"], &skipped);
    }

    #[test]
    fn an_unreadable_ignore_file_leaves_its_folder_unknown() {
        let root = folder(&["a.md", "x/.gitignore/b.md", "x/c.md"]);
        let walk = walk(&[root.path().to_owned()], &WalkOptions::default()).unwrap();
        let names: Vec<_> = walk.files.iter().map(|file| below(root.path(), &file.name)).collect();
        assert_eq!(names, ["a.md", "x/c.md"]);
        let [skipped] = walk.skipped.as_slice() else { panic!("{:?}", walk.skipped) };
        assert_eq!(below(root.path(), &skipped.path), "x");
        assert!(skipped.reason.starts_with("its ignore file cannot be read: "), "{skipped:?}");
        let name = |file: &str| format!("{}/{file}", root.path().display());
        assert!(walk.knows(&name("gone.md")) && !walk.knows(&name("x/gone.md")));
    }

    #[test]
    fn a_name_is_within_its_folder() {
        for (name, root, expected) in [
            ("a/b.md", "a", true),
            ("a", "a", true),
            ("ab.md", "a", false),
            ("a/b.md", "", true),
            ("/a/b.md", "", false),
            ("/a/b.md", "/", true),
            ("/a/b.md", "/a", true),
            ("a/b.md", "/", false),
        ] {
            assert_eq!(is_within(name, root), expected, "{name} in {root:?}");
        }
    }

    #[test]
    fn a_missing_root_is_an_error_and_an_empty_one_is_not() {
        let root = folder(&[]);
        check(root.path(), &WalkOptions::default(), &[], &[]);
        let error = walk(&[root.path().join("no")], &WalkOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Io { doing: "read", .. }), "{error}");
    }

    #[test]
    fn roots_may_overlap_and_names_are_short_below_here() {
        // Tests run in the folder of the package.
        let roots = ["src", "./src/walk.rs", "src/../src"].map(PathBuf::from);
        let walk = walk(&roots, &WalkOptions::default()).unwrap();
        let here: Vec<_> = walk.files.iter().filter(|file| file.name == "src/walk.rs").collect();
        assert_eq!(here.len(), 1);
        assert!(here[0].path.is_absolute());
    }
}
