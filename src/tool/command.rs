//! The six commands as types, for hosts that build them and for the parser of tool calls.

use super::error::ToolError;
use super::options::ToolOptions;
use inmost_format::secret::Wiped;
use std::fmt;
use std::ops::RangeInclusive;
use zeroize::Zeroize;

/// One call of the memory tool.
///
/// Field names are those of the tool. Nothing is checked yet: paths are as the model wrote them. The strings are wiped
/// on drop, so they cannot be moved out. `Debug` shows only the name of the command.
#[non_exhaustive]
pub enum ToolCommand {
    /// Shows a file with line numbers, or lists a folder.
    View {
        /// The path of a file or folder.
        path: String,
        /// The lines of a file to show; all if absent. Ignored for folders.
        view_range: Option<ViewRange>,
    },
    /// Writes a new file.
    Create {
        /// The path of the new file. It must not exist yet.
        path: String,
        /// The text, stored byte for byte.
        file_text: String,
    },
    /// Replaces a text that occurs exactly once.
    StrReplace {
        /// The path of the file.
        path: String,
        /// The text to replace. It may span lines.
        old_str: String,
        /// The replacement; if absent, `old_str` is deleted.
        new_str: Option<String>,
    },
    /// Inserts lines.
    Insert {
        /// The path of the file.
        path: String,
        /// The line to insert after, counted from 1; 0 inserts before the first line.
        insert_line: i64,
        /// The lines, with or without a final `\n`.
        insert_text: String,
    },
    /// Deletes a file, or a folder with everything below it.
    Delete {
        /// The path of the file or folder.
        path: String,
    },
    /// Moves a file or folder.
    Rename {
        /// The path of the file or folder to move.
        old_path: String,
        /// The destination. It must not exist yet.
        new_path: String,
    },
    /// Ranks files by words, in a result for the model. It is not one of the six commands, and no call parses to it: a host that
    /// offers search gives it a tool of its own, as `inmost mcp --search` does.
    Search {
        /// The path of the folder to search in.
        path: String,
        /// The words.
        words: String,
    },
}

impl ToolCommand {
    /// The source path and the destination path. They differ only for `rename`.
    pub(super) fn paths(&self) -> (&str, &str) {
        match self {
            Self::View { path, .. }
            | Self::Create { path, .. }
            | Self::StrReplace { path, .. }
            | Self::Insert { path, .. }
            | Self::Delete { path }
            | Self::Search { path, .. } => (path, path),
            Self::Rename { old_path, new_path } => (old_path, new_path),
        }
    }

    /// Refuses an invalid path, in the tool's words for the model.
    pub(crate) fn check_paths(&self, options: &ToolOptions) -> Result<(), ToolError> {
        let (source, target) = self.paths();
        options.parse_path(source)?;
        options.parse_path(target).map(drop)
    }

    /// The tool's name for the command.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::View { .. } => "view",
            Self::Create { .. } => "create",
            Self::StrReplace { .. } => "str_replace",
            Self::Insert { .. } => "insert",
            Self::Delete { .. } => "delete",
            Self::Rename { .. } => "rename",
            Self::Search { .. } => "search",
        }
    }
}

impl Drop for ToolCommand {
    fn drop(&mut self) {
        match self {
            Self::View { path, view_range: _ } | Self::Delete { path } => path.zeroize(),
            Self::Create { path, file_text: other }
            | Self::Insert { path, insert_line: _, insert_text: other }
            | Self::Rename { old_path: path, new_path: other }
            | Self::Search { path, words: other } => {
                path.zeroize();
                other.zeroize();
            }
            Self::StrReplace { path, old_str, new_str } => {
                path.zeroize();
                old_str.zeroize();
                new_str.zeroize();
            }
        }
    }
}

impl fmt::Debug for ToolCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.name()).finish_non_exhaustive()
    }
}

/// The lines that a `view` asks for.
///
/// A model may send anything here, and whether an invalid range is a failure depends on the kind of object at the path.
/// So an invalid range is kept too, in the form in which its error quotes it.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ViewRange(Sent);

#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Sent {
    Lines { start: i64, end: i64 },
    Anything { compact_json: Wiped<String> },
}

impl ViewRange {
    /// Lines `start` to `end`, both included and counted from 1. An `end` of -1 is the last line.
    #[must_use]
    pub fn new(start: i64, end: i64) -> Self {
        Self(Sent::Lines { start, end })
    }

    /// A range that is not two integers, as it was sent.
    pub(super) fn unreadable(compact_json: Wiped<String>) -> Self {
        Self(Sent::Anything { compact_json })
    }

    /// The requested lines of a file with `total` lines. Empty for an empty file.
    ///
    /// # Errors
    /// `InvalidViewRange` if the file does not have these lines.
    pub(crate) fn resolve(&self, total: u64) -> Result<RangeInclusive<u64>, ToolError> {
        self.lines_of(total)
            .ok_or_else(|| ToolError::InvalidViewRange { sent: self.sent(), lines: total })
    }

