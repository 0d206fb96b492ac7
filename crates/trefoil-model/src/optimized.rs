//! A model as ONNX Runtime has optimised it, in files that it maps.
//!
//! Opening a `model.onnx` optimises its graph, copies its weights and packs them for the kernels
//! of this processor, for each session. Here that is done once. What comes out stands next to the
//! model in a folder named after all that it depends on: the runtime's version, the processor's
//! features and the model. A session then opens in a fifth of the time, and its weights are pages
//! of a file, which all sessions of all processes share.
//!
//! ```text
//! optimized-<version>-<processor>-<model>/
//!   model.onnx    the graph
//!   weights.bin   its weights, packed
//!   checksums     of each file: CRC-32, length, name
//! ```

use std::{
    fmt::Write,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use trefoil_core::{Error, Part, Result};

use crate::file::{empty_folder, partial};

/// What the name of each folder begins with.
const PREFIX: &str = "optimized";
const GRAPH: &str = "model.onnx";
/// The file with the weights, in the folder of the graph.
pub(crate) const WEIGHTS: &str = "weights.bin";
const CHECKSUMS: &str = "checksums";

/// The optimised files of a model, which may not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Optimized {
    folder: PathBuf,
}

impl Optimized {
    /// Those of `model`, the file whose SHA-256 is `sha256`, for a version of the runtime and this
    /// processor.
    ///
    /// # Errors
    /// [`Error::Io`] if the model cannot be looked at.
    pub(crate) fn of(model: &Path, sha256: &str, version: &str) -> Result<Self> {
        let length = fs::metadata(model).map_err(|error| Error::io("read", model, error))?.len();
        let sha256 = sha256.get(..16).unwrap_or(sha256);
        let name = format!("{PREFIX}-{version}-{:08x}-{sha256}-{length:x}", processor());
        Ok(Self { folder: model.with_file_name(name) })
    }

    /// The file to open.
    pub(crate) fn graph(&self) -> PathBuf {
        self.folder.join(GRAPH)
    }

    /// Whether the files are there, whole or not.
    pub(crate) fn exists(&self) -> bool {
        self.folder.exists()
    }

    /// Compares the files with their checksums.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`].
    pub(crate) fn check(&self) -> Result<()> {
        let path = self.folder.join(CHECKSUMS);
        let expected =
            fs::read_to_string(&path).map_err(|error| Error::io("read", &path, error))?;
        if expected == checksums(&self.folder)? {
            return Ok(());
        }
        let reason = format!("`{}` has another checksum; delete it", self.folder.display());
        Err(Error::Corrupt { part: Part::Model, reason })
    }

    /// Lets `optimize` write the graph to the path that it is given and the weights next to it, in
    /// place of what is there. All appears at once, when it is durable.
    ///
    /// # Errors
    /// [`Error::Io`], and what `optimize` returns.
    pub(crate) fn make(&self, optimize: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let partial = partial(&self.folder);
        let made = self.make_in(&partial, optimize);
        // After a rename there is nothing to remove.
        let _ = fs::remove_dir_all(&partial);
        made
    }

    fn make_in(&self, partial: &Path, optimize: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        empty_folder(partial)?;
        optimize(&partial.join(GRAPH))?;
        let list = partial.join(CHECKSUMS);
        let sums = checksums(partial)?;
        fs::write(&list, sums).map_err(|error| Error::io("write", &list, error))?;
        let publish = || -> io::Result<()> {
            for name in [GRAPH, WEIGHTS, CHECKSUMS] {
                match File::open(partial.join(name)) {
                    // A model without large weights has none in a file of their own.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    file => file?.sync_all()?,
                }
            }
            // Another process may have been faster.
            if self.check().is_ok() {
                return Ok(());
            }
            if self.exists() {
                // What is mapped stays until it is unmapped.
                fs::remove_dir_all(&self.folder)?;
            }
            fs::rename(partial, &self.folder)
        };
        match publish() {
            Err(_) if self.check().is_ok() => Ok(()),
            outcome => outcome.map_err(|error| Error::io("write", &self.folder, error)),
        }
    }

