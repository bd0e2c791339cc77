//! Tests of a store of files under faults, crashes, many threads and tampering.

mod batches;
mod commit;
mod crafted;
mod expiry;
mod expiry_damage;
mod expiry_model;
mod faults;
mod folder_returns;
mod forget_steps;
pub(crate) mod forgotten;
mod forgotten_stays_gone;
mod full_disk;
mod gaps;
mod history_repair;
mod history_repair_cases;
mod left_whole;
mod lies;
mod lock;
mod many;
pub(crate) mod model;
mod odd;
mod older_root;
mod reap;
mod salvage;
#[cfg(shuttle)]
mod schedules;
mod series;
mod taken_away;
mod taken_away_model;
mod tamper;
mod tamper_history;
mod torn_commit;
mod version_model;
mod version_orders;
mod version_requests;
pub(crate) mod versions;

use crate::session::{Session, shift_clock};

/// Lets the store see days pass: time alone does not end versions, changes on several days do.
pub(crate) fn pass_days(session: &Session, days: i64) {
    for day in 0..days / 3 {
        shift_clock(3 * 24 * 60 * 60 * 1_000);
        session.files().write("/memories/after", &day.to_string()).unwrap();
    }
}
