//! `inmost redact`

use std::str::FromStr;

use inmost::{FileError, History, VersionQuery};

use crate::args::{ActorArgs, StoreArgs};
use crate::confirm;
use crate::display::count;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::store::opening::OpenOptions;
use crate::version::CIPHERTEXT_STAYS;

/// Remove text and path of a version, or of a range of versions, from the history
///
/// That there was a change, when and by whom stays. The text goes unless a version before or after it, which is not
/// redacted, has the same. Nothing is redacted if one of the texts is the current text of a file. It cannot be undone.
///
/// The ciphertext stays in the store's files until `inmost compact`. Copies and backups keep it. `inmost forget` removes
/// every version of a path, and leaves one entry without its name.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost redact --store notes.inmost 1216\n  \
    inmost redact --store notes.inmost 1216..1984 --yes")]
pub(crate) struct Redact {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// The number of the version, or the first and the last of a range; both are included
    #[arg(value_name = "VERSION[..VERSION]")]
    versions: Range,
}

impl Redact {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let Range { first, last } = self.versions;
        let which = if first == last {
            format!("version {first}")
        } else {
            format!("every version from {first} to {last}")
        };
        confirm::ask(
            self.yes,
            &format!("This cannot be undone. Type yes to redact {which}: "),
            "yes",
        )?;
        let store = self
            .store
            .open(&OpenOptions { actor: self.actor.actor(), ..OpenOptions::default() })?;
        let history = store.history();
        let redacted = history.redact(first, last).map_err(|error| match error {
            FileError::NoSuchVersion(_) if is_redacted(history, self.versions) => Failure::new(
                Exit::Other,
                format!("Nothing was redacted: {which} was redacted already."),
                "`inmost log` lists the versions of a file that can still be redacted.",
            ),
            error => error.into(),
        })?;
        drop(store);
        let versions = count(redacted, "version", "versions");
        print(format!("Redacted {versions}. {CIPHERTEXT_STAYS}").as_bytes())
    }
}

/// Whether the log lists a version of the range as redacted.
fn is_redacted(history: History<'_>, range: Range) -> bool {
    let before = range.last.checked_add(1);
    let Ok(page) = history.page(&VersionQuery::all(), before, PAGE) else { return false };
    page.items.iter().any(|it| it.number >= range.first && it.redacted.is_some())
}

/// The versions of a range that are looked at. All of them are redacted, or changes of folders.
const PAGE: usize = 1_000;

/// A range of versions with both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    first: u64,
    last: u64,
}

impl FromStr for Range {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "expected the number of a version, or two such as 1216..1984";
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let number = |text: &str| text.parse::<u64>().map_err(|_| expected);
        let range = Self { first: number(first)?, last: number(last)? };
        if range.last < range.first { Err(expected) } else { Ok(range) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_one_number_or_two() {
        assert_eq!("7".parse(), Ok(Range { first: 7, last: 7 }));
        assert_eq!("7..9".parse(), Ok(Range { first: 7, last: 9 }));
        for text in ["", "..", "7..", "..7", "9..7", "a", "-1", "1..2..3"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }
}
