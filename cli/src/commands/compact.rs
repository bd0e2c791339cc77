//! `inmost compact`

use super::rewrite::rewrite;
use crate::args::StoreArgs;
use crate::exit::Failure;

/// Write a store anew, so that it takes no more room than it needs
///
/// The same as `purge`, which it is called when the room is what matters. Needs as much free room as the store
/// holds.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost compact --store notes.inmost")]
pub(crate) struct Compact {
    #[command(flatten)]
    store: StoreArgs,
}

impl Compact {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        rewrite(&self.store, "compacted", |store, progress| store.purge(progress))
    }
}
