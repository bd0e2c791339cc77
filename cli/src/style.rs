//! Colours, for a person at a terminal who has not switched them off.

use std::env;
use std::io::{self, IsTerminal};

use crate::wiped::Wiped;

/// Whether standard output is to be coloured: it is a terminal that knows how, and `NO_COLOR` is not set
/// (<https://no-color.org>).
#[derive(Clone, Copy)]
pub(crate) struct Style {
    is_on: bool,
}

/// What a piece of text is; each looks as other programs have made people expect.
#[derive(Clone, Copy)]
pub(crate) enum Piece {
    Folder,
    Path,
    Number,
    Match,
}

impl Style {
    pub(crate) fn of_output() -> Self {
        let is_unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_none_or(|name| name == "dumb");
        Self { is_on: io::stdout().is_terminal() && !is_unwanted && !is_dumb }
    }

    pub(crate) fn paint(self, piece: Piece, text: &[u8], to: &mut Wiped) {
        if !self.is_on {
            return to.append(text);
        }
        let code = match piece {
            Piece::Folder => "1;34",
            Piece::Path => "35",
            Piece::Number => "32",
            Piece::Match => "1;31",
        };
        for part in [b"\x1b[", code.as_bytes(), b"m", text, b"\x1b[0m"] {
            to.append(part);
        }
    }
}
