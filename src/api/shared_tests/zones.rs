//! Calls of many threads on a few files, and the rule by which they are judged; see `tests/store/linearizable.rs`.

use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// What threads call.
pub(crate) trait Files: Sync {
    fn write(&self, path: &str, text: &str);
    fn read(&self, path: &str) -> String;
}

/// Runs threads on each host, and returns the calls on each file. Every text is unique.
pub(crate) fn history<F: Files>(
    hosts: &[F],
    threads: usize,
    rounds: usize,
    files: usize,
) -> Vec<Vec<Call>> {
    let clock = AtomicU64::new(0);
    let now = || clock.fetch_add(1, Ordering::SeqCst);
    let path = |file: usize| format!("/memories/{file}.md");
    let mut all = vec![Vec::new(); files];
    for (file, calls) in all.iter_mut().enumerate() {
        let (begin, text) = (now(), format!("first of {file}"));
        hosts[0].write(&path(file), &text);
        calls.push(Call { begin, end: now(), is_write: true, text });
    }
    let barrier = Barrier::new(threads * hosts.len());
    let work = |host: usize, thread: usize| {
        let mut calls = Vec::new();
        barrier.wait();
        for round in 0..rounds {
            let file = (host + thread * 7 + round * 5 + round / 3) % files;
            let is_write = (host + thread + round).is_multiple_of(3);
            let begin = now();
            let text = if is_write {
                let text = format!("{host}.{thread}.{round} {}", "x".repeat(round % 7 * 700));
                hosts[host].write(&path(file), &text);
                text
            } else {
                hosts[host].read(&path(file))
            };
            calls.push((file, Call { begin, end: now(), is_write, text }));
        }
        calls
    };
    let work = &work;
    thread::scope(|scope| {
        let all_threads = (0..hosts.len()).flat_map(|host| (0..threads).map(move |it| (host, it)));
        let handles: Vec<_> =
            all_threads.map(|(host, it)| scope.spawn(move || work(host, it))).collect();
        for handle in handles {
            for (file, call) in handle.join().unwrap() {
                all[file].push(call);
            }
        }
    });
    all
}

/// A call on one file.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) is_write: bool,
    pub(crate) text: String,
}

/// The span of the calls on one text.
struct Zone {
    from: u64,
    to: u64,
    /// Whether the text must have been present all the time. Otherwise it appeared and was replaced within
    /// the zone.
    stood: bool,
}

/// Checks the history of one file. Returns the reason if it is not linearizable.
pub(crate) fn judge(calls: &[Call]) -> Result<(), String> {
    let mut by_text: HashMap<&str, Vec<&Call>> = HashMap::new();
    for call in calls {
        by_text.entry(&call.text).or_default().push(call);
    }
    let mut zones = Vec::new();
    for (text, calls) in by_text {
        let writes: Vec<_> = calls.iter().filter(|call| call.is_write).collect();
        let [write] = writes[..] else {
            return Err(format!("{text} was written {} times", writes.len()));
        };
        if let Some(read) = calls.iter().find(|call| call.end < write.begin) {
            return Err(format!("{read:?} returned before {write:?} began"));
        }
        let earliest_end = calls.iter().map(|call| call.end).min().unwrap();
        let latest_begin = calls.iter().map(|call| call.begin).max().unwrap();
        let (from, to) = (earliest_end.min(latest_begin), earliest_end.max(latest_begin));
        zones.push((text, Zone { from, to, stood: earliest_end < latest_begin }));
    }
    for (text, zone) in zones.iter().filter(|(_, zone)| zone.stood) {
        for (other_text, other) in &zones {
            if text == other_text {
                continue;
            }
            let wrong = if other.stood {
                zone.from < other.to && other.from < zone.to
            } else {
                zone.from < other.from && other.to < zone.to
            };
            if wrong {
                return Err(format!("{other_text} came between calls that saw {text}"));
            }
        }
    }
    Ok(())
}
