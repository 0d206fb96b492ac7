//! Long work, begun by a request and watched by others.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    http::header::{HeaderValue, LOCATION},
    response::Response,
};
use futures_util::stream::unfold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trefoil::{Engine, Error, IngestOptions, admin::DoctorOptions};
use trefoil_eval::{Collection, Harness};
use trefoil_memory::{MaintainOptions, NoProbe};

use crate::{
    call::{Call, json},
    job::{Job, JobResult, JobView, Work},
    problem::Problem,
    stream::{Told, stream},
};

/// The most chunks that are sampled.
const SAMPLE: u16 = 10_000;

/// What is to be done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum NewJob {
    /// Files and folders are read, below the roots of the server.
    Ingest {
        /// Their absolute paths; all roots without.
        #[serde(default)]
        paths: Vec<PathBuf>,
        /// Whether documents are removed even if most of a root is gone.
        #[serde(default)]
        prune: bool,
    },
    /// The indexes are rebuilt from the stored text.
    Reindex,
    /// The index is written into one file, next to its directory.
    Export {
        /// The name of the file: 1–128 of a–z, A–Z, 0–9, `.`, `_` and `-`, not beginning with
        /// `.`; it is not there.
        #[schemars(regex(pattern = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"))]
        file: String,
    },
    /// Every checksum and every row is checked.
    Verify,
    /// What is no damage and still not as it should be is looked for.
    Doctor {
        /// How many chunks are sampled, 1–10,000; 100 by default.
        #[serde(default)]
        #[schemars(range(min = 1, max = SAMPLE))]
        sample: Option<u16>,
    },
    /// Memory is looked after.
    Maintain {
        /// Whether it is only told what would be done.
        #[serde(default, rename = "dryRun", alias = "dry_run")]
        dry_run: bool,
    },
    /// The engine is measured on a collection in BEIR layout, below the roots of the server.
    Eval {
        /// The absolute path of its folder.
        collection: PathBuf,
        /// How many questions are asked; all without.
        #[serde(default)]
        #[schemars(range(max = u32::MAX))]
        queries: Option<u32>,
    },
}

pub(crate) fn begin(call: Call, new: NewJob) -> Result<Response, Problem> {
    let opened = call.index();
    let settings = call.app.indexes.settings(call.query.text("index"), &call.caller.grant)?;
    let now = call.app.now();
    let roots = &now.settings.roots;
    let (dir, config) = (settings.dir, settings.engine);
    let add = |kind, work: Work| call.app.jobs.add(kind, &settings.name, work);
    let job = match new {
        NewJob::Ingest { paths, prune } => {
            let paths = if paths.is_empty() { roots.clone() } else { below(roots, &paths)? };
            let engine = opened?.engine;
            let options = IngestOptions { prune };
            add(
                "ingest",
                Box::new(move |job| {
                    let ingested =
                        engine.ingest_paths(&paths, options, |progress| job.tell(progress))?;
                    Ok(JobResult::Ingested(ingested))
                }),
            )
        }
        NewJob::Reindex => {
            let app = Arc::clone(&call.app);
            let name = settings.name.clone();
            add(
                "reindex",
                Box::new(move |job| {
                    let engine = app.indexes.reindex(&name)?.engine;
                    let mut most = 0;
                    engine.wait_until_indexed_with(|jobs| {
                        let left = (jobs.queued + jobs.running) as u64;
                        most = most.max(left);
                        job.tell(trefoil::Progress { done: most - left, total: most })
                    })?;
                    if job.is_cancelled() {
                        return Err(Error::Cancelled.into());
                    }
                    Ok(JobResult::Stats(Box::new(engine.stats()?)))
                }),
            )
        }
        NewJob::Export { file } => {
            let to = snapshot_file(&dir, &file)?;
            add(
                "export",
                Box::new(move |job| {
                    let snapshot = Engine::export_with(&dir, to, |progress| job.tell(progress))?;
                    Ok(JobResult::Snapshot(snapshot))
                }),
            )
        }
        NewJob::Verify => {
            add("verify", Box::new(move |_| Ok(JobResult::Verification(Engine::verify(&dir)?))))
        }
        NewJob::Doctor { sample } => {
            let defaults = DoctorOptions::default();
            let sample = sample.map_or(defaults.sample, usize::from);
            let holds = (1..=usize::from(SAMPLE)).contains(&sample);
            Error::check_field(holds, "sample", sample, "1–10,000")?;
            let options = DoctorOptions { sample, ..defaults };
            add(
                "doctor",
                Box::new(move |_| {
                    Ok(JobResult::Health(Engine::doctor(&dir, config, &options)?.results))
                }),
            )
        }
        NewJob::Maintain { dry_run } => {
            let memory = opened?.memory;
            let options = MaintainOptions { dry_run, ..MaintainOptions::default() };
            add(
                "maintain",
                Box::new(move |_| Ok(JobResult::Maintenance(memory.maintain(&NoProbe, &options)?))),
            )
        }
        NewJob::Eval { collection, queries } => {
            let queries = queries.and_then(|queries| usize::try_from(queries).ok());
            let folder = below(roots, &[collection])?.pop().ok_or_else(Problem::not_found)?;
            add(
                "eval",
                Box::new(move |_| {
                    let collection = Collection::read(&folder, trefoil::text::language_of)?;
                    let own = tempfile::tempdir().map_err(|error| {
                        Error::io("create a folder in", std::env::temp_dir(), error)
                    })?;
                    let harness = Harness { queries, ..Harness::new(config, own.path()) };
                    Ok(JobResult::Report(Box::new(harness.measure(&collection)?.report)))
                }),
            )
        }
    }?;
    let view = job.view();
    let mut response = json(&view)?;
    let at = HeaderValue::try_from(format!("/v1/jobs/{}", view.id));
    if let Ok(at) = at {
        response.headers_mut().insert(LOCATION, at);
    }
    Ok(response)
}

