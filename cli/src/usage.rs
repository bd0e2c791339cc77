//! Errors of the command line, in the two lines of every other error: what is wrong, and what was probably meant.

use std::env;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command};

use crate::exit::Failure;
use crate::{display, hints};

/// The failure for an error of clap in the use of a command.
pub(crate) fn failure(error: &Error, command: &Command) -> Failure {
    if let Some(name) = empty_variable(error, command) {
        return Failure::usage(
            format!("The variable {name} is empty."),
            "Give it a value, or unset it.",
        );
    }
    let mut message = first_paragraph(&error.to_string());
    if error.kind() == ErrorKind::MissingRequiredArgument {
        message = name_the_last(&message, command);
    }
    let message = sentence(&message);
    let name = command.get_bin_name().unwrap_or("inmost");
    let help = format!("See `{name} --help`.");
    let option = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    if error.kind() == ErrorKind::UnknownArgument
        && command.get_positionals().next().is_some()
        && let Some(word) = hints::dashed(&option, env::args_os().skip(1))
    {
        let word = display::quoted(&word);
        let advice = format!("If {word} is a path, put -- before it: `{name} -- {word}`. {help}");
        return Failure::usage(message, advice);
    }
    // clap sorts them, the best one last.
    let advice = match suggestions(error).as_slice() {
        [] => help,
        [.., second, best] if second != best => {
            format!("Did you mean `{best}`, or `{second}`? {help}")
        }
        [.., best] => format!("Did you mean `{best}`? {help}"),
    };
    Failure::usage(message, advice)
}

/// The environment variable that stands for the argument whose value is missing, if it is set and empty.
fn empty_variable(error: &Error, command: &Command) -> Option<String> {
    let ContextValue::String(invalid) = error.get(ContextKind::InvalidArg)? else { return None };
    let given = error.get(ContextKind::InvalidValue);
    if !matches!(given, Some(ContextValue::String(value)) if value.is_empty()) {
        return None;
    }
    let argument = command.get_arguments().find(|argument| argument.to_string() == *invalid)?;
    let variable = argument.get_env()?;
    let is_empty = env::var_os(variable).is_some_and(|value| value.is_empty());
    is_empty.then(|| variable.to_string_lossy().into_owned())
}

/// The message with the last positional argument instead of one before it that takes several values: clap gives a single value
/// to the last one, but in `inmost mv a` the new path is missing.
fn name_the_last(message: &str, command: &Command) -> String {
    let positionals: Vec<&Arg> = command.get_positionals().collect();
    let [.., several, last] = positionals.as_slice() else { return message.to_owned() };
    let takes_several = several.get_num_args().is_some_and(|range| range.max_values() > 1);
    let (several, last) = (several.to_string(), last.to_string());
    if takes_several && !message.contains(&last) {
        message.replace(&several, &last)
    } else {
        message.to_owned()
    }
}

/// The first paragraph, on one line. The other paragraphs are suggestions and the usage.
fn first_paragraph(text: &str) -> String {
    let paragraph = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As a sentence, like the message of every other error.
fn sentence(text: &str) -> String {
    // The words of the standard library for a letter in a number.
    let text = text.replace("invalid digit found in string", "expected a whole number");
    let text = &without_range(text);
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let end = if text.ends_with(['.', ']', ':']) { "" } else { "." };
    first.into_iter().chain(letters).chain(end.chars()).collect()
}

/// The range of a number in words, instead of the syntax of Rust.
fn without_range(text: String) -> String {
    let range = text.split_once(" is not in ").and_then(|(before, range)| {
        let (least, most) = range.split_once("..")?;
        let most = most.trim_start_matches('=');
        Some(format!("{before} is not a number from {least} to {most}"))
    });
    range.unwrap_or(text)
}

/// What was probably meant.
fn suggestions(error: &Error) -> Vec<String> {
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let found = kinds.into_iter().filter_map(|kind| error.get(kind)).map(|value| match value {
        ContextValue::String(one) => vec![one.clone()],
        ContextValue::Strings(several) => several.clone(),
        _ => Vec::new(),
    });
    // clap also finds options that share most letters and mean something else. A slip rarely hits the first letter.
    let first = |word: &str| word.trim_start_matches('-').chars().next();
    let typed = error.get(ContextKind::InvalidArg).and_then(|typed| first(&typed.to_string()));
    found.flatten().filter(|it| !it.starts_with('-') || first(it) == typed).collect()
}

/// The command that these arguments name: the program itself, or the deepest command whose name is among them.
pub(crate) fn meant(program: Command, args: impl Iterator<Item = OsString>) -> Command {
    let mut command = program.bin_name("inmost");
    // Gives each command its full name, such as `inmost slot add`.
    command.build();
    for word in args.skip(1) {
        if let Some(found) = command.find_subcommand(&word) {
            command = found.clone();
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_found_behind_options() {
        let program = || {
            let add = Command::new("slot").subcommand(Command::new("add"));
            Command::new("inmost").subcommand(Command::new("ls")).subcommand(add)
        };
        for (args, name) in [
            (&["inmost"][..], "inmost"),
            (&["inmost", "--store", "x", "ls", "slot"], "inmost ls"),
            (&["inmost", "slot", "add", "--label"], "inmost slot add"),
            (&["inmost", "sl"], "inmost"),
        ] {
            let found = meant(program(), args.iter().map(OsString::from));
            assert_eq!(found.get_bin_name(), Some(name), "{args:?}");
        }
    }

    #[test]
    fn a_range_is_in_words() {
        let range = "invalid value '0': 0 is not in 1..=65535";
        let words = "Invalid value '0': 0 is not a number from 1 to 65535.";
        assert_eq!(sentence(range), words);
    }

    #[test]
    fn a_usage_error_is_a_sentence_on_one_line() {
        assert_eq!(sentence(&first_paragraph("error: a\n  <B>\n\nUsage: c")), "A <B>.");
    }
}
