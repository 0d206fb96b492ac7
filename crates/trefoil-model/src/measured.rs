//! What was measured of a model's vectors: of the file next to it, or what is built in.

use std::{fs, io::ErrorKind, path::Path};

use serde::de::DeserializeOwned;
use trefoil_core::{Error, LanguageMeans, Part, Result, TokenSpace};

/// Constants of a model.
pub(crate) trait Measured: DeserializeOwned {
    /// The file in the folder of a model.
    const FILE: &str;
    /// That of the default model. Vectors of the two forms of one model differ by less than what
    /// is measured here.
    const OF_DEFAULT: &str;

    /// The length of the vectors that it is about.
    fn dimensions(&self) -> usize;

    /// That of the model with this name in this folder; none where nobody measured it.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Corrupt`] if the file is not one about vectors of that many
    /// dimensions.
    fn of_model(name: &str, folder: &Path, dimensions: usize) -> Result<Option<Self>> {
        let path = folder.join(Self::FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if !DEFAULT.contains(&name) {
                    return Ok(None);
                }
                Self::OF_DEFAULT.to_owned()
            }
            Err(error) => return Err(Error::io("read", path, error)),
        };
        let damaged = |reason: &str| Error::Corrupt {
            part: Part::Model,
            reason: format!("`{}`: {reason}", path.display()),
        };
        let read: Self = toml::from_str(&text).map_err(|error| damaged(error.message()))?;
        if read.dimensions() != dimensions {
            let found = read.dimensions();
            let reason =
                format!("its means have {found} numbers, the model's vectors {dimensions}");
            return Err(damaged(&reason));
        }
        Ok(Some(read))
    }
}

/// The forms of the default model.
const DEFAULT: [&str; 2] = ["multilingual-e5-small", "multilingual-e5-small-f32"];

impl Measured for LanguageMeans {
    const FILE: &str = "languages.toml";
    const OF_DEFAULT: &str = include_str!("../../../models/languages/multilingual-e5-small.toml");

    fn dimensions(&self) -> usize {
        Self::dimensions(self)
    }
}

impl Measured for TokenSpace {
    const FILE: &str = "tokens.toml";
    const OF_DEFAULT: &str = include_str!("../../../models/tokens/multilingual-e5-small.toml");

    fn dimensions(&self) -> usize {
        Self::dimensions(self)
    }
}

#[cfg(test)]
mod tests {
    use trefoil_core::{Language, TokenMeans};

    use super::*;

    #[test]
    fn a_file_next_to_the_model_goes_before_what_is_built_in() {
        let dir = tempfile::tempdir().unwrap();
        let means = |name, dimensions| LanguageMeans::of_model(name, dir.path(), dimensions);
        let tokens = |name, dimensions| TokenSpace::of_model(name, dir.path(), dimensions);
        for name in DEFAULT {
            let built_in = means(name, 384).unwrap().unwrap();
            assert_eq!(built_in.languages().collect::<Vec<_>>(), Language::ALL);
            assert_eq!(tokens(name, 384).unwrap().unwrap().dimensions(), 384);
        }
        assert_eq!((means("another", 2).unwrap(), tokens("another", 2).unwrap()), (None, None));
        let write = |file, text| fs::write(dir.path().join(file), text).unwrap();
        write("languages.toml", "en = [0.5, 0.0]\nja = [0.0, 0.5]\n");
        let mean = TokenMeans::from([(Language::En, vec![0.5, 0.0])]);
        write(
            "tokens.toml",
            "cosine-range = [0.1, 0.5]\n[question]\nen = [0.5, 0.0]\n[passage]\nen = [0.5, 0.0]\n",
        );
        let read = means("multilingual-e5-small", 2).unwrap().unwrap();
        assert_eq!(read.languages().collect::<Vec<_>>(), [Language::En, Language::Ja]);
        assert_eq!(means("another", 2).unwrap(), Some(read));
        let space = TokenSpace::new(mean.clone(), mean, [0.1, 0.5], None).unwrap();
        assert_eq!(tokens("multilingual-e5-small", 2).unwrap(), Some(space));
        let error = means("another", 384).unwrap_err().to_string();
        assert!(error.contains("2 numbers") && error.contains("384"), "{error}");
        for bad in ["en = [0.5]", "fr = [0.5]\nja = [0.5]", "nonsense"] {
            write("languages.toml", bad);
            assert!(matches!(means("another", 1), Err(Error::Corrupt { .. })), "{bad}");
        }
        for bad in ["[passage]\nen = [0.5]", "cosine-range = [0.1, 0.5]", "nonsense"] {
            write("tokens.toml", bad);
            assert!(matches!(tokens("another", 1), Err(Error::Corrupt { .. })), "{bad}");
        }
    }
}
