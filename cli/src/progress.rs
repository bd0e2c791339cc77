//! Progress of long work, printed only if standard error is a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::display::duration;

/// One line on the terminal that is updated in place and removed on drop.
pub(crate) struct Progress {
    what: &'static str,
    total: Option<u64>,
    is_terminal: bool,
    begun: Instant,
    last_update: Option<Instant>,
}

impl Progress {
    /// `what` names the unit, such as `records read`.
    pub(crate) fn new(what: &'static str) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { what, total: None, is_terminal, begun: Instant::now(), last_update: None }
    }

    /// With a bar, if the total is known.
    pub(crate) fn of(total: u64, what: &'static str) -> Self {
        Self { total: Some(total), ..Self::new(what) }
    }

    pub(crate) fn update(&mut self, done: u64) {
        let is_due = self.last_update.is_none_or(|last| last.elapsed() >= PAUSE);
        if self.is_terminal && is_due {
            self.last_update = Some(Instant::now());
            // An error is ignored: progress is optional.
            let bar = self.total.map(|total| bar(done, total)).unwrap_or_default();
            let pace = pace(done, self.total, self.begun.elapsed());
            let _ = write!(io::stderr().lock(), "\r\x1b[K{bar}{done} {}{pace}", self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.last_update.is_some() {
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

/// `, 650/s, 6 s left`; empty in the first second. Does no I/O.
fn pace(done: u64, total: Option<u64>, time: Duration) -> String {
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if milliseconds < 1_000 || done == 0 {
        return String::new();
    }
    let rate = done.saturating_mul(1_000) / milliseconds;
    let left = total.map(|total| {
        let left = total.saturating_sub(done).saturating_mul(milliseconds) / done;
        format!(", {} left", duration(Duration::from_millis(left)))
    });
    format!(", {rate}/s{}", left.unwrap_or_default())
}

const BAR_COLUMNS: u64 = 30;

/// Between two updates.
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

    #[test]
    fn the_pace_has_the_rate_and_the_time_that_is_left() {
        let second = Duration::from_secs(1);
        assert_eq!(pace(650, Some(4_550), second), ", 650/s, 6 s left");
        assert_eq!(pace(90, None, second * 3), ", 30/s");
        assert_eq!(pace(5, Some(5), second), ", 5/s, 0 s left");
        assert_eq!([pace(5, None, second / 2), pace(0, Some(9), second)], ["", ""]);
    }
}
