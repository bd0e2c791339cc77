//! Finds private keys in PEM and its relatives (RFC 7468, `OpenSSH`, `OpenPGP`, SSH2), and in `PuTTY`'s format.
//!
//! A block counts only if key material is in it: a sentence may name the line that begins a key. Escaped line breaks
//! and quotes between the lines do not matter, so a key in JSON or in source code is found too.

use std::ops::Range;

use inmost::ScreenFind;
use memchr::memmem;

use super::SecretScreen;
use super::chars::Alphabet;

/// Adds the private keys.
pub(super) fn find(text: &str, finds: &mut Vec<ScreenFind>) {
    let text = text.as_bytes();
    let mut add = |range| finds.push(ScreenFind::new(range, SecretScreen::PRIVATE_KEY));
    let mut borders = memmem::find_iter(text, LABEL).filter_map(|at| Border::at_label(text, at));
    let mut before = 0;
    let mut border = borders.next();
    while let Some(here) = border {
        border = borders.next();
        let next = border.as_ref().map_or(text.len(), |next| next.line.start);
        if here.begins {
            let body = here.line.end..next;
            match &border {
                Some(end) if !end.begins && Material::first(text, body.clone()).is_key() => {
                    add(here.line.start..end.line.end);
                    before = end.line.end;
                    border = borders.next();
                    continue;
                }
                _ => {}
            }
            let material = Material::first(text, body);
            if material.is_key() {
                add(here.line.start..material.range.end);
            }
        } else {
            let material = Material::last(text, before..here.line.start);
            if material.is_key() {
                add(material.range.start..here.line.end);
            }
        }
        before = here.line.end;
    }
    let mut labels = memmem::find_iter(text, PUTTY).peekable();
    while let Some(label) = labels.next() {
        let number = label.saturating_add(PUTTY.len());
        let body = number.saturating_add(Alphabet::Digits.run(text, number, 4));
        let material = Material::first(text, body..*labels.peek().unwrap_or(&text.len()));
        if material.is_key() {
            add(label..material.range.end);
        }
    }
}

/// A line that begins or ends a block.
struct Border {
    begins: bool,
    line: Range<usize>,
}

impl Border {
    /// The border that has this label between its dashes.
    fn at_label(text: &[u8], label: usize) -> Option<Self> {
        let before = text.get(label.saturating_sub(MOST_LABEL)..label)?;
        let is_label =
            |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ';
        let words = before.iter().rev().take_while(is_label).count();
        let words = before.get(before.len().saturating_sub(words)..)?;
        let word = words.strip_prefix(b" ").unwrap_or(words);
        let begins = word.starts_with(b"BEGIN ");
        if !begins && !word.starts_with(b"END ") {
            return None;
        }
        let words_start = label.saturating_sub(words.len());
        let dashes = text.get(..words_start)?.iter().rev().take(DASHES.1);
        let dashes = dashes.take_while(|byte| **byte == b'-').count();
        let start = words_start.saturating_sub(dashes);

        let mut end = label.saturating_add(LABEL.len());
        for more in [&b" BLOCK"[..], b" "] {
            if text.get(end..)?.starts_with(more) {
                end = end.saturating_add(more.len());
            }
        }
        let rest = text.get(end..)?.iter().take(DASHES.1);
        let after = rest.take_while(|byte| **byte == b'-').count();
        let line = start..end.saturating_add(after);
        (dashes >= DASHES.0 && after >= DASHES.0).then_some(Self { begins, line })
    }
}

/// Key material: pieces of base64 that follow each other.
struct Material {
    range: Range<usize>,
    characters: usize,
}

impl Material {
    /// The first material in a range, after headers.
    fn first(text: &[u8], range: Range<usize>) -> Self {
        let mut material = Self { range: range.start..range.start, characters: 0 };
        let most = range.start.saturating_add(MOST_HEADERS);
        for piece in (Pieces { text, rest: range }) {
            let has_begun = material.characters > 0;
            let is_base64 = is_base64(text, &piece);
            let is_full = is_base64 && piece.len() >= LEAST_PIECE;
            if !has_begun && is_full {
                material.range.start = piece.start;
            }
            // The last line may be short.
            if is_full || (has_begun && is_base64 && piece.len().is_multiple_of(4)) {
                material.characters = material.characters.saturating_add(piece.len());
                material.range.end = piece.end;
            }
            if !is_full && (has_begun || piece.end > most) {
                break;
            }
        }
        material
    }

    /// The material at the end of a range. It consists of lines without spaces.
    fn last(text: &[u8], range: Range<usize>) -> Self {
        let is_material = |byte: &&u8| {
            Alphabet::Base64.has(**byte) || matches!(**byte, b'=' | b'\r' | b'\n' | b'\\')
        };
        let body = text.get(range.clone()).unwrap_or_default();
        let length = body.iter().rev().take_while(is_material).count();
        let range = range.end.saturating_sub(length)..range.end;
        let lines = Pieces { text, rest: range.clone() };
        let characters = lines.filter(|line| is_base64(text, line)).map(|line| line.len()).sum();
        Self { range, characters }
    }

    fn is_key(&self) -> bool {
        self.characters >= LEAST_CHARACTERS
    }
}

fn is_base64(text: &[u8], piece: &Range<usize>) -> bool {
    let piece = text.get(piece.clone()).unwrap_or_default();
    piece.iter().all(|byte| Alphabet::Base64.has(*byte) || *byte == b'=')
}

/// The pieces of a range between spaces, line breaks, escapes of line breaks, quotes and the like.
struct Pieces<'t> {
    text: &'t [u8],
    rest: Range<usize>,
}

impl Iterator for Pieces<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let rest = self.text.get(self.rest.clone())?;
            match rest {
                [] => return None,
                [b'\\', b'n' | b'r' | b't', ..] => self.skip(2),
                [first, ..] if is_between(*first) => self.skip(1),
                _ => break,
            }
        }
        let rest = self.text.get(self.rest.clone())?;
        let length = rest.iter().take_while(|byte| !is_between(**byte)).count();
        let start = self.rest.start;
        self.skip(length);
        Some(start..start.saturating_add(length))
    }
}

impl Pieces<'_> {
    fn skip(&mut self, count: usize) {
        self.rest.start = self.rest.start.saturating_add(count).min(self.rest.end);
    }
}

fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b',' | b';' | b'|' | b'>' | b'#' | b'*')
}

/// In every line that begins or ends a private key.
const LABEL: &[u8] = b"PRIVATE KEY";

/// Before the private part of `PuTTY`'s format.
const PUTTY: &[u8] = b"Private-Lines: ";

/// The bytes of headers before the material at most.
const MOST_HEADERS: usize = 512;

/// The bytes before a label that are read at most.
const MOST_LABEL: usize = 64;

/// The least and the most dashes on each side of a border: SSH2 has four, PEM has five.
const DASHES: (usize, usize) = (4, 5);

/// Characters of a private key at least: those of an Ed25519 key without its envelope.
const LEAST_CHARACTERS: usize = 40;

/// Characters of a line of key material at least, but for the last one.
const LEAST_PIECE: usize = 16;
