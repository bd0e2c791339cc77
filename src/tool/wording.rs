//! Every text that the model can read, and nothing else.
//!
//! The strings are the contract's, letter for letter, because models were trained on them. Arguments are text that the
//! model sent, canonical paths, or numbers. No host data can get in, because no parameter takes it. Texts that quote
//! memory or a path are wiped on drop. Some failures begin with `Error: ` and some do not, as in the tool's
//! documentation.

use super::error::{ExceededQuota, ToolError};
use crate::vfs::FileText;
use crate::vfs::text::Shown;
use inmost_format::secret;
use inmost_format::secret::Wiped;

/// Reasons why a tool input is not a call, for [`invalid_input`].
pub(super) mod reason {
    pub(crate) const NOT_JSON: &str = "it is not valid JSON";
    pub(crate) const NOT_AN_OBJECT: &str = "it is not a JSON object";
    pub(crate) const UNPAIRED_SURROGATE: &str = "it holds an unpaired surrogate";
    pub(crate) const ANOTHER_TOOL: &str = "it is a call of another tool, not of memory";
    pub(crate) const NO_INPUT: &str = "its input is not a JSON object";
}

/// As `format!`, but into a buffer of the final size, which is wiped.
macro_rules! sentence {
    ($($arguments:tt)+) => { secret::format(format_args!($($arguments)+)) };
}

// Results.

pub(super) fn folder_header(path: &str) -> Wiped<String> {
    sentence!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items \
         and node_modules:"
    )
}

pub(super) fn more_entries(hidden: u64) -> Wiped<String> {
    sentence!("[{hidden} more entries not shown. View a sub-directory to see them.]")
}

pub(super) fn file_header(path: &str) -> Wiped<String> {
    sentence!("Here's the content of {path} with line numbers:")
}

/// The first line of a search. The format is this project's own: the contract has no search.
pub(super) fn search_header(path: &str, shown: usize, found: usize) -> Wiped<String> {
    match found {
        0 => sentence!("No file below {path} has any of these words."),
        _ if shown < found => {
            sentence!(
                "The best {shown} of {found} files below {path} that have any of these words:"
            )
        }
        _ => sentence!("The files below {path} that have any of these words, the best first:"),
    }
}

pub(super) fn no_search_words() -> Wiped<String> {
    sentence!("There is no word to search for.")
}

/// A file that was found, and lines of it as a view shows them.
pub(super) fn found_file(path: &str, lines: &[(u64, FileText)]) -> Wiped<String> {
    let mut text = sentence!("\n{path}");
    for (number, line) in lines {
        text.append(&format!("\n{number:>6}\t"));
        text.append(line.as_str());
    }
    text
}

pub(super) fn damaged_file(path: &str) -> Wiped<String> {
    sentence!("\n[Not searched, because it is damaged: {path}]")
}

/// The notice after a view that shows only a part of the lines `first` to `last` of `total`.
pub(super) fn cut_notice(shown: Shown, first: u64, last: u64, total: u64) -> Option<String> {
    let rest = |next: u64| format!(" Use view_range [{next}, {last}] to see more.");
    match shown {
        Shown::All => None,
        Shown::Lines { last: end } => {
            let rest = rest(end.saturating_add(1));
            Some(format!("[Showing lines {first}-{end} of {total}.{rest}]"))
        }
        Shown::PartOfFirstLine { characters, shown } => {
            let rest = if first < last { rest(first.saturating_add(1)) } else { String::new() };
            Some(format!(
                "[Line {first} has {characters} characters; showing the first {shown}.{rest}]"
            ))
        }
    }
}

pub(super) fn created(path: &str) -> Wiped<String> {
    sentence!("File created successfully at: {path}")
}

/// The text before the numbered lines of a snippet. It ends in `\n` even if no line follows.
pub(super) fn edited_with_snippet() -> &'static str {
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
}

pub(super) fn inserted(path: &str) -> Wiped<String> {
    sentence!("The file {path} has been edited.")
}

pub(super) fn deleted(path: &str) -> Wiped<String> {
    sentence!("Successfully deleted {path}")
}

/// The sentence of the SDK's own tool.
pub(super) fn cleared() -> &'static str {
    "All memory cleared"
}

