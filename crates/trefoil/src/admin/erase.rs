//! Forgetting, down to the bytes of every file.
//!
//! The store erases rows in one transaction; the indexes replay that. Then every file is
//! rewritten from what is alive: the store by `VACUUM` with an emptied write-ahead log,
//! the segments of the indexes that hold anything removed. Rewriting is what erases; the search of the files
//! that follows is the proof, as far as a search can see. It sees text as it is: all of the
//! store, names in the graph's file. The keyword index holds terms in a compressed dictionary
//! and vectors are numbers: there nothing can be seen, and only what was rewritten counts.
//!
//! A note in the store says that this has to be done, and hashes of the erased text say what to
//! look for, so that a crash on the way is made good when the engine is opened again. The hashes
//! stay until a search has found nothing: each call looks for all that is not yet proved gone.

use std::{
    collections::BTreeMap,
    fs::FileType,
    io::ErrorKind,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};
use trefoil_store::{CommunityRow, memory::Erased};

use crate::{
    admin::{erasure_scan::Scanner, repair::set_aside_below, shared_erasure::SharedErasure},
    progress::{OnProgress, tell},
    state::State,
};

/// What was forgotten, and the proof.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForgetReceipt {
    /// How many of each kind: `episode`, `claim`, `summary`, `file`, `chunk`…
    pub removed: BTreeMap<String, usize>,
    /// Whether a text was searched for: one of this call, or one of an earlier call that was not
    /// proved gone.
    pub searched: bool,
    /// The files that were searched, by path from the engine's directory: all that are below it.
    pub files: Vec<ScannedFile>,
    /// Bytes of them.
    pub bytes_scanned: u64,
    /// Places at which 16 bytes in a row are of an erased text, of which none that is alive
    /// has 15; 0.
    pub hits: u64,
    /// What became of it on other nodes, and in the store that they share; none if the index is
    /// not shared, or there was nothing to forget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedErasure>,
}

/// A file that was searched for erased text.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Places at which erased text was found.
    pub hits: u64,
}

impl State {
    /// Makes good a cleaning that a crash kept from its end.
    pub(crate) fn clean_up(&self) -> Result<()> {
        if self.store.is_unclean()? {
            self.clean(Erased::default(), &mut |_| ControlFlow::Continue(()))?;
        }
        Ok(())
    }

    /// Rewrites every file and searches them for what was erased.
    pub(crate) fn clean(
        &self,
        erased: Erased,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<ForgetReceipt> {
        self.rewrite()?;
        let mut runs = self.store.erased_runs()?;
        let mut receipt = ForgetReceipt {
            removed: erased.removed,
            searched: !runs.is_empty(),
            ..ForgetReceipt::default()
        };
        self.store.each_live_text(|text| runs.spare(text))?;
        // The worker may have made reports since: quotations of live texts, one after the other.
        for report in self.store.communities()? {
            if self.quotes(&report)? {
                runs.spare(&report.summary);
            }
        }
        let scanner = Scanner::new(runs);
        let files = files_below(&self.dir)?;
        let length = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
        let total = files.iter().map(length).sum();
        for path in files {
            tell(on_progress, receipt.bytes_scanned.min(total), total)?;
            // A merge or a freeze in the background removes its files. What it writes since all was
            // rewritten is made of what is alive.
            let Some((bytes, hits)) = scanner.scan(&path)? else { continue };
            let path = path.strip_prefix(&self.dir).map(Path::to_owned).unwrap_or(path);
            receipt.bytes_scanned += bytes;
            receipt.hits += hits;
            receipt.files.push(ScannedFile { path, bytes, hits });
        }
        if receipt.searched && receipt.hits == 0 {
            self.store.set_nothing_left()?;
        }
        Ok(receipt)
    }

    /// Whether a report says nothing but sentences of passages that are there.
    fn quotes(&self, report: &CommunityRow) -> Result<bool> {
        let mut rest = report.summary.as_str();
        for source in &report.sources {
            let Some(chunk) = self.store.chunk_by_id(&source.chunk)? else { return Ok(false) };
            let sentence = chunk.chunk.text.get(source.span.start..source.span.end);
            let after = sentence.and_then(|said| rest.trim_start().strip_prefix(said));
            let Some(after) = after else { return Ok(false) };
            rest = after;
        }
        Ok(rest.trim().is_empty())
    }

    /// Rewrites every file, so that none holds a byte of what is gone.
    pub(crate) fn rewrite(&self) -> Result<()> {
        self.replay_all()?;
        self.documents.compact()?;
        self.memory.compact()?;
        self.refresh_read_view()?;
        for path in set_aside_below(&self.dir)? {
            remove(&path)?;
        }
        self.store.clean()?;
        self.store.set_clean()
    }
}

/// Removes a file, or a folder with all that is in it.
fn remove(path: &Path) -> Result<()> {
    let failed = |source| Error::io("remove what was set aside", path, source);
    let is_folder = std::fs::symlink_metadata(path).map_err(failed)?.is_dir();
    let removed =
        if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    removed.map_err(failed)
}

/// Every file below a folder, by path. Links are not followed: what they lead to is not of the
/// index.
fn files_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (path, kind) in entries(dir)? {
        if kind.is_dir() {
            files.extend(files_below(&path)?);
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

/// What is in a folder, by name; nothing if it is not there.
pub(crate) fn entries(dir: &Path) -> Result<Vec<(PathBuf, FileType)>> {
    let failed = |source| Error::io("list", dir, source);
    let listed = match std::fs::read_dir(dir) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut entries: Vec<(PathBuf, FileType)> = listed
        .map(|entry| entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))))
        .collect::<std::io::Result<_>>()
        .map_err(failed)?;
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

#[cfg(all(test, feature = "graph"))]
mod tests {
    use std::ops::ControlFlow;

