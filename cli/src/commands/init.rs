//! `inmost init`

use inmost::{RecoveryKey, Session};

use super::slot;
use crate::args::{KdfArgs, PlaceArgs};
use crate::exit::Failure;
use crate::passphrase;
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
    place: PlaceArgs,

    #[command(flatten)]
    kdf: KdfArgs,

    /// Print a recovery key, once, for the day the passphrase is forgotten
    #[arg(long)]
    recovery: bool,
}

impl Init {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let text = self.place.make_store(&self.kdf, |session| self.describe(session))?;
        super::print(text.expose())
    }

    fn describe(&self, session: &Session) -> Result<Wiped, Failure> {
        let mut text = Wiped::new();
        let place = self.place.path()?;
        text.append(format!("Made a store at {}\n", place.display()).as_bytes());
        if self.recovery || self.is_wanted()? {
            let key = RecoveryKey::generate()?;
            session.add_slot(&inmost::NewSlot::new(&key))?;
            text.append(slot::on_paper(&key).expose());
        } else {
            text.append(b"If its passphrase is forgotten, nothing can open it.\n");
            text.append(b"`inmost slot add --recovery` makes a key for that day.\n");
        }
        Ok(text)
    }

    /// Asks whoever has just typed the passphrase.
    fn is_wanted(&self) -> Result<bool, Failure> {
        if !self.place.credential.passphrase.asks() {
            return Ok(false);
        }
        let question = "Print a recovery key for the day it is forgotten? (y, or Enter for none): ";
        let answer = passphrase::terminal()?.ask(question)?;
        Ok(matches!(answer.expose(), b"y" | b"Y" | b"yes"))
    }
}
