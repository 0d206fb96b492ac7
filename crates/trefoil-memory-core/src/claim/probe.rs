use std::{
    collections::BTreeMap,
    fmt::Debug,
    fs, io,
    path::{Component, Path, PathBuf},
    process::{Command, Stdio},
};

use jiff::Timestamp;
use trefoil_core::{Error, Result};

use crate::{SourceTag, claim::sha256_hex};

/// The state of each source when a claim was last checked.
pub type Fingerprints = BTreeMap<SourceTag, String>;

/// Looks at the sources of claims. `Memory::maintain` takes one.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use jiff::Timestamp;
/// use trefoil_core::Result;
/// use trefoil_memory_core::{SourceProbe, SourceTag};
///
/// /// The last result and the last change of each test.
/// #[derive(Debug)]
/// struct TestRuns(BTreeMap<String, (String, Timestamp)>);
///
/// impl SourceProbe for TestRuns {
///     fn fingerprint(&self, source: &SourceTag) -> Result<Option<String>> {
///         let SourceTag::Test(name) = source else { return Ok(None) };
///         Ok(self.0.get(name).map(|(result, _)| result.clone()))
///     }
///
///     fn changed_since(&self, source: &SourceTag, since: Timestamp) -> Result<bool> {
///         let SourceTag::Test(name) = source else { return Ok(false) };
///         Ok(self.0.get(name).is_some_and(|(_, changed)| *changed > since))
///     }
/// }
///
/// let passed = ("passed".to_owned(), Timestamp::from_second(60).unwrap());
/// let runs = TestRuns(BTreeMap::from([("retry_works".to_owned(), passed)]));
/// let source: SourceTag = "test:retry_works".parse()?;
/// assert_eq!(runs.fingerprint(&source)?.as_deref(), Some("passed"));
/// assert!(runs.changed_since(&source, Timestamp::UNIX_EPOCH)?);
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait SourceProbe: Debug + Send + Sync {
    /// A line that differs whenever the source has changed; absent if the source is gone, or
    /// is none that this probe can look at.
    ///
    /// # Errors
    /// [`Error::Io`] if it is there and cannot be read.
    fn fingerprint(&self, source: &SourceTag) -> Result<Option<String>>;

    /// True if the source has changed after `since`, by its own times; false for one that
    /// this probe cannot look at, or whose times it does not know. It is asked where no state
    /// of the source at that time is known.
    ///
    /// # Errors
    /// As [`SourceProbe::fingerprint`].
    fn changed_since(&self, source: &SourceTag, since: Timestamp) -> Result<bool>;

    /// The state of all those of `sources` that it can look at.
    ///
    /// # Errors
    /// As [`SourceProbe::fingerprint`].
    fn fingerprints(&self, sources: &[SourceTag]) -> Result<Fingerprints> {
        let mut found = Fingerprints::new();
        for source in sources {
            if let Some(state) = self.fingerprint(source)? {
                found.insert(source.clone(), state);
            }
        }
        Ok(found)
    }
}

/// Looks at no source: none counts as changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoProbe;

impl SourceProbe for NoProbe {
    fn fingerprint(&self, _: &SourceTag) -> Result<Option<String>> {
        Ok(None)
    }

    fn changed_since(&self, _: &SourceTag, _: Timestamp) -> Result<bool> {
        Ok(false)
    }
}

/// Looks at what the files below a folder hold, and at when they were last written.
#[derive(Clone, Debug)]
pub struct ContentProbe {
    root: PathBuf,
}

impl ContentProbe {
    /// Looks below `root`; a path that leads out of it is not looked at.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }
}

impl SourceProbe for ContentProbe {
    fn fingerprint(&self, source: &SourceTag) -> Result<Option<String>> {
        let Some(path) = file_below(&self.root, source) else { return Ok(None) };
        match fs::read(&path) {
            Ok(content) => Ok(Some(format!("sha256:{}", sha256_hex(&content)))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(Error::io("read", path, error)),
        }
    }

    fn changed_since(&self, source: &SourceTag, since: Timestamp) -> Result<bool> {
        let Some(path) = file_below(&self.root, source) else { return Ok(false) };
        match fs::metadata(&path).and_then(|file| file.modified()) {
            // A claim knows the second in which it was checked, and no more.
            Ok(written) => Ok(Timestamp::try_from(written)
                .is_ok_and(|written| written.as_second() > since.as_second())),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(Error::io("look at", path, error)),
        }
    }
}

/// Looks at what is committed in a git repository: files at `HEAD`, and commits. Changes that
/// are not committed do not count.
#[derive(Clone, Debug)]
pub struct GitProbe {
    repository: PathBuf,
}

impl GitProbe {
    /// Asks the program `git` about the repository at `repository`.
    pub fn new(repository: impl Into<PathBuf>) -> Self {
        Self { repository: repository.into() }
    }

