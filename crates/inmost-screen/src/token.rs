//! Finds tokens by their shape: literal parts with a number of characters of an alphabet after each.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use inmost::ScreenFind;

use super::chars::{Alphabet, Occurring, is_word_end, is_word_start};
use super::token_table::TABLE;

/// A kind of token.
pub(super) struct Token {
    /// What the screen calls it.
    pub(super) kind: &'static str,
    /// Its parts, in their order.
    pub(super) parts: &'static [Part],
    /// Digits that it has at least in its variable parts. Tells it from words, where its shape does not.
    pub(super) digits: usize,
}

/// A literal, the alphabet of what follows it, and how many characters of it follow.
pub(super) type Part = (&'static str, Alphabet, RangeInclusive<usize>);

/// Adds the tokens of the table.
pub(super) fn find(text: &str, finds: &mut Vec<ScreenFind>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(first) = bytes.get(at) {
        let token = is_word_start(bytes, at).then(|| longest(bytes, at, *first)).flatten();
        if let Some((end, kind)) = token {
            finds.push(ScreenFind::new(at..end, kind));
            at = end;
        } else {
            at = at.saturating_add(1);
        }
    }
}

/// The end and the kind of the longest token at a place.
fn longest(text: &[u8], at: usize, first: u8) -> Option<(usize, &'static str)> {
    let tokens = BY_FIRST_BYTE.get(usize::from(first))?;
    let ends = tokens.iter().filter_map(|token| Some((token.end(text, at)?, token.kind)));
    ends.max_by_key(|(end, _)| *end)
}

impl Token {
    /// The end of the token that begins at a place, if one does. Reads a bounded number of bytes.
    fn end(&self, text: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        let mut digits = 0;
        let mut occurring = Occurring::new();
        for (literal, alphabet, lengths) in self.parts {
            text.get(at..)?.strip_prefix(literal.as_bytes())?;
            at = at.saturating_add(literal.len());
            let length = alphabet.run(text, at, lengths.end().saturating_add(1));
            let part = text.get(at..at.saturating_add(length))?;
            let is_stop = |byte: &&u8| matches!(alphabet, Alphabet::Bearer) && **byte == b'.';
            // A full stop ends a sentence.
            let length = length.saturating_sub(part.iter().rev().take_while(is_stop).count());
            if !lengths.contains(&length) {
                return None;
            }
            let part = part.get(..length)?;
            occurring.add(part);
            digits += part.iter().filter(|byte| byte.is_ascii_digit()).count();
            at = at.saturating_add(length);
        }
        (digits >= self.digits && is_word_end(text, at) && !occurring.are_few()).then_some(at)
    }

    fn may_begin_with(&self, byte: u8) -> bool {
        match self.parts.first() {
            Some((literal, alphabet, _)) => match literal.as_bytes().first() {
                Some(first) => *first == byte,
                None => alphabet.has(byte),
            },
            None => false,
        }
    }
}

/// The tokens that may begin with each byte.
static BY_FIRST_BYTE: LazyLock<Vec<Vec<&'static Token>>> = LazyLock::new(|| {
    let tokens_of = |byte| TABLE.iter().filter(|token| token.may_begin_with(byte)).collect();
    (0..=u8::MAX).map(tokens_of).collect()
});
