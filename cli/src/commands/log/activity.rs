//! The number of changes on each day, as a line of columns.

use std::collections::BTreeMap;
use std::time::SystemTime;

use jiff::civil::Date;

use crate::bars::columns;
use crate::{display, times};

/// Changes by the day of this machine's time zone.
#[derive(Default)]
pub(super) struct Activity(BTreeMap<Date, u64>);

impl Activity {
    pub(super) fn add(&mut self, time: SystemTime) {
        // Only a damaged store has a time that no calendar has.
        if let Some(day) = times::local_day(time) {
            let changes = self.0.entry(day).or_default();
            *changes = changes.saturating_add(1);
        }
    }

    /// A line for the days up to the last one with a change; nothing if all changes were made on one day.
    pub(super) fn line(&self) -> String {
        let (Some((first, _)), Some((last, _))) =
            (self.0.first_key_value(), self.0.last_key_value())
        else {
            return String::new();
        };
        if first == last {
            return String::new();
        }
        let mut days = vec![*last];
        while let Some(day) = days.last().filter(|day| *day > first && days.len() < DAYS) {
            match day.yesterday() {
                Ok(day) => days.push(day),
                Err(_) => break,
            }
        }
        days.reverse();
        let counts: Vec<u64> =
            days.iter().map(|day| self.0.get(day).copied().unwrap_or_default()).collect();
        let start = days.first().copied().unwrap_or(*last);
        let changes = display::count(counts.iter().sum(), "change", "changes");
        format!("{start} {} {last}  {changes}\n\n", columns(&counts))
    }
}

/// Days that the line shows at most.
const DAYS: usize = 42;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(changes: &[(&str, u64)]) -> String {
        Activity(changes.iter().map(|(day, number)| (day.parse().unwrap(), *number)).collect())
            .line()
    }

    #[test]
    fn each_day_has_a_column() {
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[("2026-11-21", 7)]), "");
        assert_eq!(
            of(&[("2026-10-31", 8), ("2026-11-02", 1)]),
            "2026-10-31 █·▁ 2026-11-02  9 changes\n\n"
        );
        let long = of(&[("2020-01-01", 8), ("2026-11-20", 3), ("2026-11-21", 1)]);
        assert!(
            long.starts_with("2026-10-11 ··") && long.ends_with("·█▃ 2026-11-21  4 changes\n\n")
        );
        assert_eq!(of(&[("-009999-01-01", 1), ("9999-12-31", 1)]).matches('·').count(), DAYS - 1);
    }
}
