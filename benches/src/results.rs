//! Results: one JSON file per measurement, from which `page.py` writes the page.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

/// The samples of one row.
#[derive(Serialize)]
pub struct Row {
    /// The name of the row: `group/name`.
    pub id: String,
    /// The unit of the samples: `ns` or `bytes`.
    pub unit: &'static str,
    /// One number per repetition, in order.
    pub samples: Vec<f64>,
}

impl Row {
    /// Creates a row of times.
    #[must_use]
    pub fn of_times(id: impl Into<String>, times: &[Duration]) -> Self {
        let samples = times.iter().map(|time| time.as_secs_f64() * 1e9).collect();
        Self { id: id.into(), unit: "ns", samples }
    }

    /// Creates a row of lengths.
    #[must_use]
    pub fn of_bytes(id: impl Into<String>, bytes: &[u64]) -> Self {
        let samples = bytes.iter().map(|bytes| *bytes as f64).collect();
        Self { id: id.into(), unit: "bytes", samples }
    }
}

/// Writes rows to `folder/name.json`.
///
/// # Errors
/// The errors of the file system.
pub fn write(folder: &Path, name: &str, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(name).with_extension("json"), serde_json::to_vec_pretty(rows)?)?;
    Ok(())
}
