//! `inmost compact`

use super::rewrite::rewrite;
use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::interrupt::DaemonWork;

/// Rewrite a store so that it uses no more disk space than it needs
///
/// The records are encrypted again under a new data key, and the old records are removed: text that was deleted, and that
/// the history does not keep, is then gone from the store's files. `inmost purge` drops the history as well. Needs as much
/// free disk space as the store's content takes.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost compact --store notes.inmost")]
pub(crate) struct Compact {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object: `before_bytes` and `after_bytes` on disk, and `set_aside_bytes`
    #[arg(long)]
    json: bool,
}

impl Compact {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        rewrite(&self.store, self.json, "compacted", |store, progress| {
            let _daemon_work = DaemonWork::begin(store);
            Ok(store.compact(progress)?)
        })
    }
}
