//! `inmost passwd`

use std::path::PathBuf;

use inmost::{Keyfile, SlotInfo, SlotKind, StoreError};
use inmost_keyd::{Secret, SlotOptions};

use crate::args::{KdfArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::keyfile;
use crate::output::say;
use crate::passphrase::NewPassphraseArgs;
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;

/// Change the passphrase
///
/// Changes the passphrase of the keyslot that unlocks the store, or of another keyslot. If the passphrase was forgotten,
/// unlock with the recovery key. The memory itself is not encrypted again. By default, the cost of a guess stays the same,
/// but is at least the current default.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost passwd --store notes.inmost\n  \
    inmost passwd --store notes.inmost --recovery --calibrate 1")]
pub(crate) struct Passwd {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    new: NewPassphraseArgs,

    /// Require this keyfile from now on; it is created if it does not exist
    #[arg(long, value_name = "FILE")]
    new_keyfile: Option<PathBuf>,

    /// Number of the keyslot to change, see `inmost slot list`
    #[arg(long, value_name = "N")]
    slot: Option<u8>,

    #[command(flatten)]
    kdf: KdfArgs,
}

impl Passwd {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.kdf.check()?;
        let store = self.store.open(&OpenOptions::default())?;
        let number = self.change(&store)?;
        drop(store);
        let text = format!(
            "Changed the passphrase in keyslot {number}.\n\
             The old passphrase still opens older copies of this store. If somebody else knows it, run `inmost rotate`.\n"
        );
        say(&text)
    }

    fn change(&self, store: &OpenStore) -> Result<u8, Failure> {
        let slots = store.slots()?;
        let slot = self.slot_to_change(&slots)?;
        // Checked first, so that an error is reported before the prompt for a passphrase.
        let keyfile = self.keyfile(store, slot)?;
        let passphrase = self.new.choose()?;
        let secret = Secret::new(passphrase, keyfile);
        let options = SlotOptions::new().kdf_cost(self.kdf.requested());
        store.replace_slot(slot.number(), &secret, options)?;
        Ok(slot.number())
    }

    fn slot_to_change<'s>(&self, slots: &'s [SlotInfo]) -> Result<&'s SlotInfo, Failure> {
        if let Some(number) = self.slot {
            let named = slots.iter().find(|slot| slot.number() == number);
            let named = named.ok_or(StoreError::NoSuchSlot(number))?;
            if !named.kind().has_passphrase() {
                let message =
                    format!("Keyslot {number} has no passphrase: it is for a {}.", named.kind());
                return Err(Failure::usage(message, "Choose a keyslot with a passphrase."));
            }
            return Ok(named);
        }
        let mut with_passphrase = slots.iter().filter(|slot| slot.kind().has_passphrase());
        if let Some(current) = with_passphrase.clone().find(|slot| slot.is_current()) {
            return Ok(current);
        }
        match (with_passphrase.next(), with_passphrase.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Failure::new(
                Exit::Other,
                "The store has no passphrase to change.",
                "Add one with `inmost slot add`.",
            )),
            _ => Err(Failure::usage(
                "The store has several passphrases.",
                "Choose one with --slot; `inmost slot list` lists them.",
            )),
        }
    }

    /// A keyslot that needs a keyfile still needs one afterwards.
    fn keyfile(&self, store: &OpenStore, slot: &SlotInfo) -> Result<Option<Keyfile>, Failure> {
        if let Some(path) = &self.new_keyfile {
            return keyfile::read_or_create(path).map(Some);
        }
        if slot.kind() != SlotKind::PassphraseAndKeyfile {
            return Ok(None);
        }
        // For the keyslot that unlocked the store here, --keyfile is the current keyfile, so it is kept. Nobody has tried one that
        // is given while a key daemon holds the store.
        let is_current = slot.is_current() && matches!(store, OpenStore::Here(_));
        let current = if is_current { self.store.open.credential.keyfile()? } else { None };
        current.map(Some).ok_or_else(|| {
            Failure::usage(
                format!("Keyslot {} needs a keyfile in addition to its passphrase.", slot.number()),
                "Give the present one or another with --new-keyfile; it is created if it does not exist.",
            )
        })
    }
}
