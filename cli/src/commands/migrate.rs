//! `inmost migrate`

use super::rewrite::rewrite;
use crate::args::StoreArgs;
use crate::engine::EngineName;
use crate::exit::Failure;

/// Move a store to another engine
///
/// Everything is written anew into that engine, as by `purge`, and only then is the old one removed: a crash
/// leaves one of the two whole.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost migrate --store notes.inmost --engine redb")]
pub(crate) struct Migrate {
    #[command(flatten)]
    store: StoreArgs,

    /// What is to keep its records
    #[arg(long, value_name = "ENGINE")]
    engine: EngineName,
}

impl Migrate {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        rewrite(&self.store, "moved", |store, progress| store.migrate(self.engine, progress))
    }
}
