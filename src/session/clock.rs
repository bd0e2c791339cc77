//! Times as they are stored, in milliseconds since 1970, and the rule for a clock that is wrong.
//!
//! Any clock may be wrong: behind by days, at 1970, ahead by a year. So the time of a version is not over when the clock says so,
//! but when the history has seen that time pass: [`seen_at`] is the rule, [`is_over_below`] applies it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::session::error::StoreError;
use inmost_format::record::history::Seen;

/// The current time; 0 if the clock is set to a time before 1970.
pub(crate) fn now() -> u64 {
    let now = milliseconds(SystemTime::now());
    #[cfg(any(test, feature = "internals"))]
    let now = FROZEN.get().unwrap_or(now);
    #[cfg(test)]
    let now = now.saturating_add_signed(SHIFT.get());
    now
}

/// The time that a history has seen pass when a change is made, or would be, at `now`, from the time that it had seen before.
/// `keep` is the time for which texts are kept. Does no I/O.
///
/// From one change to the next, what the clock shows counts as it is, up to a step of an eighth of `keep`. If the clock went back, or
/// further ahead than a step, nothing counts: the clock may be wrong. The history watches this other clock. Should the next change
/// show the former time again, the other clock is forgotten. If it goes on, by four steps in all of which each change adds one at
/// most, it is believed: a clock that is ahead then shows time in which nobody changed anything, and that counts as a whole.
/// One that is behind counts from then on.
pub(crate) fn seen_at(seen: Seen, now: u64, keep: u64) -> Seen {
    let (now, step) = (now.max(1), step(keep));
    if seen.latest == 0 {
        return Seen { latest: now, ..Seen::default() };
    }
    let Seen { age, latest, former, .. } = seen;
    if let Some(passed) = now.checked_sub(latest).filter(|passed| *passed <= step) {
        let age = age.saturating_add(passed);
        return Seen { age, latest: now, former, ..Seen::default() };
    }
    let is_other = seen.from == 0 || now < seen.from || (now < latest) != (seen.from < latest);
    if is_other {
        return Seen { from: now, to: now, passed: 0, ..seen };
    }
    let goes_on = now.saturating_sub(seen.to).min(step);
    let (passed, to) = (seen.passed.saturating_add(goes_on), now.max(seen.to));
    if passed < BELIEVED_STEPS.saturating_mul(step) {
        return Seen { to, passed, ..seen };
    }
    let by_latest = age.saturating_add(seen.to.saturating_sub(latest));
    // What passed while a clock that was behind was believed counts once.
    let by_former = if former == 0 { u64::MAX } else { seen.to.saturating_sub(former) };
    let (age, former) = (by_latest.min(by_former).max(age), latest.saturating_sub(age));
    seen_at(Seen { age, latest: seen.to, former, ..Seen::default() }, now, keep)
}

/// The age below which the time of an entry is over, if `seen` is the time that its history has seen. Longer than `keep` by a step:
/// a clock that is ahead by less counts as it is, and must not end a text early.
pub(crate) fn is_over_below(seen: &Seen, keep: u64) -> u64 {
    seen.age.saturating_sub(keep).saturating_sub(step(keep))
}

/// The longest time between two changes that counts without further proof.
fn step(keep: u64) -> u64 {
    (keep / STEPS).max(1)
}

/// Steps in the time for which texts are kept.
const STEPS: u64 = 8;
/// Steps by which a clock goes on before it is believed.
const BELIEVED_STEPS: u64 = 4;

/// Fails if the clock shows a time before 1970. Nothing can be opened then: sled panics, and the panic looks like damage.
pub(crate) fn check_clock() -> Result<(), StoreError> {
    let now = SystemTime::now();
    #[cfg(test)]
    let now = shifted(now);
    if now < UNIX_EPOCH { Err(StoreError::ClockBefore1970) } else { Ok(()) }
}

#[cfg(test)]
fn shifted(now: SystemTime) -> SystemTime {
    let by = Duration::from_millis(SHIFT.get().unsigned_abs());
    if SHIFT.get() < 0 { now - by } else { now + by }
}

#[cfg(test)]
thread_local! {
    /// Milliseconds by which the clock of this thread is ahead.
    static SHIFT: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

#[cfg(any(test, feature = "internals"))]
thread_local! {
    /// The time of this thread, if it stands still.
    static FROZEN: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Shifts the clock of this thread.
#[cfg(test)]
pub(crate) fn shift_clock(milliseconds: i64) {
    SHIFT.set(SHIFT.get().saturating_add(milliseconds));
}

#[cfg(feature = "internals")]
thread_local! {
    /// Whether no version counts as over in this thread.
    static SHOWS_ALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether versions whose time is over count as absent.
pub(crate) fn hides_what_is_over() -> bool {
    #[cfg(feature = "internals")]
    return !SHOWS_ALL.get();
    #[cfg(not(feature = "internals"))]
    true
}

/// Sets whether this thread sees versions whose time is over, too.
#[cfg(feature = "internals")]
pub(crate) fn show_all(shows: bool) {
    SHOWS_ALL.set(shows);
}

/// Stops the clock of this thread at a time, in milliseconds since 1970.
#[cfg(any(test, feature = "internals"))]
pub(crate) fn freeze_clock(milliseconds: u64) {
    FROZEN.set(Some(milliseconds));
}

/// Converts a time to store it. A time before 1970 becomes 0.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Converts a stored time. A time that this system cannot express becomes 1970.
pub(crate) fn time_of(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds)).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests;
