//! A command of the memory tool as a head and a body.

use inmost::{StoreError, ToolCommand, ViewRange};
use serde::{Deserialize, Serialize};

use crate::body::{Wiped, join, malformed, take};

/// A command without its paths and texts.
#[derive(Serialize, Deserialize)]
pub(crate) enum CommandHead {
    View { view_range: Option<ViewRange> },
    Create,
    StrReplace { has_new_str: bool },
    Insert { insert_line: i64 },
    Delete,
    Rename,
    Search,
}

impl CommandHead {
    /// The head of a command and its body; `None` for a command that this version does not know, or that is too long.
    pub(crate) fn new(command: &ToolCommand) -> Option<(Self, Wiped)> {
        let (head, texts): (_, Vec<&str>) = match command {
            ToolCommand::View { path, view_range } => {
                (CommandHead::View { view_range: view_range.clone() }, vec![path])
            }
            ToolCommand::Create { path, file_text } => (CommandHead::Create, vec![path, file_text]),
            ToolCommand::StrReplace { path, old_str, new_str } => {
                let mut texts: Vec<&str> = vec![path, old_str];
                texts.extend(new_str.as_deref());
                (CommandHead::StrReplace { has_new_str: new_str.is_some() }, texts)
            }
            ToolCommand::Insert { path, insert_line, insert_text } => {
                (CommandHead::Insert { insert_line: *insert_line }, vec![path, insert_text])
            }
            ToolCommand::Delete { path } => (CommandHead::Delete, vec![path]),
            ToolCommand::Rename { old_path, new_path } => {
                (CommandHead::Rename, vec![old_path, new_path])
            }
            ToolCommand::Search { path, words } => (CommandHead::Search, vec![path, words]),
            _ => return None,
        };
        Some((head, join(&texts)?))
    }

    /// The command with the paths and texts of the body.
    pub(crate) fn with_texts(self, body: &[u8]) -> Result<ToolCommand, StoreError> {
        self.command(body).ok_or_else(|| malformed("a malformed command"))
    }

    fn command(self, body: &[u8]) -> Option<ToolCommand> {
        let mut rest = body;
        let mut next = || take(&mut rest).map(str::to_owned);
        let path = next()?;
        let command = match self {
            CommandHead::View { view_range } => ToolCommand::View { path, view_range },
            CommandHead::Create => ToolCommand::Create { path, file_text: next()? },
            CommandHead::StrReplace { has_new_str } => {
                let old_str = next()?;
                let new_str = if has_new_str { Some(next()?) } else { None };
                ToolCommand::StrReplace { path, old_str, new_str }
            }
            CommandHead::Insert { insert_line } => {
                ToolCommand::Insert { path, insert_line, insert_text: next()? }
            }
            CommandHead::Delete => ToolCommand::Delete { path },
            CommandHead::Rename => ToolCommand::Rename { old_path: path, new_path: next()? },
            CommandHead::Search => ToolCommand::Search { path, words: next()? },
        };
        rest.is_empty().then_some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_decodes_to_itself_and_a_truncated_one_is_refused() {
        let text = || "te\0xt".to_owned();
        for command in [
            ToolCommand::View { path: text(), view_range: Some(ViewRange::new(1, -1)) },
            ToolCommand::Create { path: text(), file_text: String::new() },
            ToolCommand::StrReplace { path: text(), old_str: text(), new_str: None },
            ToolCommand::StrReplace { path: text(), old_str: text(), new_str: Some(text()) },
            ToolCommand::Insert { path: text(), insert_line: -7, insert_text: text() },
            ToolCommand::Delete { path: text() },
            ToolCommand::Rename { old_path: text(), new_path: text() },
            ToolCommand::Search { path: text(), words: text() },
        ] {
            let new = || CommandHead::new(&command).unwrap();
            let body = new().1;
            let again = new().0.command(body.as_slice()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{command:?}"));
            let second = CommandHead::new(&again).unwrap();
            assert_eq!(second.1.as_slice(), body.as_slice());
            let cut = &body.as_slice()[..body.as_slice().len() - 1];
            assert!(new().0.command(cut).is_none(), "{command:?}");
        }
    }
}
