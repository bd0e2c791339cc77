//! `inmost init`

use super::slot;
use crate::args::{KdfArgs, OpenArgs};
use crate::engine::EngineName;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase;
use crate::store::OpenStore;
use crate::wiped::Wiped;

/// Make a new store
///
/// Asks for its passphrase twice, or makes one of six random words, unless another source gives it; and
/// whether there is to be a recovery key. A store that is there is never touched.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost init --store notes.inmost --calibrate 1\n  \
    inmost init --store notes.inmost --passphrase-command 'pass show inmost' --recovery")]
pub(crate) struct Init {
    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    kdf: KdfArgs,

    /// What keeps its records
    #[arg(long, value_name = "ENGINE", default_value = "sled")]
    engine: EngineName,

    /// Print a recovery key, once, for the day the passphrase is forgotten
    #[arg(long)]
    recovery: bool,
}

impl Init {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let text = self.open.make_store(&self.kdf, self.engine, |store| self.describe(store))?;
        print(text.expose())
    }

    fn describe(&self, store: &OpenStore) -> Result<Wiped, Failure> {
        let mut text = Wiped::new();
        let place = self.open.place()?;
        text.append(format!("Made a store at {}\n", place.display()).as_bytes());
        if self.recovery || self.is_wanted()? {
            slot::enrol_recovery_key(store, None, text)?;
            return Ok(Wiped::new());
        }
        text.append(b"If its passphrase is forgotten, nothing can open it.\n");
        text.append(b"`inmost slot add --recovery` makes a key for that day.\n");
        Ok(text)
    }

    /// Asks whoever has just typed the passphrase.
    fn is_wanted(&self) -> Result<bool, Failure> {
        if !self.open.credential.passphrase.prompts() {
            return Ok(false);
        }
        let question = "Print a recovery key for the day it is forgotten? [y/N] ";
        let answer = passphrase::terminal()?.ask_openly(question)?;
        Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
    }
}
