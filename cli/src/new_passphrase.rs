//! Prompts for a new passphrase.

use zxcvbn::{Score, zxcvbn};

use crate::diceware;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use inmost_console::Wiped;

/// Asks until a passphrase was typed twice. An empty line generates one of random words.
pub(crate) fn choose(terminal: &mut Terminal) -> Result<Wiped, Failure> {
    terminal.print(
        "Choose a passphrase. Without it, or a recovery key, the store cannot be opened.\n",
    )?;
    loop {
        let typed = terminal.ask("Passphrase (or Enter for six random words): ")?;
        // Generated words are on a screen of their own until they were typed again.
        let (chosen, apart) = if typed.as_slice().is_empty() {
            let apart = terminal.begin_apart()?;
            (generate(terminal)?, Some(apart))
        } else {
            show_strength(terminal, &typed)?;
            (typed, None)
        };
        let again = terminal.ask("Type it again to use it (or Enter to choose another): ")?;
        drop(apart);
        if again.as_slice() == chosen.as_slice() {
            return Ok(chosen);
        }
        if !again.as_slice().is_empty() {
            terminal.print("The two passphrases differ.\n")?;
        }
    }
}

fn generate(terminal: &mut Terminal) -> Result<Wiped, Failure> {
    let words = diceware::draw().map_err(|_| {
        Failure::new(
            Exit::Other,
            "The operating system returned no random bytes.",
            "Try again. If it keeps failing, check the operating system.",
        )
    })?;
    terminal.print("\n    ")?;
    terminal.print_secret(words.as_slice())?;
    let afterwards = if Terminal::has_other_screen() {
        "This screen is cleared afterwards."
    } else {
        "This terminal keeps it: clear the scrollback afterwards."
    };
    terminal.print(&format!("\n\nWrite it down, and keep it in a safe place. {afterwards}\n"))?;
    Ok(words)
}

/// # Security
/// zxcvbn copies the passphrase and does not wipe the copies. They stay in freed memory until this process ends, which is
/// soon; SECURITY.md documents it.
fn show_strength(terminal: &mut Terminal, typed: &Wiped) -> Result<(), Failure> {
    let Ok(text) = std::str::from_utf8(typed.as_slice()) else { return Ok(()) };
    let estimate = zxcvbn(text, &KNOWN);
    let (score, verdict) = match estimate.score() {
        Score::Zero => (0, "guessed at once"),
        Score::One => (1, "guessed quickly"),
        Score::Two => (2, "weak against someone who has the store"),
        Score::Three => (3, "good"),
        _ => (4, "strong"),
    };
    let magnitude = estimate.guesses_log10();
    terminal.print(&format!(
        "Strength: {score} of 4, {verdict} (about 10^{magnitude:.0} guesses).\n"
    ))?;
    if let Some(warning) = estimate.feedback().and_then(zxcvbn::feedback::Feedback::warning) {
        terminal.print(&format!("{warning}\n"))?;
    }
    Ok(())
}

/// Phrases that everyone knows, those of our own documents among them. An attacker tries them first, with what may be added.
const KNOWN: [&str; 7] = [
    "correct horse battery staple",
    "correcthorsebatterystaple",
    "correct-horse-battery-staple",
    "correct horse",
    "incorrect horse",
    "tr0ub4dor&3",
    "the quick brown fox jumps over the lazy dog",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phrases_of_our_own_documents_are_weak() {
        let mut found = 0;
        for page in [
            "README.md",
            "docs/LIBRARY.md",
            "docs/OPERATIONS.md",
            "python/README.md",
            "nodejs/README.md",
        ] {
            let place = format!("{}/../{page}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(place).unwrap();
            for before in
                ["INMOST_PASSPHRASE='", "Passphrase::new(\"", "passphrase=\"", "passphrase: '"]
            {
                for rest in text.split(before).skip(1) {
                    let phrase = rest.split(['\'', '"']).next().unwrap();
                    found += 1;
                    for shown in [phrase.to_owned(), phrase.to_uppercase(), format!("{phrase}1")] {
                        assert!(zxcvbn(&shown, &KNOWN).score() <= Score::One, "{page}: {shown}");
                    }
                }
            }
        }
        assert!(found >= 4, "{found}");
    }
}
