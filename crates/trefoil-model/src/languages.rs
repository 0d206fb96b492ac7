//! The means of a model's questions in each language: of the file next to it, or those that are
//! built in.

use std::{fs, io::ErrorKind, path::Path};

use trefoil_core::{Error, LanguageMeans, Part, Result};

/// The file in the folder of a model.
pub(crate) const FILE: &str = "languages.toml";

const E5_SMALL: &str = include_str!("../../../models/languages/multilingual-e5-small.toml");
/// Those of models of the manifest. Vectors of the two forms of one model differ by less than the
/// languages do.
const BUILT_IN: [(&str, &str); 2] =
    [("multilingual-e5-small", E5_SMALL), ("multilingual-e5-small-f32", E5_SMALL)];

/// The means of the model with this name in this folder; none where nobody measured them.
///
/// # Errors
/// [`Error::Io`], or [`Error::Corrupt`] if the file does not hold means of that many dimensions.
pub(crate) fn language_means(
    name: &str,
    folder: &Path,
    dimensions: usize,
) -> Result<Option<LanguageMeans>> {
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let built_in = BUILT_IN.into_iter().find(|(model, _)| *model == name);
            let Some((_, text)) = built_in else { return Ok(None) };
            text.to_owned()
        }
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let damaged = |reason: &str| Error::Corrupt {
        part: Part::Model,
        reason: format!("`{}`: {reason}", path.display()),
    };
    let means: LanguageMeans = toml::from_str(&text).map_err(|error| damaged(error.message()))?;
    if means.dimensions() != dimensions {
        let found = means.dimensions();
        let reason = format!("its means have {found} numbers, the model's vectors {dimensions}");
        return Err(damaged(&reason));
    }
    Ok(Some(means))
}

#[cfg(test)]
mod tests {
    use trefoil_core::Language;

    use super::*;

    #[test]
    fn a_file_next_to_the_model_goes_before_what_is_built_in() {
        let dir = tempfile::tempdir().unwrap();
        let means = |name, dimensions| language_means(name, dir.path(), dimensions);
        for (name, _) in BUILT_IN {
            let built_in = means(name, 384).unwrap().unwrap();
            assert_eq!(built_in.languages().collect::<Vec<_>>(), Language::ALL);
        }
        assert_eq!(means("another", 2).unwrap(), None);
        fs::write(dir.path().join(FILE), "en = [0.5, 0.0]\nja = [0.0, 0.5]\n").unwrap();
        let read = means("multilingual-e5-small", 2).unwrap().unwrap();
        assert_eq!(read.languages().collect::<Vec<_>>(), [Language::En, Language::Ja]);
        assert_eq!(means("another", 2).unwrap(), Some(read));
        let error = means("another", 384).unwrap_err().to_string();
        assert!(error.contains("2 numbers") && error.contains("384"), "{error}");
        for bad in ["en = [0.5]", "fr = [0.5]\nja = [0.5]", "nonsense"] {
            fs::write(dir.path().join(FILE), bad).unwrap();
            assert!(matches!(means("another", 1), Err(Error::Corrupt { .. })), "{bad}");
        }
    }
}
