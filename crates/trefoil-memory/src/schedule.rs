use crate::choice::choice;

choice!(
    /// Something that is done to a unit after it was stored.
    MemoryJob, "job" {
        /// Tell how it feels and how much it stands out.
        Reflect = "reflect",
        /// Find what it mentions.
        ExtractEntities = "extract_entities",
        /// Find what it says.
        ExtractFacts = "extract_facts",
        /// Find what it leaves to do.
        ExtractLoops = "extract_loops",
        /// Make it findable by meaning.
        Embed = "embed",
        /// Make a rolling summary.
        Summarize = "summarize",
    }
);

/// What was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Written {
    /// An observation of what happened.
    Episode,
    /// A message that the program sent by itself.
    ProactiveMessage,
    /// A new or changed fact, claim, loop or summary.
    Derived,
}

impl Written {
    /// What is to be done after it, in this order. Each is put into the queue in the
    /// transaction that stores the unit.
    pub const fn jobs(self) -> &'static [MemoryJob] {
        match self {
            Self::Episode => &[
                MemoryJob::Reflect,
                MemoryJob::ExtractEntities,
                MemoryJob::ExtractFacts,
                MemoryJob::ExtractLoops,
                MemoryJob::Embed,
            ],
            Self::ProactiveMessage | Self::Derived => &[MemoryJob::Embed],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_is_read_and_the_rest_embedded() {
        let names: Vec<_> = Written::Episode.jobs().iter().map(|job| job.as_str()).collect();
        let expected = ["reflect", "extract_entities", "extract_facts", "extract_loops", "embed"];
        assert_eq!(names, expected);
        for written in [Written::ProactiveMessage, Written::Derived] {
            assert_eq!(written.jobs(), [MemoryJob::Embed]);
        }
    }
}
