//! `inmost rotate`

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::progress::Progress;
use crate::wiped::Wiped;

/// Replace every key of the store, for when one may have leaked
///
/// Writes the whole store anew under new keys. Only what unlocks the store now goes on opening it; the other
/// keyslots are dropped and listed, to be added again. If the passphrase itself leaked, change it first, with `inmost passwd`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost rotate --store notes.inmost")]
pub(crate) struct Rotate {
    #[command(flatten)]
    store: StoreArgs,
}

impl Rotate {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let dropped = self.store.with_secret(|store, secret| {
            let mut progress = Progress::new("records written");
            store.rotate(secret, |records| progress.update(records))
        })?;
        let mut text = Wiped::new();
        text.append(
            b"Every key of the store is new. Old copies of it stay readable with the old keys.\n",
        );
        if !dropped.is_empty() {
            text.append(b"Dropped, to be added again with `inmost slot add` where still wanted:\n");
        }
        for slot in dropped {
            // Labels hold no control characters.
            text.append(format!("  {}  {}\n", slot.kind, slot.label).as_bytes());
        }
        print(text.expose())
    }
}
