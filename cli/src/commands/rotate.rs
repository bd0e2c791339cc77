//! `inmost rotate`

use inmost::SlotInfo;

use super::rewrite::remaining;
use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::progress::Progress;
use crate::store::opening::OpenOptions;
use crate::wiped::Wiped;

/// Replace every key of the store, in case one may have leaked
///
/// Rewrites the whole store under new keys. Only the keyslot that unlocks the store now is kept; the other keyslots are
/// dropped and listed, so that you can add them again. If the passphrase itself leaked, change it first with
/// `inmost passwd`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost rotate --store notes.inmost")]
pub(crate) struct Rotate {
    #[command(flatten)]
    store: StoreArgs,
}

impl Rotate {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let (dropped, remaining) = self.rotate()?;
        let mut text = Wiped::default();
        text.append(
            b"Every key of the store was replaced. The old keys still open old copies of it.\n",
        );
        if !dropped.is_empty() {
            text.append(b"These keyslots were dropped. Add them again with `inmost slot add` if you need them:\n");
        }
        for slot in dropped {
            // Labels contain no control characters.
            text.append(format!("  {}  {}\n", slot.kind(), slot.label()).as_bytes());
        }
        text.append(remaining.as_bytes());
        print(text.as_slice())
    }

    /// The dropped keyslots, and the line about records that still have the old keys.
    fn rotate(&self) -> Result<(Vec<SlotInfo>, String), Failure> {
        let store = self.store.open(&OpenOptions {
            hint_compaction: false,
            keep_secret: true,
            ..OpenOptions::default()
        })?;
        let mut progress = Progress::new("records written");
        let dropped = store.rotate(store.secret()?, |records| progress.update(records))?;
        drop(progress);
        Ok((dropped, remaining(&store.status()?)))
    }
}
