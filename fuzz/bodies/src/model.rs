//! A second, simple implementation of the memory tool's contract: a map from canonical paths to texts, and
//! the messages.
//!
//! It does not use the library, because the library is compared with it.

pub(crate) mod aging;
mod going_back;
pub(crate) mod lookup;
mod outcome;
pub(crate) mod past;
mod tree;
mod view;

pub(crate) use going_back::Refusal;
pub(crate) use outcome::Outcome;
pub(crate) use tree::{Memory, Rules, Why};

use crate::naive::{Refused, canonical, hits, insertion, lines, near_line, newlines, shortened};
use crate::tool_call::{Range, ToolCall};

impl Memory {
    /// Runs a tool call: returns its outcome, and changes the memory if it succeeds.
    pub(crate) fn call(&mut self, call: &ToolCall) -> Outcome {
        self.past.channel = inmost::VersionChannel::Tool;
        let result = match call {
            ToolCall::View { path, range } => self.view(path, range),
            ToolCall::Create { path, text } => self.create(path, text),
            ToolCall::StrReplace { path, old, new } => {
                self.str_replace(path, old, new.as_deref().unwrap_or(""))
            }
            ToolCall::Insert { path, line, text } => self.insert(path, *line, text),
            ToolCall::Delete { path } => self.delete(path),
            ToolCall::Rename { old, new } => self.rename(old, new),
        };
        match result {
            Ok(text) => Outcome::Done(text),
            Err(failure) => failure,
        }
    }

    fn view(&self, sent: &str, range: &Range) -> Result<String, Outcome> {
        let path = parse(sent)?;
        if self.is_folder(&path) {
            return Ok(self.view_folder(&path));
        }
        let missing = || {
            let sent = echo(sent);
            Outcome::Failed(format!("The path {sent} does not exist. Please provide a valid path."))
        };
        let text = self.files.get(&path).ok_or_else(missing)?;
        view::file(&self.rules, &path, text, range)
    }

    fn create(&mut self, sent: &str, text: &str) -> Result<String, Outcome> {
        let path = parse(sent)?;
        self.writable()?;
        self.put(&path, text, self.rules.create_overwrites).map_err(|why| failure(why, sent))?;
        Ok(format!("File created successfully at: {}", echo(sent)))
    }

    fn str_replace(&mut self, sent: &str, old: &str, new: &str) -> Result<String, Outcome> {
        let path = parse(sent)?;
        self.writable()?;
        let path_echo = echo(sent);
        let Some(text) = self.files.get(&path).cloned() else {
            return Err(Outcome::Failed(format!(
                "Error: The path {path_echo} does not exist. Please provide a valid path."
            )));
        };
        if old.is_empty() {
            let text = "Error: The `old_str` parameter must not be empty.";
            return Err(Outcome::Failed(text.to_owned()));
        }
        let at = match hits(&text, old).as_slice() {
            [] => {
                let old_str = shortened(old);
                let hint = near_line(&text, old).map_or_else(String::new, |line| {
                    format!("\n[Line {line} differs from it only in spaces, tabs or quotes.]")
                });
                return Err(Outcome::Failed(format!(
                    "No replacement was performed, old_str `{old_str}` did not appear verbatim in {path_echo}.{hint}"
                )));
            }
            [at] => *at,
            several => {
                let mut numbers: Vec<_> =
                    several.iter().map(|at| newlines(&text[..*at]) + 1).collect();
                numbers.dedup();
                let more = match numbers.len().saturating_sub(100) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let numbers: Vec<_> = numbers.iter().take(100).map(usize::to_string).collect();
                let old_str = shortened(old);
                return Err(Outcome::Failed(format!(
                    "No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {}{more}. Please ensure it is unique",
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

    fn insert(&mut self, sent: &str, line: i64, text: &str) -> Result<String, Outcome> {
        let path = parse(sent)?;
        self.writable()?;
        let Some(old) = self.files.get(&path).cloned() else {
            return Err(failure(Why::Missing, sent));
        };
        let count = lines(&old).len();
        let Some(line) = usize::try_from(line).ok().filter(|line| *line <= count) else {
            return Err(Outcome::Failed(format!(
                "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {count}]"
            )));
        };
        let changed = insertion(&old, line, text);
        self.change(&path, &changed).map_err(|why| failure(why, sent))?;
        Ok(format!("The file {} has been edited.", echo(sent)))
    }

    fn delete(&mut self, sent: &str) -> Result<String, Outcome> {
        let path = parse(sent)?;
        self.writable()?;
        self.remove(&path).map_err(|why| match why {
            Why::Root => {
                Outcome::Failed("Error: Cannot delete the /memories directory itself".to_owned())
            }
            why => failure(why, sent),
        })?;
        Ok(format!("Successfully deleted {}", echo(sent)))
    }

    fn rename(&mut self, old_sent: &str, new_sent: &str) -> Result<String, Outcome> {
        let old = parse(old_sent)?;
        let new = parse(new_sent)?;
        self.writable()?;
        self.move_to(&old, &new).map_err(|why| match why {
            Why::Root => {
                Outcome::Failed("Error: Cannot rename the /memories directory itself".to_owned())
            }
            Why::Exists => {
                Outcome::Failed(format!("Error: The destination {} already exists", echo(new_sent)))
            }
            Why::IntoItself => {
                Outcome::Failed(format!("Error: Cannot move {} into itself", echo(old_sent)))
            }
            Why::Missing => failure(why, old_sent),
            why => failure(why, new_sent),
        })?;
        Ok(format!("Successfully renamed {} to {}", echo(old_sent), echo(new_sent)))
    }

    fn writable(&self) -> Result<(), Outcome> {
        if self.rules.read_only {
            return Err(Outcome::Failed("Error: Memory is read-only.".to_owned()));
        }
        Ok(())
    }
}

/// The failures that have the same wording in several commands.
fn failure(why: Why, sent: &str) -> Outcome {
    let path = echo(sent);
    match why {
        Why::Exists | Why::Root => Outcome::Failed(format!("Error: File {path} already exists")),
        Why::Missing | Why::IntoItself => {
            Outcome::Failed(format!("Error: The path {path} does not exist"))
        }
        Why::ParentIsFile(file) => {
            Outcome::Failed(format!("Error: {file} is a file, not a directory"))
        }
        Why::PathBelow => Outcome::FailedFor(format!("Error: Invalid path {path}: ")),
        Why::FileTooLarge(limit) => Outcome::Failed(format!(
            "Error: File {path} would exceed the maximum size of {limit} bytes."
        )),
        Why::TooManyFiles | Why::TooMuchText => {
            Outcome::FailedFor("Error: Memory is full: ".to_owned())
        }
    }
}

fn parse(sent: &str) -> Result<String, Outcome> {
    let path = echo(sent);
    canonical(sent).map_err(|refused| match refused {
        Refused::Prefix => {
            Outcome::Failed(format!("Error: Path must start with /memories, got: {path}"))
        }
        Refused::Escape => {
            Outcome::Failed(format!("Error: Path {path} would escape /memories directory"))
        }
        Refused::Invalid => Outcome::FailedFor(format!("Error: Invalid path {path}: ")),
    })
}

/// The path that was sent, without one final `/`; `/` alone stays.
fn echo(sent: &str) -> &str {
    if sent == "/" { sent } else { sent.strip_suffix('/').unwrap_or(sent) }
}
