//! `inmost grep`

mod output;
mod place;

use clap::ArgAction;
use inmost::SearchQuery;

use self::output::Output;
use self::place::{Globs, Place};
use crate::args::StoreArgs;
use crate::completion;
use crate::exit::Failure;
use crate::memory_path::{self, ROOT};
use crate::store::opening::{OpenOptions, Readings};

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

    /// Match whole words only
    #[arg(short, long)]
    word_regexp: bool,

    /// Print the numbers of the lines, as is done without this option too
    #[arg(short = 'n', long)]
    line_number: bool,

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

    /// The pattern
    pattern: String,

    /// Files and folders to search; folders are searched recursively
    #[arg(value_name = "PATH", default_value = ROOT, value_parser = memory_path::parse, add = completion::memory_path())]
    paths: Vec<String>,
}

impl Grep {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Before the prompt for a passphrase.
        let query = self.query()?;
        let globs = Globs::parse(&self.glob)?;
        let store = self
            .store
            .open(&OpenOptions { readings: Readings::DoNotCount, ..OpenOptions::default() })?;
        let places = self.paths.iter().map(|path| Place::find(path, store.files()));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let mut output = Output::new(self, store.files());
        for place in places {
            for found in store.files().search(&place.base, query.clone()) {
                let found = found.map_err(|error| Failure::at(&place.base, error))?;
                if place.includes(found.path.as_str()) && globs.include(found.path.as_str()) {
                    output.add(found)?;
                }
            }
            output.finish_file()?;
        }
        if output.has_match { Ok(()) } else { Err(Failure::NoMatch) }
    }

    fn query(&self) -> Result<SearchQuery, Failure> {
        let given = if self.fixed_strings {
            SearchQuery::text(&self.pattern)
        } else {
            SearchQuery::regex(&self.pattern)
        };
        // Before it becomes a part of another pattern, whose parentheses it could close.
        given.check()?;
        let query = if self.word_regexp {
            let literal = self.pattern.escape_unicode().to_string();
            let pattern = if self.fixed_strings { &literal } else { &self.pattern };
            // As ripgrep does: the pattern may begin or end with something that is no part of a word.
            SearchQuery::regex(format!("\\b{{start-half}}(?:{pattern})\\b{{end-half}}"))
        } else {
            given
        };
        let matches = if self.files_with_matches { 1 } else { u64::MAX };
        let query = query.ignore_case(self.ignore_case).max_matches_per_file(matches);
        query.check()?;
        Ok(query)
    }

    /// Lines to print before and after a match.
    fn around(&self) -> (usize, usize) {
        let both = self.context.unwrap_or_default();
        (self.before_context.unwrap_or(both), self.after_context.unwrap_or(both))
    }

    /// Whether only files are printed, and no lines.
    fn prints_files(&self) -> bool {
        self.files_with_matches || self.count
    }
}
