//! The differences between two versions of a text.

use std::time::Duration;

use inmost::{FileText, History, VersionInfo};
use similar::TextDiff;

use crate::Wiped;
use crate::exit::Failure;
use crate::version::{failure, find, is_deletion};
use crate::{display, times};

/// What a version changed, as a unified diff; empty if it changed no text.
pub fn changes(history: History<'_>, number: u64) -> Result<Wiped, Failure> {
    let new = Side::of(history, number)?;
    unified(&new.before(history)?, &new)
}

/// One of the two texts.
pub struct Side {
    /// `None` if there is no text: before the file was created.
    pub number: Option<u64>,
    version: Option<VersionInfo>,
    /// Empty after a deletion.
    text: FileText,
}

impl Side {
    fn nothing() -> Self {
        Self { number: None, version: None, text: FileText::from(String::new()) }
    }

    pub fn of(history: History<'_>, number: u64) -> Result<Self, Failure> {
        let version = find(history, number)?;
        let is_deleted = version.as_ref().is_some_and(|it| is_deletion(it) && it.file.is_some());
        let text = if is_deleted {
            Self::nothing().text
        } else {
            history.text(number).map_err(|error| failure(number, error))?
        };
        Ok(Self { number: Some(number), version, text })
    }

    /// The version of the file before this one.
    pub fn before(&self, history: History<'_>) -> Result<Self, Failure> {
        let previous = self.version.as_ref().and_then(|version| version.previous);
        previous.map_or_else(|| Ok(Self::nothing()), |number| Self::of(history, number))
    }

    /// The name for the head of the diff.
    fn name(&self) -> String {
        let Some(number) = self.number else { return "nothing".to_owned() };
        let version = self.version.as_ref();
        let path = version.and_then(|version| version.path.as_ref());
        let path = path.map_or_else(|| "-".to_owned(), |path| display::path(path.as_str()));
        let time = version.map_or_else(String::new, |it| format!(", {}", times::local(it.time)));
        let what = if version.is_some_and(is_deletion) { "deleted by version" } else { "version" };
        format!("{path} ({what} {number}{time})")
    }
}

/// The differences between two texts, as a unified diff.
pub fn unified(old: &Side, new: &Side) -> Result<Wiped, Failure> {
    let mut config = TextDiff::configure();
    // Long texts with few lines in common would take minutes; after this time the diff is longer than it need be.
    config.timeout(DIFF_TIME).newline_terminated(true);
    let diff = config.diff_slices(&lines(&old.text), &lines(&new.text));
    let mut text = Wiped::default();
    let written = diff.unified_diff().header(&old.name(), &new.name()).to_writer(&mut text);
    // Writing into memory cannot fail.
    written.map_err(|error| Failure::output(&error))?;
    Ok(text)
}

/// Lines as everywhere in the memory: only `\n` ends one. The crate's own lines also end at a lone carriage return, which no program
/// that applies a diff would accept.
fn lines(text: &FileText) -> Vec<&str> {
    text.as_str().split_inclusive('\n').collect()
}

/// How long to look for the shortest diff.
const DIFF_TIME: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_carriage_return_ends_no_line() {
        let side = |text: &str| Side { number: None, version: None, text: text.to_owned().into() };
        let diff = unified(&side("a\rb\r\nend"), &side("a\rc\r\nend")).unwrap();
        let diff = std::str::from_utf8(diff.as_slice()).unwrap();
        let expected = "--- nothing\n+++ nothing\n@@ -1,2 +1,2 @@\n-a\rb\r\n+a\rc\r\n end\n\\ No newline at end of file\n";
        assert_eq!(diff, expected);
    }
}
