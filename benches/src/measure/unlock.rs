//! Unlocking, split. The library asks the application's freshness anchor for its value right after it has opened the engine
//! and before it reads the first record, so an anchor that looks at the clock tells the two apart, exactly and without a
//! change to the library.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inmost::{Credential, FreshnessAnchor, Passphrase, VaultOptions};

use crate::results::Row;
use crate::store;

/// An anchor in memory that notes when it was asked.
#[derive(Default)]
struct Clock {
    asked: Mutex<Option<Instant>>,
    value: Mutex<Option<Vec<u8>>>,
}

impl FreshnessAnchor for Clock {
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        *self.asked.lock().expect("no panic") = Some(Instant::now());
        Ok(self.value.lock().expect("no panic").clone())
    }

    fn save(&self, value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        *self.value.lock().expect("no panic") = Some(value.to_vec());
        Ok(())
    }
}

/// Where the time of one unlock went.
struct Parts {
    /// Key derivation, if any, and opening the engine.
    until_records: Duration,
    /// Finding the store and reading its header; the root, the anchors, and what a crash may have left to do.
    rest: Duration,
    /// All of it.
    whole: Duration,
}

fn unlock<'a>(
    path: &Path,
    clock: &Arc<Clock>,
    credential: impl Into<Credential<'a>>,
) -> Result<Parts, Box<dyn Error>> {
    let anchor: Arc<dyn FreshnessAnchor> = Arc::clone(clock) as _;
    let options = VaultOptions::new().freshness_anchor(anchor);
    let begin = Instant::now();
    let mut vault = options.open(path)?;
    let found = Instant::now();
    let session = vault.unlock_with(credential)?;
    let end = Instant::now();
    session.lock();
    let asked = clock.asked.lock().expect("no panic").take().ok_or("the anchor was not asked")?;
    let rest = (found - begin) + (end - asked);
    Ok(Parts { until_records: asked - found, rest, whole: end - begin })
}

/// Unlocks a filled store so many times by its passphrase, and as often by its raw key, in turns.
///
/// # Errors
/// Those of the library.
pub fn run(path: &Path, files: &str, times: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let passphrase = Passphrase::new(store::PASSPHRASE)?;
    let (key, clock) = (store::raw_key(), Arc::new(Clock::default()));
    // Warms the files of the store, and settles what filling it has left.
    unlock(path, &clock, &key)?;
    let (mut by_passphrase, mut by_key) = (Vec::new(), Vec::new());
    for _ in 0..times {
        by_key.push(unlock(path, &clock, &key)?);
        by_passphrase.push(unlock(path, &clock, &passphrase)?);
    }
    let mut engine: Vec<Duration> = by_key.iter().map(|parts| parts.until_records).collect();
    let rest: Vec<Duration> = by_key.iter().chain(&by_passphrase).map(|parts| parts.rest).collect();
    let whole: Vec<Duration> = by_passphrase.iter().map(|parts| parts.whole).collect();
    let row =
        |name: &str, times: &[Duration]| Row::of_times(format!("unlock-{files}/{name}"), times);
    let opened = row("engine", &engine);
    engine.sort_unstable();
    let typical = engine[engine.len() / 2];
    // A raw key takes no derivation, so what a passphrase takes longer until the first record is derivation.
    let kdf: Vec<Duration> =
        by_passphrase.iter().map(|parts| parts.until_records.saturating_sub(typical)).collect();
    Ok(vec![row("kdf", &kdf), opened, row("rest", &rest), row("whole", &whole)])
}
