//! The conversation in which a person chooses the passphrase of a new store.

use zxcvbn::{Score, zxcvbn};

use crate::diceware;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use crate::wiped::Wiped;

/// Asks until a passphrase was typed twice. Nothing typed asks for one of random words.
pub(crate) fn choose(terminal: &mut Terminal) -> Result<Wiped, Failure> {
    terminal.say(
        "Choose a passphrase. If it is forgotten, and there is no recovery key, nothing opens the store.\n",
    )?;
    loop {
        let typed = terminal.ask("Passphrase (or Enter for six random words): ")?;
        let chosen = if typed.expose().is_empty() {
            propose(terminal)?
        } else {
            show_strength(terminal, &typed)?;
            typed
        };
        let again = terminal.ask("Type it again to use it (or Enter to choose another): ")?;
        if again.expose() == chosen.expose() {
            return Ok(chosen);
        }
        if !again.expose().is_empty() {
            terminal.say("The two are not the same.\n")?;
        }
    }
}

fn propose(terminal: &mut Terminal) -> Result<Wiped, Failure> {
    let words = diceware::draw().map_err(|_| {
        Failure::new(
            Exit::Other,
            "The operating system gave no randomness.",
            "Try again; if it stays, the operating system is at fault.",
        )
    })?;
    terminal.say("\n    ")?;
    terminal.show(words.expose())?;
    terminal.say("\n\nWrite it down where nobody else looks, then clear this screen.\n")?;
    Ok(words)
}

/// # Security
/// zxcvbn makes copies of what it measures and does not wipe them. They stay in the freed memory of this
/// process, which ends soon after; SECURITY.md says so.
fn show_strength(terminal: &mut Terminal, typed: &Wiped) -> Result<(), Failure> {
    let Ok(text) = std::str::from_utf8(typed.expose()) else { return Ok(()) };
    let estimate = zxcvbn(text, &[]);
    let (score, verdict) = match estimate.score() {
        Score::Zero => (0, "guessed at once"),
        Score::One => (1, "guessed quickly"),
        Score::Two => (2, "weak against someone who has the store"),
        Score::Three => (3, "good"),
        _ => (4, "strong"),
    };
    let magnitude = estimate.guesses_log10();
    terminal
        .say(&format!("Strength: {score} of 4, {verdict} (about 10^{magnitude:.0} guesses).\n"))?;
    if let Some(warning) = estimate.feedback().and_then(zxcvbn::feedback::Feedback::warning) {
        terminal.say(&format!("{warning}\n"))?;
    }
    Ok(())
}
