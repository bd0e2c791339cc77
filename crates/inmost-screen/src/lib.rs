//! A [`Screen`] for the memory tool of inmost: private keys, keys and tokens of common services, card numbers and IBANs.
//!
//! Each detector is one module with one function, which adds its finds in a text. All of them are linear in the length
//! of the text: what they read at one place is bounded, or is not read again from another place. They prefer a missed
//! secret to an alarm on a hash or an order number; `tests/corpus` measures both.

mod assignment;
mod card;
mod chars;
mod iban;
mod private_key;
mod token;
mod token_table;

use std::cmp::Reverse;
use std::sync::Arc;

use inmost::{Screen, ScreenFind, ScreenInput, ScreenVerdict, Wiped};

/// A [`Screen`] that finds private keys, API keys and tokens of common services, card numbers and IBANs.
///
/// It is a heuristic without a guarantee: it knows published formats. A password in a sentence, or a key of an unknown
/// service, is not found, and a harmless number can look like a card number. docs/PROGRAM.md has the list, and
/// SECURITY.md the measured rates.
///
/// ```
/// use inmost::{MemoryTool, Session, ToolOptions};
/// use inmost_screen::SecretScreen;
///
/// # fn main() -> Result<(), inmost::StoreError> {
/// let options = ToolOptions::new().screen(SecretScreen::redacting());
/// let memory = MemoryTool::with_options(Session::in_memory()?, options);
/// let create = r#"{"command": "create", "path": "/memories/pay.md",
///     "file_text": "Pays with 4111 1111 1111 1111, in euros."}"#;
/// let reply = memory.run_json(create);
/// assert!(reply.result().content().ends_with("\n[1 redacted: card number]"));
/// let view = memory.run_json(r#"{"command": "view", "path": "/memories/pay.md"}"#);
/// assert!(view.result().content().ends_with("\tPays with [redacted: card number], in euros."));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct SecretScreen(OnFind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OnFind {
    Redact,
    Refuse,
}

impl SecretScreen {
    /// The kind of private keys, in any of the usual text formats.
    pub const PRIVATE_KEY: &str = "private key";
    /// The kind of keys and tokens of services.
    pub const API_KEY: &str = "API key";
    /// The kind of numbers of payment cards.
    pub const CARD_NUMBER: &str = "card number";
    /// The kind of international bank account numbers.
    pub const IBAN: &str = "IBAN";

    /// Saves `[redacted: {kind}]` in place of a find.
    pub fn redacting() -> Self {
        Self(OnFind::Redact)
    }

    /// Refuses a call in which something is found.
    pub fn refusing() -> Self {
        Self(OnFind::Refuse)
    }

    /// Whether it saves something in place of a find.
    #[must_use]
    pub fn is_redacting(self) -> bool {
        self.0 == OnFind::Redact
    }

    /// Returns what is found in a text, ordered by its place. No find lies within another.
    #[must_use]
    pub fn find(self, text: &str) -> Vec<ScreenFind> {
        let mut finds = Vec::new();
        for find_in in DETECTORS {
            find_in(text, &mut finds);
        }
        finds.sort_by_key(|find| (find.range.start, Reverse(find.range.end)));
        let mut end = 0;
        finds.retain(|find| {
            let is_outer = find.range.end > end;
            end = end.max(find.range.end);
            is_outer
        });
        finds
    }

    /// The finds in the names of a path. They are words, which a `/` before a number would deny.
    fn find_in_path(self, path: &str) -> Vec<ScreenFind> {
        self.find(&Wiped::new(path.replace('/', " ")))
    }
}

impl Screen for SecretScreen {
    fn screen(&self, input: &ScreenInput<'_>) -> ScreenVerdict {
        let mut finds = self.find(input.text());
        finds.retain(|find| input.concerns(&find.range));
        let in_path =
            if input.is_new_path() { self.find_in_path(input.path()) } else { Vec::new() };
        if !in_path.is_empty() || (!self.is_redacting() && !finds.is_empty()) {
            return ScreenVerdict::Refuse(in_path.iter().chain(&finds).map(|it| it.kind).collect());
        }
        if finds.is_empty() { ScreenVerdict::Allow } else { ScreenVerdict::Redact(finds) }
    }

    fn name(&self) -> Option<&'static str> {
        Some(match self.0 {
            OnFind::Redact => "secrets-redact",
            OnFind::Refuse => "secrets-refuse",
        })
    }
}

/// The screen of this [name](Screen::name), for a process that holds a store for others.
#[must_use]
pub fn by_name(name: &str) -> Option<Arc<dyn Screen>> {
    let screen = [SecretScreen::redacting(), SecretScreen::refusing()];
    let found = screen.into_iter().find(|screen| screen.name() == Some(name))?;
    Some(Arc::new(found))
}

const DETECTORS: [fn(&str, &mut Vec<ScreenFind>); 5] =
    [private_key::find, token::find, assignment::find, card::find, iban::find];

#[cfg(test)]
mod tests;
