//! The report of an import or an export, which copy files one by one.

use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::output::{print, though_unread};
use crate::progress::Progress;
use crate::{display, json_line};
use inmost_console::Wiped;

/// The result for one file.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Copied {
        bytes: usize,
    },
    /// The target has an identical file already.
    Same,
    Refused(String),
}

/// Counts, and a line for each refused file.
pub(crate) struct TransferReport {
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

impl TransferReport {
    /// `what` names the unit of progress, such as `files read`.
    pub(crate) fn new(is_json: bool, total: usize, what: &'static str) -> Self {
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let progress = Progress::of(total, what);
        Self { is_json, lines: Wiped::default(), counts: Counts::default(), progress }
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

    /// The failure of an import that Ctrl-C ended. What was done so far stays, and what was refused is printed.
    pub(crate) fn interrupted(self) -> Failure {
        if let Err(failure) = though_unread(print(self.lines.as_slice())) {
            return failure;
        }
        let done = self.counts.copied.saturating_add(self.counts.same);
        let files = display::count(done, "file", "files");
        Failure::new(
            Exit::Interrupted,
            format!("The import was interrupted after {files}."),
            "Run the same command again to go on: what is there already is skipped.",
        )
    }

    /// Prints the report. `verb` names the work, such as `Imported`; `note` is a line for the person who reads it, and
    /// `no_files` is the line for a source without files.
    ///
    /// # Errors
    /// If a file was refused.
    pub(crate) fn finish(mut self, verb: &str, note: &str, no_files: &str) -> Result<(), Failure> {
        drop(self.progress);
        if self.is_json {
            json_line::append(&self.counts, &mut self.lines)?;
        } else if counts_seen(&self.counts) == 0 {
            self.lines.append(format!("{no_files}\n").as_bytes());
        } else {
            let Counts { copied, bytes, same, .. } = self.counts;
            let files = display::count(copied, "file", "files");
            self.lines.append(
                format!("{verb} {files} with {} of text.", display::size(bytes)).as_bytes(),
            );
            if same > 0 {
                let files = display::count(same, "identical file was", "identical files were");
                self.lines.append(format!(" {files} there already.").as_bytes());
            }
            self.lines.append(format!("\n{note}\n").as_bytes());
        }
        though_unread(print(self.lines.as_slice()))?;
        if self.counts.refused == 0 {
            return Ok(());
        }
        let files = display::count(self.counts.refused, "file was", "files were");
        let advice = if self.counts.copied == 0 && self.counts.same == 0 {
            "Standard output has the reason for each. There were no other files."
        } else {
            "Standard output has the reason for each. All other files are there."
        };
        Err(Failure::new(Exit::Other, format!("{files} refused."), advice))
    }
}

fn counts_seen(counts: &Counts) -> u64 {
    counts.copied.saturating_add(counts.same).saturating_add(counts.refused)
}
