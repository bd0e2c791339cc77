//! The contract of the memory tool, written down a second time and as simply as possible: a map from
//! canonical paths to texts, and the sentences.
//!
//! Nothing here uses what it is to check: paths are parsed, lines counted and hits found by naive code of its own.

mod naive;
mod tree;
mod view;

pub(super) use naive::{Refused, canonical, hits, insertion, lines, numbered, size};
pub(super) use tree::{Memory, Rules, Why};

use super::ops::{Call, Range};

/// What a call should answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// A success, letter for letter.
    Done(String),
    /// A failure, letter for letter.
    Failed(String),
    /// A failure that begins like this and goes on with a reason in free words.
    FailedFor(String),
}

impl Answer {
    /// Whether this is what was answered.
    pub(super) fn is(&self, content: &str, is_error: bool) -> bool {
        match self {
            Self::Done(text) => !is_error && content == text,
            Self::Failed(text) => is_error && content == text,
            Self::FailedFor(start) => {
                is_error && content.strip_prefix(start.as_str()).is_some_and(|why| !why.is_empty())
            }
        }
    }
}

impl Memory {
    /// Answers a tool call, and changes the memory if it succeeds.
    pub(super) fn call(&mut self, call: &Call) -> Answer {
        let result = match call {
            Call::View { path, range } => self.view(path, range),
            Call::Create { path, text } => self.create(path, text),
            Call::StrReplace { path, old, new } => {
                self.str_replace(path, old, new.as_deref().unwrap_or(""))
            }
            Call::Insert { path, line, text } => self.insert(path, *line, text),
            Call::Delete { path } => self.delete(path),
            Call::Rename { old, new } => self.rename(old, new),
        };
        match result {
            Ok(text) => Answer::Done(text),
            Err(failure) => failure,
        }
    }

    fn view(&self, sent: &str, range: &Range) -> Result<String, Answer> {
        let path = parse(sent)?;
        if self.is_folder(&path) {
            return Ok(self.view_folder(&path));
        }
        let missing = || {
            let sent = echo(sent);
            Answer::Failed(format!("The path {sent} does not exist. Please provide a valid path."))
        };
        let text = self.files.get(&path).ok_or_else(missing)?;
        view::file(&self.rules, &path, text, range)
    }

    fn create(&mut self, sent: &str, text: &str) -> Result<String, Answer> {
        let path = parse(sent)?;
        self.writable()?;
        self.put(&path, text, self.rules.create_overwrites).map_err(|why| failure(why, sent))?;
        Ok(format!("File created successfully at: {}", echo(sent)))
    }

    fn str_replace(&mut self, sent: &str, old: &str, new: &str) -> Result<String, Answer> {
        let path = parse(sent)?;
        self.writable()?;
        let path_echo = echo(sent);
        let Some(text) = self.files.get(&path).cloned() else {
            return Err(Answer::Failed(format!(
                "Error: The path {path_echo} does not exist. Please provide a valid path."
            )));
        };
        if old.is_empty() {
            let text = "Error: The `old_str` parameter must not be empty.";
            return Err(Answer::Failed(text.to_owned()));
        }
        let at = match hits(&text, old).as_slice() {
            [] => {
                return Err(Answer::Failed(format!(
                    "No replacement was performed, old_str `{old}` did not appear verbatim in {path_echo}."
                )));
            }
            [at] => *at,
            several => {
                let mut numbers: Vec<_> =
                    several.iter().map(|at| newlines(&text[..*at]) + 1).collect();
                numbers.dedup();
                let numbers: Vec<_> = numbers.iter().map(usize::to_string).collect();
                return Err(Answer::Failed(format!(
                    "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
                    numbers.join(", ")
                )));
            }
        };
        let changed = [&text[..at], new, &text[at + old.len()..]].concat();
        let start = newlines(&text[..at]) + 1;
        let end = start + newlines(new);
        self.change(&path, &changed).map_err(|why| failure(why, sent))?;
        Ok(view::snippet(&self.rules, &changed, start, end))
    }

