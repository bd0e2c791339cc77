//! Line editing while a passphrase is typed without echo. Does no I/O.
#![cfg(unix)]

use inmost_console::Wiped;

/// A line that is being typed. It gets the bytes that the terminal sends.
pub(crate) struct LineEditor {
    line: Wiped,
    sequence: Sequence,
}

/// The effect of a key.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Continue,
    Done,
    Cancelled,
}

/// The position in the escape sequence of an arrow or function key. Without echo, such a sequence must not become text.
enum Sequence {
    None,
    Escape,
    Parameters,
    /// Within a character of several bytes that was typed with Alt.
    Character,
}

impl LineEditor {
    pub(crate) fn new() -> Self {
        Self { line: Wiped::new(Vec::with_capacity(USUAL_BYTES)), sequence: Sequence::None }
    }

    pub(crate) fn key(&mut self, byte: u8) -> Step {
        match (&self.sequence, byte) {
            (_, 0x03 | 0x1c) => return Step::Cancelled,
            (_, b'\r' | b'\n') => return Step::Done,
            (Sequence::None, _) => {}
            (Sequence::Escape, b'[' | b'O') => {
                self.sequence = Sequence::Parameters;
                return Step::Continue;
            }
            // The console of Linux sends a second bracket for F1 to F5.
            (Sequence::Parameters, 0x20..=0x3f | b'[') | (Sequence::Character, 0x80..=0xbf) => {
                return Step::Continue;
            }
            (Sequence::Character, _) => self.sequence = Sequence::None,
            (Sequence::Escape, 0xc0..) => {
                self.sequence = Sequence::Character;
                return Step::Continue;
            }
            (Sequence::Escape | Sequence::Parameters, _) => {
                self.sequence = Sequence::None;
                return Step::Continue;
            }
        }
        match byte {
            0x04 if self.line.as_slice().is_empty() => return Step::Cancelled,
            0x08 | 0x7f => self.erase(),
            0x15 => self.line.wipe(),
            0x1b => self.sequence = Sequence::Escape,
            // A tab is text. Other control characters are not typed on purpose.
            b'\t' => self.line.append(&[byte]),
            0x00..=0x1f => {}
            _ => self.line.append(&[byte]),
        }
        Step::Continue
    }

    pub(crate) fn into_line(self) -> Wiped {
        self.line
    }

    /// Removes the last character: its continuation bytes, then its first byte.
    fn erase(&mut self) {
        while let Some(byte) = self.line.pop() {
            if byte & 0b1100_0000 != 0b1000_0000 {
                break;
            }
        }
    }
}

/// Longer than most passphrases. A longer line is copied once, and the old memory is wiped.
const USUAL_BYTES: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// The line that these keys make, if they complete one.
    fn typed(keys: &str) -> Option<String> {
        let mut editor = LineEditor::new();
        for byte in keys.bytes() {
            match editor.key(byte) {
                Step::Continue => {}
                Step::Done => return String::from_utf8(editor.into_line().into_inner()).ok(),
                Step::Cancelled => return None,
            }
        }
        None
    }

    #[test]
    fn keys_make_a_line() {
        for (keys, line) in [
            ("\r", Some("")),
            ("word\n", Some("word")),
            ("a b\tc\r", Some("a b\tc")),
            ("wrod\u{7f}\u{8}\u{8}ord\r", Some("word")),
            ("é😀\u{7f}ü\r", Some("éü")),
            ("\u{7f}\u{7f}a\r", Some("a")),
            ("nothing of this\u{15}word\r", Some("word")),
            ("wo\u{1b}[D\u{1b}OA\u{1b}[1;5C\u{1b}xrd\r", Some("word")),
            ("wo\u{1b}[[Ard\u{1b}é1\r", Some("word1")),
            ("wo\u{4}\u{1}rd\r", Some("word")),
            ("word\u{3}", None),
            ("word\u{1c}", None),
            ("\u{4}", None),
            ("wo\u{1b}[\u{3}", None),
        ] {
            assert_eq!(typed(keys).as_deref(), line, "{keys:?}");
        }
    }
}
