//! `inmost purge`

use super::rewrite::rewrite;
use crate::args::StoreArgs;
use crate::exit::Failure;

/// Rewrite a store so that its files no longer contain deleted or replaced text
///
/// The records are encrypted again under a new data key, and the old records are removed. SSDs, snapshots and backups may
/// still contain the old records; SECURITY.md says what a purge guarantees.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost purge --store notes.inmost")]
pub(crate) struct Purge {
    #[command(flatten)]
    store: StoreArgs,
}

impl Purge {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        rewrite(&self.store, "purged", |store, progress| Ok(store.purge(progress)?))
    }
}
