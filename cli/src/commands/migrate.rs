//! `inmost migrate`

use super::rewrite::rewrite;
use crate::args::StoreArgs;
use crate::engine::EngineName;
use crate::exit::{Exit, Failure};

/// Move a store to another storage engine
///
/// Rewrites the whole store into the new engine, as `compact` does, and then removes the old one. After a crash, one of the
/// two is complete.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost migrate --store notes.inmost --engine redb")]
pub(crate) struct Migrate {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object: `before_bytes` and `after_bytes` on disk, and `set_aside_bytes`
    #[arg(long)]
    json: bool,

    /// The new storage engine
    #[arg(long, value_name = "ENGINE")]
    engine: EngineName,
}

impl Migrate {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.engine == EngineName::Redb && !cfg!(feature = "redb") {
            return Err(Failure::new(
                Exit::UnknownFormat,
                "This build of inmost has no engine redb. The store was not changed.",
                "Use a build with the feature `redb`: `cargo install --path cli --features redb`.",
            ));
        }
        rewrite(&self.store, self.json, "moved", |store, progress| {
            Ok(store.migrate(self.engine.engine(), progress)?)
        })
    }
}
