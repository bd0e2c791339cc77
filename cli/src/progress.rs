//! How far long work has come, for a person who watches; nothing at all where standard error leads elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// One line on the terminal that is written over, and gone when this is dropped.
pub(crate) struct Progress {
    what: &'static str,
    is_watched: bool,
    shown: Option<Instant>,
}

impl Progress {
    /// `what` says what is counted, and what is done to it.
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, is_watched: io::stderr().is_terminal(), shown: None }
    }

    pub(crate) fn tell(&mut self, done: u64) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= PAUSE);
        if self.is_watched && is_due {
            self.shown = Some(Instant::now());
            // Whoever cannot be told has lost nothing.
            let _ = write!(io::stderr().lock(), "\r\x1b[K{done} {}", self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// Often enough to be seen to move.
const PAUSE: Duration = Duration::from_millis(100);
