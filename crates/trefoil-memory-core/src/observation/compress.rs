use crate::Observation;
use trefoil_core::ObservationKind;

/// Tells an observation in short by its kind: of a tool its name, of a command itself, and of
/// what they brought the beginning and the end. Failures, successes and what people write are
/// kept whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compressor;

impl Compressor {
    /// What is longer than this, in characters, is made short; what was made short is not.
    pub const CHARACTERS: usize = 500;
    /// Characters of a line that are kept.
    const LINE: usize = 80;
    /// Lines that are kept of the beginning and of the end.
    const LINES: (usize, usize) = (2, 3);

    /// What is kept of an observation; its content as it is, if it needs no compression.
    pub fn compress(&self, observation: &Observation) -> String {
        if !self.should_compress(observation) {
            return observation.content.clone();
        }
        let mut lines =
            observation.content.lines().map(str::trim_end).filter(|line| !line.is_empty());
        let name = match (observation.kind, observation.source_id.as_deref()) {
            (ObservationKind::ToolUse, Some(tool)) => tool,
            _ => lines.next().unwrap_or_default(),
        };
        let output: Vec<&str> = lines.collect();
        let (first, last) = Self::LINES;
        let mut kept = vec![cut(name)];
        if output.len() <= first + last {
            kept.extend(output.iter().map(|line| cut(line)));
        } else {
            kept.extend(output.iter().take(first).map(|line| cut(line)));
            kept.push(format!("… {} lines …", output.len() - first - last));
            kept.extend(output.iter().skip(output.len() - last).map(|line| cut(line)));
        }
        kept.join("\n")
    }

    /// True if it is long and of a kind that can be told in short.
    pub fn should_compress(&self, observation: &Observation) -> bool {
        let told_in_short = match observation.kind {
            ObservationKind::ToolUse | ObservationKind::Bash => true,
            ObservationKind::Error
            | ObservationKind::Success
            | ObservationKind::Note
            | ObservationKind::Message => false,
        };
        told_in_short && observation.content.chars().nth(Self::CHARACTERS).is_some()
    }
}

/// The beginning of a line.
fn cut(line: &str) -> String {
    let mut kept: String = line.chars().take(Compressor::LINE).collect();
    if kept.len() < line.len() {
        kept.pop();
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use trefoil_core::ObservationId;

    use super::*;
    use crate::ObservationDraft;

    fn observation(kind: ObservationKind, source_id: Option<&str>, content: String) -> Observation {
        let source_id = source_id.map(str::to_owned);
        let draft = ObservationDraft { kind, source_id, ..ObservationDraft::message(content) };
        draft.into_observation(ObservationId::new("obs_1").unwrap(), Timestamp::UNIX_EPOCH).unwrap()
    }

    fn output(lines: usize) -> String {
        (1..=lines).map(|n| format!("line {n} of the output")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_command_is_told_with_the_ends_of_its_output() {
        let long = observation(ObservationKind::Bash, None, format!("cargo test\n{}", output(40)));
        let expected = "cargo test\nline 1 of the output\nline 2 of the output\n… 35 lines …\n\
                        line 38 of the output\nline 39 of the output\nline 40 of the output";
        assert_eq!(Compressor.compress(&long), expected);
    }

    #[test]
    fn a_tool_is_told_by_its_name() {
        let long = observation(ObservationKind::ToolUse, Some("search"), output(40));
        assert!(Compressor.compress(&long).starts_with("search\nline 1 "));
    }

    #[test]
    fn what_is_short_or_matters_is_kept_whole() {
        for kind in [
            ObservationKind::Error,
            ObservationKind::Success,
            ObservationKind::Note,
            ObservationKind::Message,
        ] {
            let long = observation(kind, None, output(40));
            assert!(!Compressor.should_compress(&long));
            assert_eq!(Compressor.compress(&long), long.content);
        }
        let at = |length| observation(ObservationKind::Bash, None, "あ".repeat(length));
        assert!(!Compressor.should_compress(&at(500)) && Compressor.should_compress(&at(501)));
    }

    proptest! {
        #[test]
        fn what_was_made_short_is_not_made_shorter(content in "([a-z ]{0,120}\n|\\PC{0,40}\n){1,30}.") {
            let whole = observation(ObservationKind::Bash, None, content);
            let once = Compressor.compress(&whole);
            if !once.is_empty() {
                let again = observation(ObservationKind::Bash, None, once.clone());
                prop_assert!(!Compressor.should_compress(&again));
                prop_assert_eq!(Compressor.compress(&again), once);
            }
        }
    }
}
