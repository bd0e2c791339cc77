//! `inmost compact`

use super::rewrite::rewrite;
use crate::args::StoreArgs;
use crate::exit::Failure;

/// Rewrite a store so that it uses no more disk space than it needs
///
/// Does the same as `purge`, for those who care about the space. Needs as much free disk space as the store's content
/// takes.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost compact --store notes.inmost")]
pub(crate) struct Compact {
    #[command(flatten)]
    store: StoreArgs,
}

impl Compact {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        rewrite(&self.store, "compacted", |store, progress| Ok(store.purge(progress)?))
    }
}
