//! Colours, for terminals and unless the user has disabled them.

use std::env;
use std::io::{self, IsTerminal};

use inmost_console::{Wiped, display};

/// Colours are used if standard output is a terminal that supports them, and `NO_COLOR` (<https://no-color.org>) is not set.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    is_on: bool,
}

/// The kind of a piece of text. The colours are those of `ls`, `grep` and `git diff`.
#[derive(Clone, Copy)]
pub(crate) enum Piece {
    Folder,
    Path,
    Number,
    Match,
    /// The first lines of a diff.
    Head,
    /// Where the lines that follow in a diff are.
    Place,
    Added,
    Removed,
}

/// Whether a command paints its output.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct ColorArgs {
    /// Paint the output: always, never, or at a terminal unless `NO_COLOR` is set
    #[arg(long, value_name = "WHEN", default_value = "auto", num_args = 0..=1, require_equals = true,
          default_missing_value = "always", visible_alias = "colour")]
    color: When,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl ColorArgs {
    pub(crate) fn style(self) -> Style {
        match self.color {
            When::Auto => Style::of_output(),
            when => Style { is_on: when == When::Always },
        }
    }
}

impl Style {
    pub(crate) fn of_output() -> Self {
        let is_disabled = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_none_or(|name| name == "dumb");
        Self { is_on: io::stdout().is_terminal() && !is_disabled && !is_dumb }
    }

    /// Whether there are colours.
    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    pub(crate) fn paint(self, piece: Piece, text: &[u8], to: &mut Wiped) {
        if !self.is_on {
            return to.append(text);
        }
        let code = match piece {
            Piece::Folder => "1;34",
            Piece::Path => "35",
            Piece::Number | Piece::Added => "32",
            Piece::Match => "1;31",
            Piece::Head => "1",
            Piece::Place => "36",
            Piece::Removed => "31",
        };
        for part in [b"\x1b[", code.as_bytes(), b"m", text, b"\x1b[0m"] {
            to.append(part);
        }
    }
}

/// The diff with colours, and with control characters escaped.
pub(crate) fn painted_diff(diff: &[u8], style: Style) -> Wiped {
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
