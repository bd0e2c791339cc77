//! `inmost expire`

use std::fmt::Write;
use std::time::Duration;

use inmost::{ExpiredFile, ExpiryHindrance, ExpiryReport, ExpirySettings, ExpiryStatus};
use serde::Serialize;

use crate::args::{ActorArgs, Keep, StoreArgs, parse_unused};
use crate::display::{self, count, duration};
use crate::exit::{Exit, Failure};
use crate::output::{print, say, though_unread};
use crate::progress::Progress;
use crate::store::opening::OpenOptions;
use crate::times::parse_length;
use crate::{confirm, json_line, times};
use inmost_console::Wiped;

/// Delete files that were neither read nor changed for long, or set whether that happens by itself
///
/// No file expires and no reading is recorded until --record or --at-unlock switches that on. From then on the store
/// records the day on which each file was last read: by `cat`, or by an agent's `view` of that file. Searches, listings, exports,
/// backups and checks do not count, nor do agents that may only read. A reading is written with the next change that the same
/// program makes, or that goes through the same key daemon. So a program that only reads records nothing.
///
/// --unused-for deletes every file whose last change and last reading are both longer ago, and --dry-run only lists them. No file
/// counts as unused for longer than readings are recorded. While the history is on, a deleted file becomes a version, and
/// `inmost restore` brings it back for the history's time. With the history off it is gone. Nothing is deleted if the clock is far
/// from the time of the last change, or if the record is damaged; then every file counts as used now.
///
/// Without an option it shows the settings. The record is encrypted like everything else. Everyone who can unlock the store, or a
/// copy of it, can read it.
///
/// With --json the settings are one object: recording, `unused_seconds` (null if files do not expire at an unlock), since, `last`,
/// readings, damaged. With --unused-for each file is a line (file, bytes, `last_use`, version), and the last line has the counts:
/// files, bytes, `dry_run`, `nothing_because` (null, `not_recording`, `ledger_damaged` or `clock_in_doubt`). Times are in
/// milliseconds since 1970.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost expire --store notes.inmost --record on\n  \
    inmost expire --store notes.inmost --unused-for 90d --dry-run\n  \
    inmost expire --store notes.inmost --unused-for 90d\n  \
    inmost expire --store notes.inmost --at-unlock 180d")]
pub(crate) struct Expire {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Delete the files that were neither read nor changed for this long: a number with s, m, h or d
    #[arg(long, value_name = "TIME", value_parser = parse_length, conflicts_with_all = ["record", "at_unlock"])]
    unused_for: Option<Duration>,

    /// List the files that would be deleted, and change nothing
    #[arg(long, requires = "unused_for")]
    dry_run: bool,

    /// Record readings from now on, or stop it and remove the record
    #[arg(long, value_name = "on|off", value_enum)]
    record: Option<Switch>,

    /// Record readings, and delete unused files, once a day at most, when `inmost unlock`, or `call` or `mcp` without a key
    /// daemon, unlocks the store: a number with s, m, h or d, a day at least. `off` stops the deleting,
    /// and goes on recording
    #[arg(long, value_name = "TIME|off", value_parser = parse_unused, conflicts_with = "record")]
    at_unlock: Option<Keep>,

