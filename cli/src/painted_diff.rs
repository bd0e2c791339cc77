//! Colours of a unified diff.

use crate::display;
use crate::style::{Piece, Style};
use inmost_console::Wiped;

/// The diff with colours, and with control characters escaped.
pub(crate) fn painted(diff: &[u8], style: Style) -> Wiped {
    let mut text = Wiped::new(Vec::with_capacity(diff.len()));
    let mut is_head = true;
    for line in diff.split_inclusive(|byte| *byte == b'\n') {
        let (line, end) = match line.strip_suffix(b"\n") {
            Some(line) => (line, &b"\n"[..]),
            None => (line, &b""[..]),
        };
        is_head &= !line.starts_with(b"@@");
        let piece = match line.first() {
            _ if is_head => Some(Piece::Head),
            Some(b'@') => Some(Piece::Place),
            Some(b'+') => Some(Piece::Added),
            Some(b'-') => Some(Piece::Removed),
            _ => None,
        };
        let shown = display::text(std::str::from_utf8(line).unwrap_or_default());
        match piece {
            Some(piece) => style.paint(piece, shown.as_slice(), &mut text),
            None => text.append(shown.as_slice()),
        }
        text.append(end);
    }
    text
}