    /// The name that git has for an object.
    fn object(&self, revision: &str) -> Result<Option<String>> {
        self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", revision])
    }

    /// What git answers; nothing if it knows nothing of it.
    fn ask(&self, arguments: &[&str]) -> Result<Option<String>> {
        let output = Command::new("git")
            .arg("-C")
            .arg(&self.repository)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::io("ask git about", &self.repository, error))?;
        let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.status.success() && !name.is_empty()).then_some(name))
    }
}

impl SourceProbe for GitProbe {
    fn fingerprint(&self, source: &SourceTag) -> Result<Option<String>> {
        match source {
            SourceTag::File { path, .. } => match file_below(Path::new(""), source) {
                Some(_) => self.object(&format!("HEAD:./{path}")),
                None => Ok(None),
            },
            SourceTag::Commit(hash) => self.object(&format!("{hash}^{{commit}}")),
            SourceTag::Test(_) | SourceTag::Review(_) | SourceTag::Adr(_) => Ok(None),
        }
    }

    fn changed_since(&self, source: &SourceTag, since: Timestamp) -> Result<bool> {
        let SourceTag::File { path, .. } = source else { return Ok(false) };
        if file_below(Path::new(""), source).is_none() {
            return Ok(false);
        }
        let path = format!("./{path}");
        let last = self.ask(&["log", "-1", "--format=%ct", "HEAD", "--", &path])?;
        let committed = last.and_then(|second| second.parse::<i64>().ok());
        Ok(committed.is_some_and(|second| second > since.as_second()))
    }
}

/// The file that a tag names, if it is below `root`.
fn file_below(root: &Path, source: &SourceTag) -> Option<PathBuf> {
    let SourceTag::File { path, .. } = source else { return None };
    let path = Path::new(path);
    let inside =
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    inside.then(|| root.join(path))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> SourceTag {
        SourceTag::File { path: path.into(), line: 1 }
    }

    /// True if one of the sources is no longer as it was `before`.
    fn has_changed(probe: &dyn SourceProbe, before: &Fingerprints) -> bool {
        before.iter().any(|(source, was)| probe.fingerprint(source).unwrap().as_ref() != Some(was))
    }

    /// A file that is changed, and then removed, is told by `probe`; `save` makes a change of
    /// the folder known to it.
    fn check(folder: &Path, probe: &dyn SourceProbe, save: impl Fn()) {
        fs::write(folder.join("a.md"), "one").unwrap();
        save();
        let before = probe
            .fingerprints(&[file("a.md"), file("none.md"), SourceTag::Test("t".into())])
            .unwrap();
        assert_eq!(before.keys().collect::<Vec<_>>(), [&file("a.md")]);
        assert!(!has_changed(probe, &before));
        fs::write(folder.join("b.md"), "other").unwrap();
        save();
        assert!(!has_changed(probe, &before));
        fs::write(folder.join("a.md"), "two").unwrap();
        save();
        assert!(has_changed(probe, &before));
        fs::write(folder.join("a.md"), "one").unwrap();
        save();
        assert!(!has_changed(probe, &before));
        fs::remove_file(folder.join("a.md")).unwrap();
        save();
        assert!(has_changed(probe, &before));
    }

    #[test]
    fn a_probe_of_contents_tells_a_change() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), &ContentProbe::new(folder.path()), || ());
    }

    fn git(folder: &Path, arguments: &[&str]) -> String {
        let identity =
            ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        let output = command.arg("-C").arg(folder).args(identity).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn a_probe_of_git_tells_what_is_committed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        git(path, &["init", "-q"]);
        let probe = GitProbe::new(path);
        check(path, &probe, || {
            git(path, &["add", "-A"]);
            git(path, &["commit", "-qm", "x", "--allow-empty"]);
        });
        let head = git(path, &["rev-parse", "HEAD"]);
        let known = probe.fingerprint(&SourceTag::Commit(head[..10].into())).unwrap();
        assert_eq!(known, Some(head));
        assert_eq!(probe.fingerprint(&SourceTag::Commit("0123456789".into())).unwrap(), None);
    }

    #[test]
    fn nothing_outside_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let outside = folder.path().join("outside.md");
        fs::write(&outside, "x").unwrap();
        let absolute = outside.to_string_lossy().into_owned();
        for path in ["../outside.md", "a/../../outside.md", &absolute] {
            assert_eq!(
                ContentProbe::new(&inside).fingerprint(&file(path)).unwrap(),
                None,
                "{path}"
            );
        }
        assert_eq!(ContentProbe::new(&inside).fingerprint(&file(".")).unwrap(), None);
        let none = GitProbe::new(&inside).fingerprint(&file("../outside.md")).unwrap();
        assert_eq!(none, None);
    }
}