    /// Do not ask for confirmation, where the history is off
    #[arg(long)]
    yes: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Whether readings are recorded.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

impl Expire {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::changing(&self.actor))?;
        let Some(unused_for) = self.unused_for else {
            let expiry = store.expiry();
            if let Some(settings) = self.settings(expiry.status()?.settings) {
                expiry.set(settings)?;
            }
            let status = expiry.status()?;
            drop(store);
            return self.show(&status);
        };
        let keeps_versions = store.history().status()?.settings.time().is_some();
        if !self.dry_run && !keeps_versions {
            let question = "The history is off, so unused files are deleted for good. It cannot be undone.\n\
                            Type yes to continue: ";
            confirm::ask(self.yes, question, "yes")?;
        }
        let mut progress = Progress::new("files deleted");
        let report =
            store.expiry().expire(unused_for, self.dry_run, |done| progress.update(done))?;
        drop(progress);
        drop(store);
        self.print(&report, keeps_versions)
    }

    /// The settings to store; `None` without an option.
    fn settings(&self, now: ExpirySettings) -> Option<ExpirySettings> {
        match (self.record, self.at_unlock) {
            (_, Some(Keep(Some(time)))) => Some(ExpirySettings::at_unlock(time)),
            (_, Some(Keep(None))) if now.is_recording() => Some(ExpirySettings::record()),
            (Some(Switch::On), None) => Some(
                now.unused_for().map_or_else(ExpirySettings::record, ExpirySettings::at_unlock),
            ),
            (Some(Switch::Off), None) => Some(ExpirySettings::off()),
            _ => None,
        }
    }

    fn show(&self, status: &ExpiryStatus) -> Result<(), Failure> {
        if self.json {
            return json_line::print(&Object::of(status));
        }
        let mut text = String::new();
        for (name, value) in lines(status) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<11} {value}");
        }
        say(&text)
    }

    fn print(&self, report: &ExpiryReport, keeps_versions: bool) -> Result<(), Failure> {
        let mut lines = Wiped::default();
        if self.json {
            for file in &report.files {
                json_line::append(&Line::of(file), &mut lines)?;
            }
            let total = Total {
                files: report.count(),
                bytes: report.bytes,
                dry_run: self.dry_run,
                nothing_because: report.hindrance,
            };
            json_line::append(&total, &mut lines)?;
        } else if report.hindrance.is_none() {
            for file in &report.files {
                lines.append(line_of(file).as_bytes());
            }
            lines.append(display::unlisted(report.unlisted).as_bytes());
            lines.append(self.summary(report, keeps_versions).as_bytes());
        }
        though_unread(print(lines.as_slice()))?;
        match report.hindrance {
            None => Ok(()),
            Some(hindrance) => {
                Err(Failure::new(Exit::Other, hindrance.to_string(), advice(hindrance)))
            }
        }
    }

    fn summary(&self, report: &ExpiryReport, keeps_versions: bool) -> String {
        let files = count(report.count(), "file", "files");
        match (report.count(), self.dry_run, keeps_versions) {
            (0, ..) => "No file was unused for so long.\n".to_owned(),
            (_, true, _) => format!("{files} would be deleted. Nothing was changed.\n"),
            (_, _, true) => {
                format!("Deleted {files}. `inmost restore PATH` brings each of them back.\n")
            }
            (_, _, false) => format!("Deleted {files}.\n"),
        }
    }
}

fn advice(hindrance: ExpiryHindrance) -> &'static str {
    match hindrance {
        ExpiryHindrance::NotRecording => {
            "`inmost expire --record on` switches it on. Files can expire once they were unused from then on."
        }
        ExpiryHindrance::LedgerDamaged => {
            "A new record of readings begins now; `inmost check` names the damage. Files can expire once they were unused from now on."
        }
        _ => "Check the clock of this machine. Files can expire once they were unused from now on.",
    }
}

fn line_of(file: &ExpiredFile) -> String {
    let (path, last_use) = (display::path(file.path.as_str()), times::local_minute(file.last_use));
    let version = file.version.map(|version| format!("  version {version}")).unwrap_or_default();
    format!("{last_use}  {path}{version}\n")
}

/// The lines that `status` shows as well, as names and values.
pub(super) fn lines(status: &ExpiryStatus) -> Vec<(&'static str, String)> {
    let settings = status.settings;
    if !settings.is_recording() {
        let off = "off: no reading is recorded; `inmost expire --record on` turns that on";
        return vec![("expiry", off.to_owned())];
    }
    let mut lines = vec![match settings.unused_for() {
        None => ("expiry", "readings are recorded; no file expires by itself".to_owned()),
        Some(time) => {
            ("expiry", format!("at an unlock, of files that were unused for {}", duration(time)))
        }
    }];
    let since = status.since.map_or_else(|| "?".to_owned(), times::local_minute);
    let readings = count(status.readings, "file was", "files were");
    lines.push(("", format!("{readings} read; no file counts as unused since before {since}")));
    if let Some(last) = status.last_expiry {
        lines.push(("", format!("files last expired on {}", times::local_minute(last))));
    }
    if status.is_damaged {
        let what = "the record is damaged; the next reading begins a new one";
        lines.push(("", what.to_owned()));
    }
    lines
}

/// The settings, and what is recorded, as JSON.
#[derive(Serialize)]
pub(super) struct Object {
    recording: bool,
    unused_seconds: Option<u64>,
    since: Option<u64>,
    last: Option<u64>,
    readings: u64,
    damaged: bool,
}

impl Object {
    pub(super) fn of(status: &ExpiryStatus) -> Self {
        Self {
            recording: status.settings.is_recording(),
            unused_seconds: status.settings.unused_for().as_ref().map(Duration::as_secs),
            since: status.since.map(json_line::milliseconds),
            last: status.last_expiry.map(json_line::milliseconds),
            readings: status.readings,
            damaged: status.is_damaged,
        }
    }
}

/// A file as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    bytes: u64,
    last_use: u64,
    version: Option<u64>,
}

impl<'a> Line<'a> {
    fn of(file: &'a ExpiredFile) -> Self {
        Self {
            file: file.path.as_str(),
            bytes: file.bytes,
            last_use: json_line::milliseconds(file.last_use),
            version: file.version,
        }
    }
}

/// The last line of JSON.
#[derive(Serialize)]
struct Total {
    files: u64,
    bytes: u64,
    dry_run: bool,
    nothing_because: Option<ExpiryHindrance>,
}
