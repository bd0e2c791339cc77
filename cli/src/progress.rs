//! How far long work has come, for a person who watches; nothing at all where standard error leads elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// One line on the terminal that is written over, and gone when this is dropped.
pub(crate) struct Progress {
    what: &'static str,
    total: Option<u64>,
    is_watched: bool,
    shown: Option<Instant>,
}

impl Progress {
    /// `what` says what is counted, and what is done to it.
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, total: None, is_watched: io::stderr().is_terminal(), shown: None }
    }

    /// The same with a bar, where it is known how much there is to do.
    pub(crate) fn of(total: u64, what: &'static str) -> Self {
        Self { total: Some(total), ..Self::new(what) }
    }

    pub(crate) fn update(&mut self, done: u64) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= PAUSE);
        if self.is_watched && is_due {
            self.shown = Some(Instant::now());
            // Whoever cannot be told has lost nothing.
            let bar = self.total.map(|total| bar(done, total)).unwrap_or_default();
            let _ = write!(io::stderr().lock(), "\r\x1b[K{bar}{done} {}", self.what);
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

/// `[####      ] of 100: `. Does no I/O.
fn bar(done: u64, total: u64) -> String {
    let full = done.min(total).saturating_mul(BAR_COLUMNS) / total.max(1);
    let column = |column| if column < full { '#' } else { ' ' };
    let bar: String = (0..BAR_COLUMNS).map(column).collect();
    format!("[{bar}] of {total}: ")
}

const BAR_COLUMNS: u64 = 30;

/// Often enough to be seen to move.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_up_and_no_further() {
        let columns = |done, total| bar(done, total).matches('#').count();
        assert_eq!([columns(0, 10), columns(5, 10), columns(10, 10)], [0, 15, 30]);
        assert_eq!([columns(11, 10), columns(0, 0), columns(u64::MAX, u64::MAX)], [30, 0, 1]);
    }
}