pub(super) fn renamed(old_path: &str, new_path: &str) -> Wiped<String> {
    sentence!("Successfully renamed {old_path} to {new_path}")
}

/// The last line of a result if something was redacted.
pub(super) fn redacted(count: usize, kinds: &[&str]) -> Wiped<String> {
    let kinds = kinds.join(", ");
    sentence!("[{count} redacted: {kinds}]")
}

// Failures.

impl ToolError {
    /// The exact content of the tool result.
    pub(crate) fn sentence(&self) -> Wiped<String> {
        match self {
            Self::InvalidInput { reason } => sentence!("Error: Invalid tool input: {reason}"),
            Self::UnknownCommand { command } => sentence!(
                "Error: Unknown command: {command}. Valid commands: view, create, str_replace, \
                 insert, delete, rename"
            ),
            Self::MissingParameter { field, command } => {
                sentence!("Error: Missing required parameter `{field}` for command {command}")
            }
            Self::WrongType { field, expected } => {
                sentence!("Error: Invalid parameter `{field}`: expected {expected}")
            }
            Self::OutsideRoot { path } => {
                sentence!("Error: Path must start with /memories, got: {path}")
            }
            Self::Escape { path } => {
                sentence!("Error: Path {path} would escape /memories directory")
            }
            Self::InvalidPath { path, reason } => sentence!("Error: Invalid path {path}: {reason}"),
            Self::InvalidViewRange { sent, lines } => sentence!(
                "Error: Invalid `view_range`: {sent}. It should be two integers within the lines \
                 of the file: [1, {lines}]"
            ),
            Self::TooManyLines { path } => {
                sentence!("File {path} exceeds maximum line limit of 999,999 lines.")
            }
            Self::NothingToView { path } => {
                sentence!("The path {path} does not exist. Please provide a valid path.")
            }
            Self::NothingToEdit { path } => {
                sentence!("Error: The path {path} does not exist. Please provide a valid path.")
            }
            Self::NotFound { path } => sentence!("Error: The path {path} does not exist"),
            Self::AlreadyExists { path } => sentence!("Error: File {path} already exists"),
            Self::ParentIsFile { file } => sentence!("Error: {file} is a file, not a directory"),
            Self::EmptyOldStr => sentence!("Error: The `old_str` parameter must not be empty."),
            Self::NoOccurrence { old_str, path, near } => no_occurrence(old_str, path, *near),
            Self::SeveralOccurrences { old_str, lines, more } => {
                several_occurrences(old_str, lines, *more)
            }
            Self::InvalidInsertLine { insert_line, lines } => sentence!(
                "Error: Invalid `insert_line` parameter: {insert_line}. It should be within the \
                 range of lines of the file: [0, {lines}]"
            ),
            Self::DeleteRoot => sentence!("Error: Cannot delete the /memories directory itself"),
            Self::RenameRoot => sentence!("Error: Cannot rename the /memories directory itself"),
            Self::DestinationExists { new_path } => {
                sentence!("Error: The destination {new_path} already exists")
            }
            Self::IntoItself { old_path } => sentence!("Error: Cannot move {old_path} into itself"),
            Self::FileTooLarge { path, limit } => {
                sentence!("Error: File {path} would exceed the maximum size of {limit} bytes.")
            }
            Self::MemoryFull(full) => memory_full(*full),
            Self::ReadOnly => sentence!("Error: Memory is read-only."),
            Self::Screened { kinds } => {
                let kinds = kinds.join(", ");
                sentence!(
                    "Error: Not saved: the text contains {kinds}. Leave it out and try again."
                )
            }
        }
    }
}

fn no_occurrence(old_str: &str, path: &str, near: Option<u64>) -> Wiped<String> {
    let old_str = shortened(old_str);
    let hint = near.map_or_else(String::new, |line| {
        format!("\n[Line {line} differs from it only in spaces, tabs or quotes.]")
    });
    sentence!(
        "No replacement was performed, old_str `{}` did not appear verbatim in {path}.{hint}",
        *old_str
    )
}

