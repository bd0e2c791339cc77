//! `inmost forget`

use serde::Serialize;

use crate::args::{ActorArgs, StoreArgs};
use crate::completion;
use crate::confirm;
use crate::display::{self, count};
use crate::exit::Failure;
use crate::interrupt::DaemonWork;
use crate::json_line;
use crate::memory_path;
use crate::output::say;
use crate::progress::Progress;
use crate::store::opening::OpenOptions;
use crate::version::{CIPHERTEXT_STAYS, nothing_found};

/// Remove versions of what is or was at or below a path from the history
///
/// Takes every version, or with --until those up to and including one: no text leaves the middle of a file's versions. Takes
/// versions inside deleted folders too, and those of each file there under its other paths. Current files stay as they are:
/// delete a file first, with `inmost rm`, if its text must go too. It cannot be undone. After an interruption a part of the
/// versions is left; then run it again.
///
/// The ciphertext stays in the store's files until `inmost compact`. Copies and backups keep it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost forget --store notes.inmost /memories/secret.md\n  \
    inmost forget --store notes.inmost /memories/plan.md --until 1984\n  \
    inmost forget --store notes.inmost /memories --everything --yes")]
pub(crate) struct Forget {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Allow /memories as the path, which removes the whole history
    #[arg(long)]
    everything: bool,

    /// Remove only the versions up to and including this one; `inmost log` lists them
    #[arg(long, value_name = "VERSION")]
    until: Option<u64>,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Print one JSON object: path, and versions, the number of those that were removed
    #[arg(long)]
    json: bool,

    /// The file or folder; it need not exist any more
    #[arg(value_parser = memory_path::parse, add = completion::memory_path())]
    path: String,
}

impl Forget {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let path = display::path(&self.path);
        let is_root = memory_path::is_root(&self.path);
        if is_root && self.until.is_none() && !self.everything {
            return Err(Failure::usage(
                "This would remove the whole history.",
                "Add --everything if that is meant, or name a file or folder below /memories.",
            ));
        }
        let which = match self.until {
            Some(until) => {
                format!("the versions up to {until} of what is or was at or below {path}")
            }
            None if is_root => "the whole history".to_owned(),
            None => format!("every version of what is or was at or below {path}"),
        };
        confirm::ask(
            self.yes,
            &format!("This cannot be undone. Type yes to forget {which}: "),
            "yes",
        )?;
        let store = self.store.open(&OpenOptions::changing(&self.actor))?;
        let history = store.history();
        let mut progress = Progress::new("versions removed");
        let daemon_work = DaemonWork::begin(&store);
        let removed = history
            .forget(&self.path, self.until, |done| progress.update(done))
            .map_err(|error| Failure::at(&self.path, error))?;
        drop((daemon_work, progress));
        if removed == 0 {
            // A path that was mistyped must not look forgotten.
            let until = self.until.map(|until| format!(" up to {until}")).unwrap_or_default();
            let message = format!("The history has no version of {path}{until}.");
            return Err(nothing_found(&history.status()?, message));
        }
        drop(store);
        if self.json {
            return json_line::print(&Object { path: &self.path, versions: removed });
        }
        let versions = count(removed, "version", "versions");
        say(&format!("Forgot {versions}. {CIPHERTEXT_STAYS}"))
    }
}

/// What was forgotten, as JSON.
#[derive(Serialize)]
struct Object<'a> {
    path: &'a str,
    versions: u64,
}
