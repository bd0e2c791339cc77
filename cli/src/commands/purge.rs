//! `inmost purge`

use inmost::HistoryStatus;

use super::rewrite::rewrite;
use crate::args::StoreArgs;
use crate::confirm;
use crate::display::{count, size};
use crate::exit::Failure;
use crate::interrupt::DaemonWork;

/// Rewrite a store so that its files no longer contain deleted or replaced text
///
/// Drops the history with all its versions; if there are any, asks for confirmation. `inmost compact` keeps them. The
/// setting of the history stays.
///
/// The records are encrypted again under a new data key, and the old records are removed. SSDs, snapshots and backups may
/// still contain the old records; SECURITY.md says what a purge guarantees.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost purge --store notes.inmost\n  \
    inmost purge --store notes.inmost --yes")]
pub(crate) struct Purge {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object: `before_bytes` and `after_bytes` on disk, and `set_aside_bytes`
    #[arg(long)]
    json: bool,

    /// Do not ask for confirmation before versions are dropped
    #[arg(long)]
    yes: bool,
}

impl Purge {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        rewrite(&self.store, self.json, "purged", |store, progress| {
            let history = store.history().status()?;
            if history.entries > 0 || history.is_damaged {
                confirm::ask(self.yes, &question(&history), "yes")?;
            }
            let _daemon_work = DaemonWork::begin(store);
            Ok(store.purge(progress)?)
        })
    }
}

fn question(history: &HistoryStatus) -> String {
    let versions = if history.is_damaged {
        "the damaged history".to_owned()
    } else {
        format!("the history, {} with", count(history.entries, "entry", "entries"))
            + &format!(" {} of earlier text", size(history.bytes))
    };
    format!(
        "This drops {versions}; it cannot be undone. `inmost compact` keeps it.\n\
         Type yes to purge the store: "
    )
}
