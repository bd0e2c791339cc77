//! What came of copying files one by one between a folder and the memory.

use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::progress::Progress;
use crate::wiped::Wiped;
use crate::{display, json_line};

/// What became of one file.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Copied {
        bytes: usize,
    },
    /// It was there already, byte for byte.
    Same,
    Refused(String),
}

/// Counts, and a line for each file that was refused.
pub(crate) struct Report {
    is_json: bool,
    lines: Wiped,
    counts: Counts,
    progress: Progress,
}

#[derive(Default, Serialize)]
struct Counts {
    copied: u64,
    bytes: u64,
    same: u64,
    refused: u64,
}

#[derive(Serialize)]
struct Refused<'a> {
    file: &'a str,
    refused: &'a str,
}

impl Report {
    /// Of `total` files; `what` says what is done to them.
    pub(crate) fn new(is_json: bool, total: usize, what: &'static str) -> Self {
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let progress = Progress::of(total, what);
        Self { is_json, lines: Wiped::new(), counts: Counts::default(), progress }
    }

    pub(crate) fn add(&mut self, file: &str, outcome: &Outcome) -> Result<(), Failure> {
        let counts = &mut self.counts;
        match outcome {
            Outcome::Copied { bytes } => {
                counts.copied += 1;
                counts.bytes =
                    counts.bytes.saturating_add(u64::try_from(*bytes).unwrap_or(u64::MAX));
            }
            Outcome::Same => counts.same += 1,
            Outcome::Refused(reason) => {
                counts.refused += 1;
                self.refuse(file, reason)?;
            }
        }
        self.progress.update(counts_seen(&self.counts));
        Ok(())
    }

    fn refuse(&mut self, file: &str, reason: &str) -> Result<(), Failure> {
        if self.is_json {
            return json_line::append(&Refused { file, refused: reason }, &mut self.lines);
        }
        self.lines.append(format!("refused {}: {reason}\n", display::path(file)).as_bytes());
        Ok(())
    }

    /// Tells it: `verb` is what was done, and `note` what has to be known about it.
    ///
    /// # Errors
    /// If a file was refused.
    pub(crate) fn finish(mut self, verb: &str, note: &str) -> Result<(), Failure> {
        drop(self.progress);
        if self.is_json {
            json_line::append(&self.counts, &mut self.lines)?;
        } else {
            let Counts { copied, bytes, same, .. } = self.counts;
            let (files, were) =
                (display::count(copied, "file", "files"), display::count(same, "was", "were"));
            let line = format!(
                "{verb} {files} with {bytes} bytes of text; {were} there already.\n{note}\n"
            );
            self.lines.append(line.as_bytes());
        }
        print(self.lines.expose())?;
        if self.counts.refused == 0 {
            return Ok(());
        }
        let what = display::count(self.counts.refused, "file was", "files were");
        Err(Failure::new(
            Exit::Other,
            format!("{what} refused."),
            "Each is listed with the reason; all others were copied.",
        ))
    }
}

fn counts_seen(counts: &Counts) -> u64 {
    counts.copied.saturating_add(counts.same).saturating_add(counts.refused)
}