/// Paths as they are on the disk, each of which has to be below a root: one that leads out of
/// them is like one that is not there.
fn below(roots: &[PathBuf], paths: &[PathBuf]) -> Result<Vec<PathBuf>, Problem> {
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let real = |path: &PathBuf| {
        let real = path.canonicalize().ok().filter(|_| path.is_absolute());
        real.filter(|real| roots.iter().any(|root| real.starts_with(root)))
    };
    let found: Option<Vec<PathBuf>> = paths.iter().map(real).collect();
    found.ok_or_else(|| {
        let detail = "a path is not below the roots of the server, or not there; \
                      roots are `server.roots` of the settings and what `serve` was given";
        Problem::own("not_found", detail)
    })
}

fn snapshot_file(dir: &Path, name: &str) -> Result<PathBuf, Problem> {
    let is_name = (1..=128).contains(&name.len())
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let allowed = "1–128 of a–z, A–Z, 0–9, `.`, `_` and `-`, not beginning with `.`";
    Error::check_field(is_name, "file", name, allowed)?;
    let folder = dir.parent().filter(|folder| !folder.as_os_str().is_empty());
    let file = folder.unwrap_or(Path::new(".")).join(name);
    Error::check_field(!file.exists(), "file", name, "a name that is not taken")?;
    Ok(file)
}

/// The job that a path names, if its index is one that the token sees.
fn named(call: &Call) -> Result<Arc<Job>, Problem> {
    let id = call.named();
    let found = call.app.jobs.list().into_iter().find(|job| {
        let view = job.view();
        view.id == id && call.caller.grant.sees(&view.index)
    });
    found.ok_or_else(Problem::not_found)
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobList {
    jobs: Vec<JobView>,
}

pub(crate) fn list(call: &Call) -> Result<JobList, Problem> {
    let views = call.app.jobs.list().into_iter().map(|job| job.view());
    Ok(JobList { jobs: views.filter(|view| call.caller.grant.sees(&view.index)).collect() })
}

pub(crate) fn job(call: &Call) -> Result<JobView, Problem> {
    Ok(named(call)?.view())
}

pub(crate) fn cancel(call: &Call) -> Result<JobView, Problem> {
    let job = named(call)?;
    job.cancel();
    Ok(job.view())
}

pub(crate) fn events(call: Call) -> Result<Response, Problem> {
    let job = named(&call)?;
    let seen = call.last_event.unwrap_or_default();
    let events = unfold((job, seen), |(job, seen)| async move {
        let event = job.after(seen).await?;
        let seen = event.id;
        Some((Told { id: event.id, name: event.name, data: event.data }, (job, seen)))
    });
    stream(&call, events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_nowhere_but_below_the_roots() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["root/inner", "rooted", "secret"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let roots = [at("root"), at("gone")];
        let allowed = |path: PathBuf| below(&roots, &[path]).is_ok();
        assert!(
            allowed(at("root")) && allowed(at("root/inner")) && allowed(at("root/inner/../inner"))
        );
        for path in ["secret", "rooted", "root/../secret", "root/none", "gone", ""] {
            assert!(!allowed(at(path)), "{path}");
        }
        assert!(!allowed("root".into()) && !allowed("".into()));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("secret"), at("root/link")).unwrap();
            assert!(!allowed(at("root/link")));
        }
    }

    #[test]
    fn a_snapshot_is_written_next_to_its_index() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("notes");
        std::fs::create_dir(&dir).unwrap();
        assert_eq!(snapshot_file(&dir, "a.snapshot").unwrap(), folder.path().join("a.snapshot"));
        for name in ["", ".", "..", "../a", "a/b", ".hidden", "a b", "notes", &"x".repeat(129)] {
            assert_eq!(snapshot_file(&dir, name).unwrap_err().code, "invalid_field", "{name}");
        }
    }
}
