//! The terminal while the browser runs: its alternate screen, without echo.
//!
//! Whatever ends the browser, the terminal gets its settings back and shows what it showed before. The alternate screen is
//! cleared first, because some terminals keep it, and some have none.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::backend::CrosstermBackend;

use super::model::Model;
use super::painter::Painter;
use super::theme::Theme;
use inmost_console::Wiped;

/// The screen of the browser. Dropping it restores the terminal.
pub(super) struct Screen {
    painter: Painter<CrosstermBackend<Output>>,
    is_on: bool,
}

impl Screen {
    /// Takes over the terminal.
    pub(super) fn new(theme: Theme) -> io::Result<Self> {
        let to = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let output = Output { to, pending: Wiped::default() };
        let painter = Painter::new(CrosstermBackend::new(output), theme);
        let mut screen = Self { painter, is_on: false };
        screen.enter()?;
        Ok(screen)
    }

    /// Takes over the terminal again.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        self.is_on = true;
        // A shell that stopped and continued the program has set the terminal to a mode of its own, unknown to crossterm.
        let _ = disable_raw_mode();
        enable_raw_mode()?;
        execute!(
            self.painter.backend,
            EnterAlternateScreen,
            EnableBracketedPaste,
            EnableFocusChange,
            cursor::Hide
        )?;
        self.painter.erase()
    }

    pub(super) fn paint(&mut self, model: &Model) -> io::Result<()> {
        self.painter.paint(model)
    }

    /// Removes every text from the screen, and from memory.
    pub(super) fn erase(&mut self) -> io::Result<()> {
        self.painter.erase()
    }

    /// Gives the terminal back. Goes on after an error, so that as much as possible is restored.
    pub(super) fn leave(&mut self) {
        if !self.is_on {
            return;
        }
        self.is_on = false;
        let _ = self.painter.erase();
        let _ = execute!(
            self.painter.backend,
            DisableFocusChange,
            DisableBracketedPaste,
            cursor::Show,
            LeaveAlternateScreen
        );
        let _ = disable_raw_mode();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Standard output with a buffer that is wiped.
struct Output {
    /// Without the buffer of the standard library, which is never wiped.
    to: File,
    pending: Wiped,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.append(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.to.write_all(self.pending.as_slice());
        self.pending.wipe();
        written.and_then(|()| self.to.flush())
    }
}
