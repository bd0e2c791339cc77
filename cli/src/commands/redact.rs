//! `inmost redact`

use std::str::FromStr;

use crate::args::{ActorArgs, StoreArgs};
use crate::confirm;
use crate::display::count;
use crate::exit::Failure;
use crate::output::print;
use crate::store::opening::OpenOptions;
use crate::version::CIPHERTEXT_STAYS;

/// Remove text and path of a version, or of a range of versions, from the history
///
/// That there was a change, when and by whom stays. The text goes unless a version before or after it, which is not
/// redacted, has the same. Nothing is redacted if one of the texts is the current text of a file. It cannot be undone.
///
/// The ciphertext stays in the store's files until `inmost compact`. Copies and backups keep it. `inmost forget` removes
/// every version of a path, without leaving entries.
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
            format!("all versions from {first} to {last}")
        };
        confirm::ask(
            self.yes,
            &format!("This cannot be undone. Type yes to redact {which}: "),
            "yes",
        )?;
        let store = self
            .store
            .open(&OpenOptions { actor: self.actor.actor(), ..OpenOptions::default() })?;
        let redacted = store.history().redact(first, last)?;
        drop(store);
        let versions = count(redacted, "version", "versions");
        print(format!("Redacted {versions}. {CIPHERTEXT_STAYS}").as_bytes())
    }
}

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
