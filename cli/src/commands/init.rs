//! `inmost init`

use super::slot;
use crate::args::{KdfArgs, Keep, OpenArgs};
use crate::confirm;
use crate::credential::By;
use crate::display::duration;
use crate::engine::EngineName;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase;
use crate::store::opening::{Create, NewStore, OpenOptions};

/// Create a new store
///
/// Asks for a passphrase twice, or generates one of six random words, unless another source gives it. Then offers to create a
/// recovery key. An existing store is never changed.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost init --store notes.inmost --calibrate 1\n  \
    inmost init --store notes.inmost --passphrase-command 'pass show inmost' --recovery")]
pub(crate) struct Init {
    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    kdf: KdfArgs,

    /// Storage engine
    #[arg(long, value_name = "ENGINE", default_value = "sled")]
    engine: EngineName,

    /// Keep the texts before each change for this long after it: a number with s, m, h or d; `off` keeps none.
    /// `inmost history` changes it later
    #[arg(long, value_name = "TIME|off", default_value = "30d")]
    history: Keep,

    /// Create a recovery key, for a forgotten passphrase, and print it once
    #[arg(long)]
    recovery: bool,
}

impl Init {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.open.open(
            By::Passphrase,
            &OpenOptions {
                create: Create::Always(NewStore {
                    kdf: &self.kdf,
                    engine: self.engine,
                    history: self.history.settings(),
                }),
                hint_compaction: false,
                ..OpenOptions::default()
            },
        )?;
        let place = self.open.place()?;
        let text = format!("Created a store at {}\n{}", place.display(), self.kept());
        if self.recovery || self.wants_recovery_key()? {
            return slot::add_recovery_key(&store, None, &text);
        }
        drop(store);
        let advice = "Without its passphrase the store cannot be opened.\n\
                      `inmost slot add --recovery` adds a recovery key.\n";
        print((text + advice).as_bytes())
    }

    /// What stays of deleted and replaced text, for how long, and how to end it.
    fn kept(&self) -> String {
        match self.history.0 {
            None => "Deleted and replaced text cannot come back: the history is off.\n".to_owned(),
            Some(time) => format!(
                "Deleted and replaced text stays in it, encrypted, for {}: `inmost log` and `inmost undo` go back.\n\
                 `inmost forget PATH` ends that for a path, `inmost history --keep off` for all.\n",
                duration(time)
            ),
        }
    }

    /// Asks for a recovery key only if the passphrase was typed, so that scripts are not interrupted.
    fn wants_recovery_key(&self) -> Result<bool, Failure> {
        if !self.open.credential.passphrase.prompts() {
            return Ok(false);
        }
        let question = "Create a recovery key, in case the passphrase is forgotten? [y/N] ";
        confirm::yes_or_no(&mut passphrase::terminal()?, question)
    }
}
