//! Output for programs: one JSON value per line.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::exit::Failure;
use crate::output;
use inmost_console::Wiped;

/// Appends one object as a line.
pub(crate) fn append(line: &impl Serialize, to: &mut Wiped) -> Result<(), Failure> {
    // Serialising strings and numbers into memory cannot fail.
    write(line, to).map_err(|error| Failure::output(&error))
}

/// Prints one object as a line.
pub(crate) fn print(line: &impl Serialize) -> Result<(), Failure> {
    let mut text = Wiped::default();
    append(line, &mut text)?;
    output::print(text.as_slice())
}

/// As [`append`].
pub(crate) fn write(line: &impl Serialize, to: &mut Wiped) -> io::Result<()> {
    line.serialize(&mut Serializer::with_formatter(&mut *to, OneLine))?;
    to.append(b"\n");
    Ok(())
}

/// Escapes the characters beyond ASCII that some readers take for the end of a line, such as `splitlines` of Python.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        to: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((plain, _)) = rest.split_once(LINE_ENDS) {
            to.write_all(plain.as_bytes())?;
            let (_, found) = rest.split_at_checked(plain.len()).unwrap_or_default();
            let mut characters = found.chars();
            let end = characters.next().map_or(0, u32::from);
            write!(to, "\\u{end:04x}")?;
            rest = characters.as_str();
        }
        to.write_all(rest.as_bytes())
    }

    fn write_raw_fragment<W: Write + ?Sized>(
        &mut self,
        to: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // JSON has such characters in strings alone.
        self.write_string_fragment(to, fragment)
    }
}

/// A time in milliseconds since 1970; 0 before 1970.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The next-line control, and the line and paragraph separators. JSON lets them stand as they are.
const LINE_ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reader_finds_the_end_of_a_line_inside_a_value() {
        let text = "a\u{85}\u{2028}b\n\u{2029}é";
        let mut line = Wiped::default();
        write(&[text], &mut line).unwrap();
        let line = std::str::from_utf8(line.as_slice()).unwrap();
        assert_eq!(line, "[\"a\\u0085\\u2028b\\n\\u2029é\"]\n");
        assert_eq!(serde_json::from_str::<Vec<String>>(line).unwrap(), [text]);
    }
}
