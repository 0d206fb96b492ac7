use trefoil_core::{Language, Result};

use super::{found::Found, japanese, korean};

/// Finds the nouns of Japanese and Korean prose.
pub(crate) trait Nouns {
    /// Pushes the nouns of `part`, which starts at `offset` of a text in `language`.
    fn push(
        &mut self,
        part: &str,
        offset: usize,
        language: Language,
        found: &mut Found<'_>,
    ) -> Result<()>;
}

/// Nouns by script.
pub(crate) struct ScriptNouns;

impl Nouns for ScriptNouns {
    fn push(
        &mut self,
        part: &str,
        offset: usize,
        _: Language,
        found: &mut Found<'_>,
    ) -> Result<()> {
        japanese::extract(part, offset, found);
        korean::extract(part, offset, found);
        Ok(())
    }
}