    fn lines_of(&self, total: u64) -> Option<RangeInclusive<u64>> {
        let Sent::Lines { start, end } = self.0 else { return None };
        let first = u64::try_from(start.max(1)).ok()?;
        let last = match end {
            -1 => total,
            _ => u64::try_from(end).ok().filter(|end| *end >= first)?.min(total),
        };
        // An empty file has only one valid range: the empty one.
        (first <= total.max(1)).then_some(first..=last)
    }

    fn sent(&self) -> String {
        match &self.0 {
            Sent::Lines { start, end } => format!("[{start},{end}]"),
            Sent::Anything { compact_json } => compact_json.as_str().to_owned(),
        }
    }
}

impl fmt::Debug for ViewRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewRange").finish_non_exhaustive()
    }
}

/// A parsed call of the memory tool: its command, or the reason why it is invalid. It comes from JSON or, with the
/// feature `serde`, from any other source of a map.
pub struct ToolCall {
    pub(super) tool_use_id: Option<String>,
    pub(super) command: Result<ToolCommand, ToolError>,
}

impl ToolCall {
    /// The id of the `tool_use` block, if a whole block with an id was sent. It is known even if the call is refused.
    #[must_use]
    pub fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }

    /// The command of the call.
    ///
    /// # Errors
    /// The reason why the call is invalid, in the tool's words for the model.
    pub fn command(&self) -> Result<&ToolCommand, &ToolError> {
        self.command.as_ref()
    }
}

/// A call that was not parsed, without an id.
impl From<ToolCommand> for ToolCall {
    fn from(command: ToolCommand) -> Self {
        Self { tool_use_id: None, command: Ok(command) }
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::ToolCommand as C;
    use super::*;
    use inmost_storage::every_variant;

    #[test]
    fn a_command_is_printed_without_its_fields() {
        let text = || "secret".to_owned();
        let view_range = Some(ViewRange::new(7, 8));
        let table = every_variant!(ToolCommand {
            C::View { .. } => [C::View { path: text(), view_range }, "view { .. }"];
            C::Create { .. } => [C::Create { path: text(), file_text: text() }, "create { .. }"];
            C::StrReplace { .. } => [
                C::StrReplace { path: text(), old_str: text(), new_str: Some(text()) },
                "str_replace { .. }"
            ];
            C::Insert { .. } => [
                C::Insert { path: text(), insert_line: 7, insert_text: text() },
                "insert { .. }"
            ];
            C::Delete { .. } => [C::Delete { path: text() }, "delete { .. }"];
            C::Rename { .. } => [C::Rename { old_path: text(), new_path: text() }, "rename { .. }"];
            C::Search { .. } => [C::Search { path: text(), words: text() }, "search { .. }"];
        });
        for (command, printed) in table {
            assert_eq!(format!("{command:?}"), printed);
        }
        assert_eq!(format!("{:?}", ViewRange::new(7, 8)), "ViewRange { .. }");
    }

    #[test]
    fn a_range_of_a_file_is_clamped_to_its_lines() {
        for ((start, end), total, expected) in [
            ((1, 3), 3, 1..=3),
            ((2, 2), 3, 2..=2),
            ((2, -1), 3, 2..=3),
            ((0, 1), 3, 1..=1),
            ((-7, 2), 3, 1..=2),
            ((i64::MIN, i64::MAX), 3, 1..=3),
            ((3, 100), 3, 3..=3),
        ] {
            assert_eq!(ViewRange::new(start, end).resolve(total), Ok(expected), "[{start},{end}]");
        }
    }

    #[test]
    fn an_empty_file_has_only_the_empty_range() {
        for (start, end) in [(1, -1), (0, 1), (-3, 9), (1, 1), (i64::MIN, i64::MAX)] {
            let lines = ViewRange::new(start, end).resolve(0).unwrap();
            assert!(lines.is_empty(), "[{start},{end}]");
        }
        for (start, end) in [(2, -1), (2, 2), (1, 0), (1, -2)] {
            assert!(ViewRange::new(start, end).resolve(0).is_err(), "[{start},{end}]");
        }
    }

    #[test]
    fn a_range_outside_the_file_is_refused_and_quoted_as_sent() {
        for (start, end) in [(1, 0), (1, -2), (3, 2), (4, 4), (4, -1), (9, 1), (1, i64::MIN)] {
            let sent = format!("[{start},{end}]");
            let expected = ToolError::InvalidViewRange { sent, lines: 3 };
            assert_eq!(ViewRange::new(start, end).resolve(3), Err(expected));
        }
        let sent = "{\"a\":1}".to_owned();
        let expected = ToolError::InvalidViewRange { sent: sent.clone(), lines: 0 };
        assert_eq!(ViewRange::unreadable(sent.into()).resolve(0), Err(expected));
    }

    #[test]
    fn debug_shows_the_command_and_no_content() {
        let command =
            ToolCommand::Create { path: "/memories/p".into(), file_text: "secret".into() };
        assert_eq!(format!("{command:?}"), "create { .. }");
    }
}
