//! `inmost init`

use crate::args::{EngineName, KdfArgs, StoreArgs};
use crate::exit::Failure;

/// Make a new store
///
/// Asks for its passphrase twice, or makes one of six random words, unless another source gives it. A store
/// that is there is never touched.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost init --store notes.inmost\n  \
    inmost init --store notes.inmost --passphrase-command 'pass show inmost' --kdf-memory-mib 256")]
pub(crate) struct Init {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    kdf: KdfArgs,

    /// What keeps its records
    #[arg(long, value_name = "ENGINE", default_value = "sled")]
    engine: EngineName,
}

impl Init {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let place = self.store.make_store(&self.kdf, self.engine)?;
        let text = format!(
            "Made a store at {}\nIf its passphrase is forgotten, nothing can open it.\n",
            place.display()
        );
        super::print(text.as_bytes())
    }
}
