//! `inmost grep`

use std::io::{self, IsTerminal};

use regex::{Regex, RegexBuilder};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::Input;
use crate::store::facts::Text;
use crate::style::{Piece, Style};
use crate::tree::{self, WalkEntry};
use crate::wiped::Wiped;
use crate::{display, json_line};

/// Search the files of the memory for lines that match a pattern
///
/// Prints path:line:text of each line that matches, hidden files' too; text is decrypted in memory alone. The pattern
/// is a regular expression as Rust's regex crate has them. The line end, LF or CR LF, is no part of a line.
///
/// Ends with 1 if nothing was found, in silence.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost grep --store notes.inmost -i 'tea|coffee'\n  \
    inmost grep --store notes.inmost -lF 'f(x)' /memories/projects")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that has to be given or not")]
pub(crate) struct Grep {
    #[command(flatten)]
    store: StoreArgs,

    /// Upper and lower case are the same
    #[arg(short, long)]
    ignore_case: bool,

    /// Print the paths of the files alone
    #[arg(short = 'l', long)]
    files_with_matches: bool,

    /// Print path:count for each file in which something was found
    #[arg(short, long, conflicts_with = "files_with_matches")]
    count: bool,

    /// The pattern is plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,

    /// Print one JSON object a line: path, and line and text, or count
    #[arg(long)]
    json: bool,

    /// What to look for
    pattern: String,

    /// Files, or folders to search with everything below them
    #[arg(value_name = "PATH", default_value = "/memories")]
    paths: Vec<String>,
}

impl Grep {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let search = Search { args: self, pattern: self.pattern()?, style: Style::of_output() };
        let mut is_found = false;
        self.store.with_store(Input::Free, |store| {
            for path in &self.paths {
                tree::walk_files(store, path, |file, text| {
                    let lines = search.file(file, text)?;
                    is_found |= lines.is_some();
                    lines.map_or(Ok(()), |lines| print(lines.expose()))
                })?;
            }
            Ok(())
        })?;
        if is_found { Ok(()) } else { Err(Failure::NoMatch) }
    }

    fn pattern(&self) -> Result<Regex, Failure> {
        let escaped = self.fixed_strings.then(|| regex::escape(&self.pattern));
        RegexBuilder::new(escaped.as_ref().unwrap_or(&self.pattern))
            .case_insensitive(self.ignore_case)
            .build()
            .map_err(|error| {
                // The lines before the last one point into the pattern.
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                Failure::usage(
                    format!("The pattern is not valid: {}.", reason.trim_start_matches("error: ")),
                    "Add -F if it is plain text.",
                )
            })
    }
}

struct Search<'a> {
    args: &'a Grep,
    pattern: Regex,
    style: Style,
}

impl Search<'_> {
    /// What to print of a file; `None` if nothing was found in it.
    fn file(&self, file: &WalkEntry, text: &Text) -> Result<Option<Wiped>, Failure> {
        let mut hits =
            (1..).zip(lines(text.as_str())).filter(|(_, line)| self.pattern.is_match(line));
        let Some(first) = hits.next() else { return Ok(None) };
        let mut out = Wiped::new();
        if self.args.files_with_matches {
            self.tell(file, None, None, &mut out)?;
        } else if self.args.count {
            let count = hits.count().saturating_add(1);
            self.tell(file, Some(count), None, &mut out)?;
        } else {
            for (number, line) in std::iter::once(first).chain(hits) {
                self.tell(file, Some(number), Some(line), &mut out)?;
            }
        }
        Ok(Some(out))
    }

    /// One line of output: with the text of a line, the number is that line's, else it is a count.
    fn tell(
        &self,
        file: &WalkEntry,
        number: Option<usize>,
        text: Option<&str>,
        out: &mut Wiped,
    ) -> Result<(), Failure> {
        if self.args.json {
            let (line, count) = if text.is_some() { (number, None) } else { (None, number) };
            return json_line::append(&Hit { path: &file.path, line, text, count }, out);
        }
        self.style.paint(Piece::Path, display::path(&file.path).as_bytes(), out);
        if let Some(number) = number {
            out.append(b":");
            self.style.paint(Piece::Number, number.to_string().as_bytes(), out);
        }
        if let Some(text) = text {
            out.append(b":");
            self.mark(text, out);
        }
        out.append(b"\n");
        Ok(())
    }

    /// The text, with what matches marked.
    fn mark(&self, text: &str, out: &mut Wiped) {
        let is_watched = io::stdout().is_terminal();
        let mut piece = |part: Option<&str>, piece: Option<Piece>| {
            let part = part.unwrap_or_default();
            let safe = is_watched.then(|| display::text(part));
            let part = safe.as_ref().map_or(part.as_bytes(), Wiped::expose);
            match piece {
                Some(piece) if !part.is_empty() => self.style.paint(piece, part, out),
                _ => out.append(part),
            }
        };
        let mut at = 0;
        for found in self.pattern.find_iter(text) {
            piece(text.get(at..found.start()), None);
            piece(Some(found.as_str()), Some(Piece::Match));
            at = found.end();
        }
        piece(text.get(at..), None);
    }
}

/// A final line feed opens no line. Does no I/O.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').map(|line| {
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    })
}

/// A line of JSON.
#[derive(Serialize)]
struct Hit<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
}
