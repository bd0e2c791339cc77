//! The commands that messages offer, such as `inmost unlock`. As they are printed they run: they select the store that this
//! command line selected.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::display;

/// An option that selects the store, and its value; `None` if nobody can type it as it would be shown.
type Given = (&'static str, Option<String>);

/// The description of the command line, and the options that select the store.
static GIVEN: OnceLock<(Command, Vec<Given>)> = OnceLock::new();

/// The options that an offered command takes over. Variables of the environment are there for it as well.
const KEPT: [&str; 3] = ["store", "anchor", "keyfile"];

/// Remembers how this command line selects its store.
pub(crate) fn remember(program: Command, mut given: &ArgMatches) {
    while let Some((_, deeper)) = given.subcommand() {
        given = deeper;
    }
    let value = |name: &'static str| {
        // A command without a store ignores the options.
        let value = given.try_get_one::<PathBuf>(name).ok().flatten()?;
        let is_plain = |value: &&str| !value.chars().any(display::needs_escape);
        let value = value.to_str().filter(is_plain).map(str::to_owned);
        let is_typed = given.value_source(name) == Some(ValueSource::CommandLine);
        is_typed.then_some((name, value))
    };
    let values = KEPT.into_iter().filter_map(value).collect();
    let _ = GIVEN.set((program, values));
}

/// The text with every command in backquotes completed by the options that select the store.
pub(crate) fn runnable(text: &str) -> Cow<'_, str> {
    match GIVEN.get() {
        Some((program, values)) if !values.is_empty() => {
            Cow::Owned(complete(text, program, values))
        }
        _ => Cow::Borrowed(text),
    }
}

fn complete(text: &str, program: &Command, values: &[Given]) -> String {
    let mut pieces: Vec<String> = Vec::new();
    let mut after = "";
    for (number, piece) in text.split('`').enumerate() {
        let is_command = number % 2 == 1 && piece.starts_with("inmost ");
        let completed = is_command.then(|| with_options(piece, program, values));
        let is_open = is_command && completed == Some(None);
        pieces.push(completed.flatten().unwrap_or_else(|| format!("{after}{piece}")));
        after = if is_open { " with the same options" } else { "" };
    }
    pieces.join("`")
}

/// A command with those of the options that it takes, behind its name, where no other option or path is in the way. `None` if
/// one of them cannot be typed.
fn with_options(offered: &str, program: &Command, values: &[Given]) -> Option<String> {
    let (mut command, mut end) = (program, "inmost".len());
    for word in offered.split_inclusive(' ').skip(1) {
        let Some(found) = command.find_subcommand(word.trim_end()) else { break };
        (command, end) = (found, end + 1 + word.trim_end().len());
    }
    let (name, rest) = offered.split_at_checked(end).unwrap_or((offered, ""));
    if rest.contains("--help") {
        return Some(offered.to_owned());
    }
    let takes = |option: &str| command.get_arguments().any(|arg| arg.get_id() == option);
    let mut options = String::new();
    for (option, value) in values {
        if takes(option) && !rest.contains(&format!("--{option}")) {
            let value = value.as_ref()?;
            // A value that begins with a dash would be an option of its own.
            let between = if value.starts_with('-') { "=" } else { " " };
            options.extend([" --", option, between, &display::quoted(value)]);
        }
    }
    Some(format!("{name}{options}{rest}"))
}

/// The word of the command line that clap took for this option, if it may have been meant as a path.
pub(crate) fn dashed(option: &str, mut words: impl Iterator<Item = OsString>) -> Option<String> {
    let is_short = option.starts_with('-') && !option.starts_with("--");
    words.find_map(|word| {
        let word = word.into_string().ok()?;
        (is_short && word.starts_with(option) && word.len() > option.len()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn an_offered_command_selects_the_same_store() {
        let store = || Arg::new("store").long("store");
        let add = Command::new("add").arg(store());
        let program = Command::new("inmost")
            .subcommand(Command::new("ls").arg(store()).arg(Arg::new("anchor").long("anchor")))
            .subcommand(Command::new("slot").subcommand(add))
            .subcommand(Command::new("man"));
        let given =
            |store: &str| [("store", Some(store.to_owned())), ("anchor", Some("a".to_owned()))];
        for (store, text, expected) in [
            ("n", "Use `inmost ls`.", "Use `inmost ls --store n --anchor a`."),
            (
                "-n o",
                "`inmost ls -- -x` lists",
                "`inmost ls --store='-n o' --anchor a -- -x` lists",
            ),
            ("n", "`inmost slot add --label x`", "`inmost slot add --store n --label x`"),
            ("n", "`inmost man`, `ls` and `inmost", "`inmost man`, `ls` and `inmost"),
            ("n", "See `inmost slot add --help`.", "See `inmost slot add --help`."),
            ("n", "`inmost ls --store other`", "`inmost ls --anchor a --store other`"),
        ] {
            assert_eq!(complete(text, &program, &given(store)), expected);
        }
        let untyped = complete("Use `inmost ls`, or `inmost man`.", &program, &[("store", None)]);
        assert_eq!(untyped, "Use `inmost ls` with the same options, or `inmost man`.");
    }
}
