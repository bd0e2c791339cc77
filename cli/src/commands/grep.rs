//! `inmost grep`

mod output;
mod place;

use clap::ArgAction;
use inmost::SearchQuery;

use std::io::{self, IsTerminal};

use self::output::Output;
use self::place::{Globs, Place};
use crate::args::StoreArgs;
use crate::completion;
use crate::exit::Failure;
use crate::memory_path::{self, ROOT};
use crate::store::opening::{OpenOptions, Readings};
use crate::style::ColorArgs;

/// Search the files of the memory for lines that match a pattern
///
/// Prints path:line:text for each match, in hidden files too. Text is decrypted only in memory. The pattern
/// is a regular expression in the syntax of Rust's regex crate. The line end, LF or CR LF, is not part of a line.
///
/// A path, or a glob of -g, may have *, ?, [a-z], {a,b} and ** for any number of folders; quote it, so that the shell leaves it
/// alone. A glob of -g without a slash is for the name of a file, wherever it is.
///
/// Exits with 0 if there is a match, with 1 if nothing matches, and with 19 if a path does not exist; then nothing is searched.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost grep --store notes.inmost -i 'tea|coffee'\n  \
    inmost grep --store notes.inmost -wC 2 pond 'garden/*.md'\n  \
    inmost grep --store notes.inmost -lF 'f(x)' -g '!*.log' projects")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that has to be given or not")]
pub(crate) struct Grep {
    #[command(flatten)]
    store: StoreArgs,

    /// Ignore the difference of upper and lower case
    #[arg(short, long)]
    ignore_case: bool,

    /// Ignore the difference of upper and lower case unless a pattern has an upper-case letter
    #[arg(short = 'S', long, conflicts_with = "ignore_case")]
    smart_case: bool,

    /// Match whole words only
    #[arg(short, long)]
    word_regexp: bool,

    /// Print the numbers of the lines, as is done without this option too
    #[arg(short = 'n', long)]
    line_number: bool,

    /// Print each match alone, instead of its line; of a line, the first 1,000
    #[arg(short, long, conflicts_with_all = ["files_with_matches", "count", "context", "before_context", "after_context"])]
    only_matching: bool,

    /// Print nothing, and end at the first match; the exit code is the result
    #[arg(short, long)]
    quiet: bool,

    /// Print only the paths of the files
    #[arg(short = 'l', long)]
    files_with_matches: bool,

    /// Print path:count for each file with a match
    #[arg(short, long, conflicts_with = "files_with_matches")]
    count: bool,

    /// Treat the pattern as plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,

    /// Print this many lines before and after each match, as path-line-text
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<usize>,

    /// Print this many lines before each match
    #[arg(short = 'B', long, value_name = "N")]
    before_context: Option<usize>,

    /// Print this many lines after each match
    #[arg(short = 'A', long, value_name = "N")]
    after_context: Option<usize>,

    /// Search only files that match this glob, or with a ! in front of it only others; can be given several times
    #[arg(short, long, value_name = "GLOB", action = ArgAction::Append)]
    glob: Vec<String>,

    /// Print one JSON object per line: path, and line and text, or count; lines around a match have context
    #[arg(long)]
    json: bool,

    /// Cut a line after this many characters, around its first match; 0 cuts none [default: 0, and 2000 at a terminal]
    #[arg(long, value_name = "N")]
    max_columns: Option<usize>,

    #[command(flatten)]
    color: ColorArgs,

    /// A pattern, in place of PATTERN; can be given several times, for lines that match any
    #[arg(short = 'e', long, value_name = "PATTERN", action = ArgAction::Append, allow_hyphen_values = true)]
    regexp: Vec<String>,

    /// The pattern; with -e, the first file or folder
    #[arg(required_unless_present = "regexp")]
    pattern: Option<String>,

    /// Files and folders to search, by default all; folders are searched recursively
    #[arg(value_name = "PATH", value_parser = memory_path::parse, add = completion::memory_path())]
    paths: Vec<String>,
}

impl Grep {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Before the prompt for a passphrase.
        let (patterns, mut paths) = self.patterns();
        if paths.is_empty() {
            paths.push(ROOT.to_owned());
        }
        let query = self.query(&patterns)?;
        let globs = Globs::parse(&self.glob)?;
        let store = self
            .store
            .open(&OpenOptions { readings: Readings::DoNotCount, ..OpenOptions::reading() })?;
        let places = paths.iter().map(|path| Place::find(path, store.files()));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let mut output = Output::new(self, store.files());
        for place in places {
            let is_wanted = |path: &str| place.includes(path) && globs.include(path);
            for found in store.files().search(&place.base, query.clone()) {
                let found = found.map_err(|error| Failure::at(&place.base, error))?;
                if is_wanted(found.path.as_str()) {
                    output.add(found)?;
                }
                if self.quiet && output.has_match {
                    return Ok(());
                }
            }
            output.finish_file()?;
        }
        if output.has_match { Ok(()) } else { Err(Failure::NoMatch) }
    }

    /// The patterns and the paths: the first word is a path if the patterns come from -e.
    fn patterns(&self) -> (Vec<String>, Vec<String>) {
        if self.regexp.is_empty() {
            return (self.pattern.iter().cloned().collect(), self.paths.clone());
        }
        let first = self.pattern.iter().filter_map(|path| memory_path::parse(path).ok());
        (self.regexp.clone(), first.chain(self.paths.iter().cloned()).collect())
    }

    fn query(&self, patterns: &[String]) -> Result<SearchQuery, Failure> {
        let given = |pattern: &String| {
            if self.fixed_strings {
                SearchQuery::text(pattern)
            } else {
                SearchQuery::regex(pattern)
            }
        };
        // Before it becomes a part of another pattern, whose parentheses it could close.
        patterns.iter().try_for_each(|pattern| given(pattern).check())?;
        let query = match patterns {
            [only] if !self.word_regexp => given(only),
            _ => {
                let regex = |pattern: &String| {
                    if self.fixed_strings {
                        pattern.escape_unicode().to_string()
                    } else {
                        format!("(?:{pattern})")
                    }
                };
                let any = patterns.iter().map(regex).collect::<Vec<_>>().join("|");
                // As ripgrep does: the pattern may begin or end with something that is no part of a word.
                SearchQuery::regex(if self.word_regexp {
                    format!("\\b{{start-half}}(?:{any})\\b{{end-half}}")
                } else {
                    any
                })
            }
        };
        let has_upper_case = || patterns.iter().any(|it| it.chars().any(char::is_uppercase));
        let ignores_case = self.ignore_case || self.smart_case && !has_upper_case();
        let is_first_enough = self.files_with_matches || self.quiet;
        let matches = if is_first_enough { 1 } else { u64::MAX };
        let query = query.ignore_case(ignores_case).max_matches_per_file(matches);
        query.check()?;
        Ok(query)
    }

    /// Lines to print before and after a match.
    fn around(&self) -> (usize, usize) {
        let both = self.context.unwrap_or_default();
        (self.before_context.unwrap_or(both), self.after_context.unwrap_or(both))
    }

    /// Characters of a line that are printed.
    fn columns(&self) -> usize {
        let at_terminal = if io::stdout().is_terminal() { TERMINAL_COLUMNS } else { 0 };
        match self.max_columns.unwrap_or(at_terminal) {
            0 => usize::MAX,
            most => most,
        }
    }

    /// Whether only files are printed, and no lines.
    fn prints_files(&self) -> bool {
        self.files_with_matches || self.count
    }
}

/// Longer lines would hide everything before them.
const TERMINAL_COLUMNS: usize = 2_000;
