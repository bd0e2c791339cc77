//! Asking before something is done that cannot be undone.

use crate::exit::{Exit, Failure};
use crate::streams;
use crate::terminal::Terminal;

/// Goes on if `--yes` was given, or if a person types `answer` to the question.
///
/// # Errors
/// If they type something else, or if there is nobody to ask.
pub(crate) fn ask(yes: bool, question: &str, answer: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let nobody = || {
        Failure::usage(
            "This has to be confirmed, and there is no terminal to ask at.",
            "Nothing was done. Add --yes to do it without being asked.",
        )
    };
    if !streams::is_attended() {
        return Err(nobody());
    }
    let mut terminal = Terminal::open().map_err(|_| nobody())?;
    match terminal.ask_openly(question)? {
        Some(typed) if typed == answer => Ok(()),
        _ => Err(Failure::new(
            Exit::Other,
            "It was not confirmed.",
            "Nothing was done; try again if it was meant.",
        )),
    }
}
