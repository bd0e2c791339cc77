//! Questions at the terminal, before work that cannot be undone.

use crate::exit::{Exit, Failure};
use crate::streams;
use crate::terminal::Terminal;

/// Continues if `--yes` was given, or if a person types `expected`.
///
/// # Errors
/// If anything else is typed, or there is no terminal to ask on.
pub(crate) fn ask(yes: bool, question: &str, expected: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let no_terminal = || {
        Failure::usage(
            "This command needs a confirmation, and there is no terminal to ask on.",
            "Nothing was changed. Add --yes to confirm.",
        )
    };
    if !streams::is_attended() {
        return Err(no_terminal());
    }
    let mut terminal = Terminal::open().map_err(|_| no_terminal())?;
    match terminal.read_visible(question)? {
        Some(typed) if typed == expected => Ok(()),
        _ => Err(Failure::new(
            Exit::Other,
            "The command was not confirmed.",
            "Nothing was changed. Run it again to confirm.",
        )),
    }
}

/// Asks a question whose default is no.
pub(crate) fn yes_or_no(terminal: &mut Terminal, question: &str) -> Result<bool, Failure> {
    let typed = terminal.read_visible(question)?;
    Ok(matches!(typed.as_deref(), Some("y" | "Y" | "yes")))
}
