//! The memory of a process from outside: its mappings and their content.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::traces::{Counts, Search};

/// A readable mapping.
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Its kind, from its name, its neighbours and its flags.
    pub(crate) place: &'static str,
}

/// Returns the readable mappings of a process, in order.
pub(crate) fn mappings(process: u32) -> Vec<Mapping> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps")).unwrap();
    let mut mappings: Vec<Mapping> = Vec::new();
    // A thread's stack follows its guard page.
    let mut guard_end = 0;
    for line in text.lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            if let Some(last) = mappings.last_mut()
                && last.place == "anonymous"
                && flags.split_whitespace().any(|flag| flag == "lo")
            {
                last.place = "locked";
            }
            continue;
        }
        let Some((range, rest)) = line.split_once(' ') else { continue };
        let Some((start, end)) = range.split_once('-') else { continue };
        let Ok(start) = u64::from_str_radix(start, 16) else { continue };
        let end = u64::from_str_radix(end, 16).unwrap();
        let mut fields = rest.split_whitespace();
        let access = fields.next().unwrap();
        let name = fields.nth(3).unwrap_or_default();
        if !access.starts_with('r') {
            guard_end = end;
            continue;
        }
        let place = match name {
            "[heap]" => "heap",
            "[stack]" => "main stack",
            "[vvar]" | "[vvar_vclock]" | "[vsyscall]" => continue,
            "" if start % (64 << 20) == 0 => "arena",
            "" if start == guard_end => "thread stack",
            "" => "anonymous",
            _ => "file",
        };
        mappings.push(Mapping { start, end, place });
    }
    mappings
}

/// Returns whether this process may read the memory of another one.
pub(crate) fn is_readable(process: u32) -> bool {
    let memory = File::open(format!("/proc/{process}/mem"));
    memory.is_ok_and(|memory| {
        mappings(process).iter().any(|mapping| memory.read_at(&mut [0; 8], mapping.start).is_ok())
    })
}

/// Counts the traces in the memory of a process.
pub(crate) fn traces(process: u32, search: &Search) -> Counts {
    let memory = File::open(format!("/proc/{process}/mem")).unwrap();
    let mut counts = Counts::new();
    let mut read = 0;
    for mapping in mappings(process) {
        let mut bytes = vec![0; usize::try_from(mapping.end - mapping.start).unwrap()];
        // Some special mappings have names but no memory, and a thread may have ended since they were listed.
        if memory.read_exact_at(&mut bytes, mapping.start).is_err() {
            assert!(["file", "thread stack"].contains(&mapping.place), "{}", mapping.place);
            continue;
        }
        read += bytes.len();
        for trace in search.traces(&bytes) {
            if std::env::var_os("INMOST_TRACES").is_some() {
                let around = &bytes[trace.at.saturating_sub(32)..(trace.at + 96).min(bytes.len())];
                eprintln!(
                    "{} {:#x} {trace:?}: {}",
                    mapping.place,
                    mapping.start + u64::try_from(trace.at).unwrap(),
                    String::from_utf8_lossy(around)
                );
            }
            *counts.entry((trace.name, mapping.place.to_owned())).or_default() += 1;
        }
    }
    assert!(read > 1 << 20, "too little memory was read");
    counts
}
