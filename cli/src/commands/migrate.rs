//! `inmost migrate`

use super::rewrite::rewrite;
use crate::args::StoreArgs;
use crate::engine::EngineName;
use crate::exit::Failure;

/// Move a store to another storage engine
///
/// Rewrites the whole store into the new engine, as `compact` does, and then removes the old one. After a crash, one of the
/// two is complete.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost migrate --store notes.inmost --engine redb")]
pub(crate) struct Migrate {
    #[command(flatten)]
    store: StoreArgs,

    /// The new storage engine
    #[arg(long, value_name = "ENGINE")]
    engine: EngineName,
}

impl Migrate {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        rewrite(&self.store, "moved", |store, progress| {
            Ok(store.migrate(self.engine.engine(), progress)?)
        })
    }
}
