//! What the kernel counts for this process.

use std::error::Error;
use std::fs;

/// Bytes that this process has written to files.
pub struct Written {
    /// `write_bytes`: the file pages that it made dirty. If the kernel caches a file in large folios, one dirty
    /// byte counts as a whole folio.
    pub pages: u64,
    /// `wchar`: the bytes that it passed to `write`.
    pub handed: u64,
}

impl Written {
    /// Reads both counters.
    ///
    /// # Errors
    /// If the kernel does not count.
    pub fn now() -> Result<Self, Box<dyn Error>> {
        let counter = |name| of_proc("/proc/self/io", name);
        Ok(Self { pages: counter("write_bytes:")?, handed: counter("wchar:")? })
    }

    /// Returns the bytes that were written after an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { pages: self.pages - earlier.pages, handed: self.handed - earlier.handed }
    }
}

/// Returns the resident memory of this process in bytes.
///
/// # Errors
/// If the kernel does not report it.
pub fn resident() -> Result<u64, Box<dyn Error>> {
    Ok(of_proc("/proc/self/status", "VmRSS:")? * 1_024)
}

fn of_proc(file: &str, field: &str) -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or_else(|| format!("{file} has no {field}"))?.parse()?)
}