    use crate::{
        config::{EngineConfig, Model},
        engine::Engine,
    };
    use trefoil_core::Document;

    #[test]
    fn a_report_that_joins_live_sentences_is_no_remainder() {
        let dir = tempfile::tempdir().unwrap();
        let config = EngineConfig { model: Model::None, ..EngineConfig::default() };
        let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
        let texts = [
            "メンフクロウは草原でハタネズミを静かに狩る鳥である。メンフクロウは納屋に巣を作りハタネズミを運ぶ。",
            "メンフクロウのペリットにはハタネズミの骨が残っている。メンフクロウはハタネズミを丸ごと飲み込む。",
            "オオシオはマンゲツからおよそ二日遅れて訪れる現象である。マンゲツのころにオオシオは最も高くなる。",
            "港の予定はマンゲツのあとのオオシオに合わせて決められる。暦にはマンゲツとオオシオの両方が載っている。",
        ];
        let documents: Vec<Document> = texts
            .iter()
            .map(|&text| Document::new(text.chars().take(9).collect::<String>(), text))
            .collect();
        engine.ingest(&documents).unwrap();
        engine.wait_until_indexed().unwrap();
        let reports = engine.communities().unwrap();
        let report = reports.iter().find(|one| one.sources.len() > 1).unwrap();
        // Sentences meet in the report that meet in no text: one was forgotten in which they did.
        let state = engine.state();
        let sentence = |source: &trefoil_store::ReportSource| {
            let chunk = state.store.chunk_by_id(&source.chunk).unwrap().unwrap();
            chunk.chunk.text[source.span.start..source.span.end].to_owned()
        };
        let pairs = report.sources.windows(2);
        let joined = pairs
            .map(|pair| sentence(&pair[0]) + &sentence(&pair[1]))
            .find(|joined| texts.iter().all(|text| !text.contains(joined.as_str())))
            .unwrap();
        engine.ingest(&[Document::new("joined", &*joined)]).unwrap();
        engine.wait_until_indexed().unwrap();
        let erased = state.store.erase_file("joined").unwrap().unwrap();
        state.replay_all().unwrap();
        engine.wake();
        engine.wait_until_indexed().unwrap();
        let summaries = engine.communities().unwrap();
        assert!(summaries.iter().any(|one| one.summary.contains(&joined)), "{summaries:?}");
        let receipt = state.clean(erased, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((receipt.hits, receipt.searched), (0, true), "{receipt:?}");
    }
}