    /// Removes those next to it that another version of the model or of the runtime has left, and
    /// what a process that died has. Those for other processors stay: a folder of models may be
    /// shared.
    pub(crate) fn remove_stale(&self) {
        let Some((folder, name)) = self.folder.parent().zip(self.folder.file_name()) else {
            return;
        };
        let name = name.to_string_lossy();
        let parts: Vec<&str> = name.split('-').collect();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let other = entry.file_name().to_string_lossy().into_owned();
            let others: Vec<&str> = other.split('-').collect();
            let same_but_for_the_processor = others.len() == parts.len()
                && parts.iter().zip(&others).enumerate().all(|(at, (a, b))| at == 2 || a == b);
            if others.first() == Some(&PREFIX) && !same_but_for_the_processor {
                // It is in nobody's way.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// CRC-32, length and name of each file, a line each.
fn checksums(folder: &Path) -> Result<String> {
    let mut lines = String::new();
    for name in [GRAPH, WEIGHTS] {
        let path = folder.join(name);
        let (crc, length) = match checksum(&path) {
            Err(error) if name == WEIGHTS && error.kind() == io::ErrorKind::NotFound => continue,
            outcome => outcome.map_err(|error| Error::io("read", &path, error))?,
        };
        // Writing to a string does not fail.
        _ = writeln!(lines, "{crc:08x} {length} {name}");
    }
    Ok(lines)
}

fn checksum(path: &Path) -> io::Result<(u32, u64)> {
    let mut file = File::open(path)?;
    let (mut crc, mut length) = (crc32fast::Hasher::new(), 0);
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((crc.finalize(), length)),
            read => {
                crc.update(buffer.get(..read).unwrap_or_default());
                length += read as u64;
            }
        }
    }
}

/// A number for what this processor can do. Packed weights and fused kernels depend on it.
fn processor() -> u32 {
    let mut features = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    // The kernel's list has all of them; those of the first core are at the start of the file.
    let mut start = Vec::new();
    if File::open("/proc/cpuinfo")
        .and_then(|file| file.take(1 << 13).read_to_end(&mut start))
        .is_ok()
    {
        let start = String::from_utf8_lossy(&start);
        let is_list = |line: &&str| line.starts_with("flags") || line.starts_with("Features");
        features.extend(start.lines().find(is_list));
    }
    #[cfg(target_arch = "x86_64")]
    for (name, has) in [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512bw", is_x86_feature_detected!("avx512bw")),
        ("avx512vl", is_x86_feature_detected!("avx512vl")),
        ("avx512vnni", is_x86_feature_detected!("avx512vnni")),
        ("avxvnni", is_x86_feature_detected!("avxvnni")),
    ] {
        if has {
            features.push_str(name);
        }
    }
    crc32fast::hash(features.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.onnx");
        fs::write(&path, b"model").unwrap();
        (folder, path)
    }

    fn write(graph: &Path) -> Result<()> {
        fs::write(graph, b"graph").map_err(|error| Error::io("write", graph, error))?;
        fs::write(graph.with_file_name(WEIGHTS), b"weights").unwrap();
        Ok(())
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn what_it_depends_on_is_in_its_name() {
        let (_folder, path) = model();
        let of = |sha256, version| Optimized::of(&path, sha256, version).unwrap();
        assert_eq!(of("ab", "1.0"), of("ab", "1.0"));
        assert_ne!(of("ab", "1.0"), of("ab", "1.1"));
        assert_ne!(of("ab", "1.0"), of("ac", "1.0"));
        let before = of("ab", "1.0");
        fs::write(&path, b"longer").unwrap();
        assert_ne!(before, of("ab", "1.0"));
    }

    #[test]
    fn damage_is_found_and_made_good() {
        let (folder, path) = model();
        let optimized = Optimized::of(&path, "ab", "1.0").unwrap();
        assert!(optimized.check().is_err() && !optimized.exists());
        optimized.make(write).unwrap();
        optimized.check().unwrap();
        let weights = optimized.graph().with_file_name(WEIGHTS);
        for damage in [&b"weighty"[..], b"weight", b""] {
            fs::write(&weights, damage).unwrap();
            assert!(matches!(optimized.check(), Err(Error::Corrupt { .. })), "{damage:?}");
            optimized.make(write).unwrap();
            optimized.check().unwrap();
        }
        fs::remove_file(&weights).unwrap();
        assert!(optimized.check().is_err());
        assert_eq!(names(folder.path()).len(), 2, "nothing is left over");
    }

    #[test]
    fn what_cannot_be_made_leaves_nothing() {
        let (folder, path) = model();
        let optimized = Optimized::of(&path, "ab", "1.0").unwrap();
        assert!(optimized.make(|_| Err(Error::EmptyRankedLists)).is_err());
        assert!(optimized.make(|_| Ok(())).is_err(), "no graph was written");
        assert_eq!(names(folder.path()), ["model.onnx"]);
    }

    #[test]
    fn only_what_can_be_used_stays() {
        let (folder, path) = model();
        let optimized = Optimized::of(&path, "ab", "1.1").unwrap();
        optimized.make(write).unwrap();
        Optimized::of(&path, "ab", "1.0").unwrap().make(write).unwrap();
        Optimized::of(&path, "ac", "1.1").unwrap().make(write).unwrap();
        let name = optimized.folder.file_name().unwrap().to_str().unwrap().to_owned();
        let parts: Vec<&str> = name.split('-').collect();
        let elsewhere = name.replace(parts[2], "00000000");
        fs::create_dir(folder.path().join(&elsewhere)).unwrap();
        optimized.remove_stale();
        let mut left = names(folder.path());
        left.sort();
        let mut expected = vec!["model.onnx".to_owned(), elsewhere, name];
        expected.sort();
        assert_eq!(left, expected);
    }
}
