//! On whose behalf a handle works: who makes its changes, as the history of a store records it, and within which limits.

use std::sync::Arc;

use inmost_format::record::history::Channel;
use inmost_format::secret::Wiped;

use crate::session::options::Quotas;

/// The label of the actor, the part of the program that makes a change, and what the two may use.
#[derive(Clone)]
pub(crate) struct Caller {
    actor: Option<Arc<Wiped<String>>>,
    channel: Channel,
    /// Whether what is read counts as used, for the expiry of files.
    counts_readings: bool,
    /// Whether the history keeps the texts that the changes end.
    keeps_texts: bool,
    /// What the author may not exceed, if that is less than the session allows.
    quotas: Option<Quotas>,
}

impl Default for Caller {
    fn default() -> Self {
        Self {
            actor: None,
            channel: Channel::Files,
            counts_readings: true,
            keeps_texts: true,
            quotas: None,
        }
    }
}

impl Caller {
    /// The same channel with another label.
    pub(crate) fn named(&self, actor: &str) -> Self {
        let label = label(actor);
        Self { actor: (!label.is_empty()).then(|| Arc::new(label)), ..self.clone() }
    }

    /// The same label through another channel.
    pub(crate) fn through(&self, channel: Channel) -> Self {
        Self { channel, ..self.clone() }
    }

    /// The same, but what it reads does not count as used.
    pub(crate) fn without_readings(&self) -> Self {
        Self { counts_readings: false, ..self.clone() }
    }

    /// The same, but the history keeps no text that its changes end.
    pub(crate) fn without_texts(&self) -> Self {
        Self { keeps_texts: false, ..self.clone() }
    }

    /// Whether the history keeps the texts that the changes end.
    pub(crate) fn keeps_texts(&self) -> bool {
        self.keeps_texts
    }

    pub(crate) fn counts_readings(&self) -> bool {
        self.counts_readings
    }

    /// The same with these quotas.
    pub(crate) fn within(&self, quotas: Quotas) -> Self {
        Self { quotas: Some(quotas), ..self.clone() }
    }

    /// The quotas of the session, or those of the author where they are lower.
    pub(crate) fn quotas(&self, session: Quotas) -> Quotas {
        self.quotas.map_or(session, |own| own.and(session))
    }

    /// The label; empty without one.
    pub(crate) fn actor(&self) -> &str {
        self.actor.as_ref().map_or("", |actor| actor.as_str())
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel
    }
}

/// The label as it is stored: without control characters, which could change what a terminal shows, and not too long.
fn label(actor: &str) -> Wiped<String> {
    let mut label = Wiped::new(String::with_capacity(ACTOR_BYTES));
    for character in actor.chars().filter(|character| !is_control(*character)) {
        if label.len().saturating_add(character.len_utf8()) > ACTOR_BYTES {
            break;
        }
        label.push(character);
    }
    label
}

/// Whether a character controls a terminal or the direction of text.
fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Bytes of a label.
const ACTOR_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_no_control_characters_and_at_most_64_bytes() {
        let actor = |sent: &str| Caller::default().named(sent).actor().to_owned();
        assert_eq!(actor("Claude Code 2.1"), "Claude Code 2.1");
        assert_eq!(actor("a\x1b[31m\nb\u{202e}c"), "a[31mbc");
        assert_eq!(actor(&"ß".repeat(40)), "ß".repeat(32));
        assert_eq!(actor("\n"), "");
    }
}