/// The beginning of a long text, and how long it is.
fn shortened(text: &str) -> Wiped<String> {
    match text.char_indices().nth(QUOTED_CHARACTERS) {
        None => sentence!("{text}"),
        Some((end, _)) => {
            let (start, _) = text.split_at_checked(end).unwrap_or_default();
            sentence!("{start}… ({} characters)", text.chars().count())
        }
    }
}

/// Characters of `old_str` that an error quotes: a model knows what it has sent.
const QUOTED_CHARACTERS: usize = 1_000;

fn several_occurrences(old_str: &str, lines: &[u64], more: u64) -> Wiped<String> {
    let lines = lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let old_str = shortened(old_str);
    sentence!(
        "No replacement was performed. Multiple occurrences of old_str `{}` in lines: \
         {lines}{more}. Please ensure it is unique",
        *old_str
    )
}

fn memory_full(full: ExceededQuota) -> Wiped<String> {
    let reason = match full {
        ExceededQuota::Files(limit) => format!("it may hold at most {limit} files"),
        ExceededQuota::Bytes(limit) => format!("it may hold at most {limit} bytes of text"),
        ExceededQuota::Shared => "there is no room left".to_owned(),
    };
    sentence!("Error: Memory is full: {reason}")
}

/// The text for a locked store, with the host's sentence on how to unlock it.
pub(super) fn locked(hint: Option<&str>) -> Wiped<String> {
    match hint {
        Some(hint) => sentence!("Error: Memory is locked. {hint}"),
        None => sentence!("Error: Memory is locked."),
    }
}

/// The text for a change whose outcome is unknown.
pub(super) fn outcome_unknown() -> &'static str {
    "Error: It is unknown whether this change was saved. View the file before you try again."
}

/// The text for any other failure of the store.
pub(super) fn unavailable() -> &'static str {
    "Error: Memory is unavailable."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_the_sentences_of_the_contract() {
        for (sentence, expected) in [
            (
                folder_header("/memories/a"),
                "Here're the files and directories up to 2 levels deep in /memories/a, excluding hidden items and node_modules:",
            ),
            (more_entries(7), "[7 more entries not shown. View a sub-directory to see them.]"),
            (file_header("/memories/a"), "Here's the content of /memories/a with line numbers:"),
            (created("/memories/a"), "File created successfully at: /memories/a"),
            (
                edited_with_snippet().to_owned().into(),
                "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n",
            ),
            (inserted("/memories/a"), "The file /memories/a has been edited."),
            (deleted("/memories/a"), "Successfully deleted /memories/a"),
            (renamed("/memories/a", "/b"), "Successfully renamed /memories/a to /b"),
            (redacted(1, &["IBAN"]), "[1 redacted: IBAN]"),
            (redacted(3, &["API key", "IBAN"]), "[3 redacted: API key, IBAN]"),
            (unavailable().to_owned().into(), "Error: Memory is unavailable."),
        ] {
            assert_eq!(*sentence, expected);
        }
    }

    #[test]
    fn a_cut_view_ends_in_a_notice() {
        let part = Shown::PartOfFirstLine { characters: 20_000, shown: 16_000 };
        for (shown, first, last, total, expected) in [
            (Shown::All, 1, 9, 9, None),
            (
                Shown::Lines { last: 5 },
                1,
                9,
                9,
                Some("[Showing lines 1-5 of 9. Use view_range [6, 9] to see more.]"),
            ),
            (
                Shown::Lines { last: 3 },
                3,
                7,
                9,
                Some("[Showing lines 3-3 of 9. Use view_range [4, 7] to see more.]"),
            ),
            (part, 9, 9, 9, Some("[Line 9 has 20000 characters; showing the first 16000.]")),
            (part, 4, 4, 9, Some("[Line 4 has 20000 characters; showing the first 16000.]")),
            (
                part,
                4,
                8,
                9,
                Some(
                    "[Line 4 has 20000 characters; showing the first 16000. Use view_range [5, 8] to see more.]",
                ),
            ),
        ] {
            assert_eq!(cut_notice(shown, first, last, total).as_deref(), expected);
        }
    }

    #[test]
    fn the_number_in_the_sentence_is_that_of_the_limit() {
        assert_eq!(crate::limits::VIEW_LINES, 999_999);
    }
}
