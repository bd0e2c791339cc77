//! `inmost purge`

use super::rewrite::rewrite;
use crate::args::StoreArgs;
use crate::exit::Failure;

/// Write a store anew, so that what was deleted or replaced is gone from its files
///
/// The records are sealed under a fresh data key and the old ones removed. On SSDs, in snapshots and backups the
/// old ones may survive; SECURITY.md says what may be relied on.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost purge --store notes.inmost")]
pub(crate) struct Purge {
    #[command(flatten)]
    store: StoreArgs,
}

impl Purge {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        rewrite(&self.store, "purged", |store, progress| store.purge(progress))
    }
}