    fn insert(&mut self, sent: &str, line: i64, text: &str) -> Result<String, Answer> {
        let path = parse(sent)?;
        self.writable()?;
        let Some(old) = self.files.get(&path).cloned() else {
            return Err(failure(Why::Missing, sent));
        };
        let count = lines(&old).len();
        let Some(line) = usize::try_from(line).ok().filter(|line| *line <= count) else {
            return Err(Answer::Failed(format!(
                "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {count}]"
            )));
        };
        let changed = insertion(&old, line, text);
        self.change(&path, &changed).map_err(|why| failure(why, sent))?;
        Ok(format!("The file {} has been edited.", echo(sent)))
    }

    fn delete(&mut self, sent: &str) -> Result<String, Answer> {
        let path = parse(sent)?;
        self.writable()?;
        self.remove(&path).map_err(|why| match why {
            Why::Root => {
                Answer::Failed("Error: Cannot delete the /memories directory itself".to_owned())
            }
            why => failure(why, sent),
        })?;
        Ok(format!("Successfully deleted {}", echo(sent)))
    }

    fn rename(&mut self, old_sent: &str, new_sent: &str) -> Result<String, Answer> {
        let old = parse(old_sent)?;
        let new = parse(new_sent)?;
        self.writable()?;
        self.move_to(&old, &new).map_err(|why| match why {
            Why::Root => {
                Answer::Failed("Error: Cannot rename the /memories directory itself".to_owned())
            }
            Why::Exists => {
                Answer::Failed(format!("Error: The destination {} already exists", echo(new_sent)))
            }
            Why::IntoItself => {
                Answer::Failed(format!("Error: Cannot move {} into itself", echo(old_sent)))
            }
            Why::Missing => failure(why, old_sent),
            why => failure(why, new_sent),
        })?;
        Ok(format!("Successfully renamed {} to {}", echo(old_sent), echo(new_sent)))
    }

    fn writable(&self) -> Result<(), Answer> {
        if self.rules.read_only {
            return Err(Answer::Failed("Error: Memory is read-only.".to_owned()));
        }
        Ok(())
    }
}

/// The failures that read the same in several commands.
fn failure(why: Why, sent: &str) -> Answer {
    let path = echo(sent);
    match why {
        Why::Exists | Why::Root => Answer::Failed(format!("Error: File {path} already exists")),
        Why::Missing | Why::IntoItself => {
            Answer::Failed(format!("Error: The path {path} does not exist"))
        }
        Why::ParentIsFile(file) => {
            Answer::Failed(format!("Error: {file} is a file, not a directory"))
        }
        Why::PathBelow => Answer::FailedFor(format!("Error: Invalid path {path}: ")),
        Why::FileTooLarge(limit) => Answer::Failed(format!(
            "Error: File {path} would exceed the maximum size of {limit} bytes."
        )),
        Why::TooManyFiles | Why::TooMuchText => {
            Answer::FailedFor("Error: Memory is full: ".to_owned())
        }
    }
}

fn parse(sent: &str) -> Result<String, Answer> {
    let path = echo(sent);
    canonical(sent).map_err(|refused| match refused {
        Refused::Prefix => {
            Answer::Failed(format!("Error: Path must start with /memories, got: {path}"))
        }
        Refused::Escape => {
            Answer::Failed(format!("Error: Path {path} would escape /memories directory"))
        }
        Refused::Invalid => Answer::FailedFor(format!("Error: Invalid path {path}: ")),
    })
}

/// What was sent with exactly one final `/` removed; `/` alone stays.
fn echo(sent: &str) -> &str {
    if sent == "/" { sent } else { sent.strip_suffix('/').unwrap_or(sent) }
}

fn newlines(text: &str) -> usize {
    text.matches('\n').count()
}
