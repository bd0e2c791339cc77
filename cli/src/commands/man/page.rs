//! One manual page: what `clap_mangen` makes of the description of a command, and the sections that a manual has by convention.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::exit::MEANINGS;

/// The page of a command that was built.
pub(super) fn render(command: &Command) -> io::Result<Vec<u8>> {
    // The rest of such a heading explains it, and is no heading of a manual page.
    let short = |heading: &str| {
        ["Passphrase", "New passphrase"].into_iter().find(|short| heading.starts_with(short))
    };
    let command =
        command.clone().mut_args(|option| match option.get_help_heading().and_then(short) {
            Some(short) => option.help_heading(short),
            None => option,
        });
    let examples = command.get_after_help().map(ToString::to_string);
    let has_options = command.get_arguments().any(|option| !option.is_hide_set());
    let has_commands = command.get_subcommands().any(|below| !below.is_hide_set());
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let page = Man::new(command).source(concat!("inmost ", env!("CARGO_PKG_VERSION")));
    let page = page.manual("Inmost");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    if has_options {
        page.render_options_section(&mut text)?;
    }
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    let mut rest = Roff::default();
    conventional(&name, &mut rest);
    if let Some(examples) = examples {
        add_examples(&examples, &mut rest);
    }
    rest.to_writer(&mut text)?;
    Ok(text)
}

/// The sections that are the same for every command.
fn conventional(name: &str, page: &mut Roff) {
    page.control("SH", ["EXIT STATUS"]);
    for (exit, meaning) in MEANINGS {
        item(&exit.code().to_string(), meaning, page);
    }
    page.control("SH", ["ENVIRONMENT"]);
    for (variable, meaning) in ENVIRONMENT {
        item(variable, meaning, page);
    }
    page.control("SH", ["FILES"]);
    for (file, meaning) in FILES {
        item(file, meaning, page);
    }
    if name != "inmost" {
        page.control("SH", ["SEE ALSO"]);
        page.text([bold("inmost"), roman("(1)")]);
    }
}

fn item(term: &str, meaning: &str, page: &mut Roff) {
    page.control("TP", []);
    page.text([bold(term)]);
    page.text([roman(meaning)]);
}

/// The lines after a heading such as `Examples:` are commands; what is before it is text.
fn add_examples(text: &str, page: &mut Roff) {
    let mut is_example = false;
    for line in text.lines() {
        if line.starts_with("Example") {
            page.control("SH", ["EXAMPLES"]);
            page.control("nf", []);
            is_example = true;
        } else if is_example {
            page.text([roman(line.trim_start())]);
        } else if line.is_empty() {
            page.control("PP", []);
        } else {
            page.text([roman(line)]);
        }
    }
    if is_example {
        page.control("fi", []);
    }
}

const ENVIRONMENT: [(&str, &str); 7] = [
    ("INMOST_STORE", "The folder of the store, if --store is not given."),
    ("INMOST_PASSPHRASE", "The passphrase, if no option gives another source."),
    ("INMOST_ANCHOR", "The file of the rollback anchor, if --anchor is not given."),
    ("INMOST_ACTOR", "Who makes changes, if --as is not given."),
    (
        "VISUAL, EDITOR, PAGER",
        "The editor of inmost edit, else vi; the pager of log and diff, else less.",
    ),
    ("NO_COLOR", "If it is set and not empty, there are no colours."),
    ("XDG_DATA_HOME, XDG_RUNTIME_DIR", "Where the files below are."),
];

const FILES: [(&str, &str); 2] = [
    ("~/.local/share/inmost/memory", "The store, if none is named."),
    ("$XDG_RUNTIME_DIR/inmost", "The sockets of key daemons."),
];
