//! Measures the processor time of a durable edit.
//!
//! The kernel divides the time of a thread between the program and system calls by looking at it a few hundred times a second, so a
//! sample needs many edits.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use crate::calls::{edits, fill};
use crate::peers::Kind;
use crate::results::Row;

/// The number of samples.
const SAMPLES: usize = 5;

/// Measures this many edits of inmost at depth 1 and depth 3. There are two rows of each, both without system calls: the time of the
/// calling thread, and that of all other threads of the process, which write checkpoints.
///
/// # Errors
/// The errors of the peer and the file system.
pub fn run(name: &str, work: &Path, edits: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    std::fs::create_dir_all(work)?;
    let mut rows = Vec::new();
    for depth in [1, 3] {
        let [caller, others] = measure(&work.join(format!("{name}-{depth}")), depth, edits)?;
        rows.push(Row::of_times(format!("cpu/{name}-depth-{depth}"), &caller));
        rows.push(Row::of_times(format!("cpu/{name}-depth-{depth}-others"), &others));
    }
    Ok(rows)
}

fn measure(path: &Path, depth: usize, count: usize) -> Result<[Vec<Duration>; 2], Box<dyn Error>> {
    let peer = Kind::Inmost.begin(path)?;
    let edits = edits(&fill(&*peer, depth)?);
    let part = count.div_ceil(SAMPLES);
    let mut next = edits.iter().cycle();
    let mut make = || -> Result<(), Box<dyn Error>> {
        for edit in next.by_ref().take(part) {
            peer.call(edit).map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    // Not counted. It fills caches.
    make()?;
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..SAMPLES {
        let (thread, process) = (user_time(libc::RUSAGE_THREAD)?, user_time(libc::RUSAGE_SELF)?);
        make()?;
        let caller = user_time(libc::RUSAGE_THREAD)?.saturating_sub(thread);
        let all = user_time(libc::RUSAGE_SELF)?.saturating_sub(process);
        let part = u32::try_from(part)?;
        samples[0].push(caller / part);
        samples[1].push(all.saturating_sub(caller) / part);
    }
    drop(peer);
    std::fs::remove_dir_all(path)?;
    Ok(samples)
}

/// The processor time of this thread, or of this process, without system calls.
fn user_time(who: libc::c_int) -> Result<Duration, Box<dyn Error>> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for a write of this type, and the zeroed value is valid for it.
    let (result, usage) =
        unsafe { (libc::getrusage(who, usage.as_mut_ptr()), usage.assume_init()) };
    if result != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    let seconds = u64::try_from(usage.ru_utime.tv_sec)?;
    let micros = u64::try_from(usage.ru_utime.tv_usec)?;
    Ok(Duration::from_secs(seconds) + Duration::from_micros(micros))
}
