//! Care of an index that no engine has open.

use std::path::PathBuf;

use pyo3::{PyResult, Python};
use serde::Deserialize;
use trefoil::{Engine, admin::DoctorOptions};

use crate::{calls::write, failure::Failure, long_call::Reporter, settings::Settings};

type Work = fn(&[u8], &Reporter) -> Result<Vec<u8>, Failure>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Copy {
    from: PathBuf,
    to: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Examination {
    settings: Settings,
    sample: Option<usize>,
}

/// The work of this name.
pub(crate) fn find(name: &str) -> PyResult<Work> {
    match name {
        "verify" => Ok(|json, _| write(&Engine::verify(Settings::read(json)?.path)?)),
        "repair" => Ok(|json, _| {
            let settings = Settings::read(json)?;
            write(&Engine::repair(&settings.path, &settings.config()?)?)
        }),
        "doctor" => Ok(|json, _| {
            let Examination { settings, sample } = serde_json::from_slice(json)?;
            let defaults = DoctorOptions::default();
            let options = DoctorOptions { sample: sample.unwrap_or(defaults.sample), ..defaults };
            write(&Engine::doctor(&settings.path, settings.config()?, &options)?)
        }),
        "export" => Ok(|json, reporter| {
            let Copy { from, to } = serde_json::from_slice(json)?;
            write(&Engine::export_with(from, to, |at| reporter.tell(at.done, at.total))?)
        }),
        "import" => Ok(|json, _| {
            let Copy { from, to } = serde_json::from_slice(json)?;
            write(&Engine::import(from, to)?)
        }),
        _ => {
            let failure = Failure::Arguments(format!("there is no call `{name}`"));
            Err(Python::attach(|py| failure.into_exception(py)))
        }
    }
}
