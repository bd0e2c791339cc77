//! `inmost history`

use std::fmt::Write;
use std::time::Duration;

use inmost::{HistorySettings, HistoryStatus};
use serde::Serialize;

use crate::args::{Keep, StoreArgs};
use crate::display::{count, duration, size};
use crate::exit::Failure;
use crate::output::say;
use crate::store::opening::OpenOptions;
use crate::{confirm, json_line, sizes};

/// Show or set how long a store keeps versions of its files
///
/// While the history is on, every change of a file leaves the text before it behind, encrypted like everything else:
/// deleted and replaced text can come back for the set time after the change. `inmost log` lists the changes, `inmost undo`
/// and `inmost restore` go back, and `inmost forget` removes versions earlier. Everyone who can unlock the
/// store can read them.
///
/// With --json one object is printed: `keep_seconds` (null if the history is off), `max_bytes`, entries, bytes, damaged,
/// unreadable (entries), and `lost_before`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost history --store notes.inmost\n  \
    inmost history --store notes.inmost --keep 90d --max-bytes 1073741824\n  \
    inmost history --store notes.inmost --keep off")]
pub(crate) struct History {
    #[command(flatten)]
    store: StoreArgs,

    /// Keep a text for this long after the change that replaced or deleted it: a number with s, m, h or d; `off` keeps none, and drops
    /// those that are kept now
    #[arg(long, value_name = "TIME|off")]
    keep: Option<Keep>,

    /// Keep at most this many bytes of earlier texts, such as 256M; then the oldest go first [default: 256M]
    #[arg(long, value_name = "BYTES", value_parser = sizes::parse)]
    max_bytes: Option<u64>,

    /// Do not ask for confirmation before versions are dropped
    #[arg(long)]
    yes: bool,

    /// Print the settings as one line of JSON
    #[arg(long)]
    json: bool,
}

impl History {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::default())?;
        let history = store.history();
        let before = history.status()?;
        if self.keep.is_some() || self.max_bytes.is_some() {
            let settings = self.settings(&before)?;
            if before.entries > 0 && keeps_less(&before.settings, &settings) {
                let question = "Versions that the new setting does not keep are dropped. It cannot be undone.\n\
                                Type yes to continue: ";
                confirm::ask(self.yes, question, "yes")?;
            }
            history.set(settings)?;
        }
        let status = history.status()?;
        drop(store);
        if self.json {
            return json_line::print(&Object::of(&status));
        }
        say(&as_text(&status))
    }

    fn settings(&self, now: &HistoryStatus) -> Result<HistorySettings, Failure> {
        let time = match self.keep {
            Some(Keep(time)) => time,
            None => now.settings.time(),
        };
        let Some(time) = time else {
            if self.max_bytes.is_some() {
                return Err(Failure::usage(
                    "The history is off, so it has no size.",
                    "Turn it on with --keep, for example --keep 30d.",
                ));
            }
            return Ok(HistorySettings::off());
        };
        let room = self.max_bytes.unwrap_or_else(|| now.settings.room());
        let settings = HistorySettings::keep(time);
        Ok(settings.max_bytes(room))
    }
}

/// Whether the new settings keep less than the old ones.
fn keeps_less(old: &HistorySettings, new: &HistorySettings) -> bool {
    new.time().unwrap_or_default() < old.time().unwrap_or_default() || new.room() < old.room()
}

/// The lines that `status` shows as well, as names and values.
pub(super) fn lines(status: &HistoryStatus) -> Vec<(&'static str, String)> {
    let mut lines = vec![match status.settings.time() {
        None => ("history", "off; `inmost history --keep 30d` turns it on".to_owned()),
        Some(time) => ("history", format!("keeps earlier texts for {}", duration(time))),
    }];
    if status.settings.time().is_some() || status.entries > 0 {
        let entries = count(status.entries, "entry", "entries");
        let most = status.settings.room();
        lines.push(("", format!("{entries}, {} of at most {}", size(status.bytes), size(most))));
    }
    if status.is_damaged {
        let what = "damaged and unreadable; the next change begins a new one";
        lines.push(("", what.to_owned()));
    }
    if status.unreadable > 0 {
        let entries = count(status.unreadable, "entry", "entries");
        let next = "`inmost repair` keeps the others";
        lines.push(("", format!("{entries} cannot be read; {next}")));
    }
    if let Some(first) = status.lost_before {
        lines.push(("", format!("what was before version {first} was lost to damage")));
    }
    lines
}

fn as_text(status: &HistoryStatus) -> String {
    let mut text = String::new();
    for (name, value) in lines(status) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<11} {value}");
    }
    text
}

/// The settings, and what the history holds, as JSON.
#[derive(Serialize)]
pub(super) struct Object {
    keep_seconds: Option<u64>,
    max_bytes: u64,
    entries: u64,
    bytes: u64,
    damaged: bool,
    unreadable: u64,
    lost_before: Option<u64>,
}

impl Object {
    pub(super) fn of(status: &HistoryStatus) -> Self {
        Self {
            keep_seconds: status.settings.time().as_ref().map(Duration::as_secs),
            max_bytes: status.settings.room(),
            entries: status.entries,
            bytes: status.bytes,
            damaged: status.is_damaged,
            unreadable: status.unreadable,
            lost_before: status.lost_before,
        }
    }
}
