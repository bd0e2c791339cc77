//! `inmost passwd`

use std::path::PathBuf;

use inmost::{Keyfile, StoreError};

use crate::args::{KdfArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::keyfile;
use crate::output::print;
use crate::passphrase::{Input, NewPassphraseArgs};
use crate::secret::Secret;
use crate::store::OpenStore;
use crate::store::facts::{Cost, Slot};
use crate::store::request::NewKey;

/// Change the passphrase
///
/// Of the keyslot that the store is unlocked with, or of another; also when it was forgotten and the store is
/// unlocked with its recovery key. The memory itself is not encrypted anew. Guessing the new passphrase costs what guessing
/// the old one did, but not less than today's default, unless something else is asked for.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost passwd --store notes.inmost\n  \
    inmost passwd --store notes.inmost --recovery --calibrate 1")]
pub(crate) struct Passwd {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    new: NewPassphraseArgs,

    /// Need this keyfile from now on; it is made if it is not there
    #[arg(long, value_name = "FILE")]
    new_keyfile: Option<PathBuf>,

    /// The keyslot to change, of those that `inmost slot list` shows
    #[arg(long, value_name = "N")]
    slot: Option<u8>,

    #[command(flatten)]
    kdf: KdfArgs,
}

impl Passwd {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let number = self.store.with_store_as_it_is(Input::Free, |store| self.change(store))?;
        let text = format!(
            "Changed the passphrase in keyslot {number}.\n\
             The old one still opens older copies of this store. If somebody else knows it: `inmost rotate`.\n"
        );
        print(text.as_bytes())
    }

    fn change(&self, store: &OpenStore) -> Result<u8, Failure> {
        let slots = store.slots()?;
        let slot = self.slot_to_change(&slots)?;
        // Everything that can be wrong is, before anyone thinks of a passphrase.
        let keyfile = self.keyfile(slot)?;
        let passphrase = self.new.choose()?;
        let secret = Secret::of(passphrase, keyfile);
        let cost = self.kdf.requested().map(Cost::from);
        let key = NewKey { shape: secret.shape(), label: None, cost };
        store.replace_slot(slot.number, key, &secret)?;
        Ok(slot.number)
    }

    fn slot_to_change<'s>(&self, slots: &'s [Slot]) -> Result<&'s Slot, Failure> {
        if let Some(number) = self.slot {
            let named = slots.iter().find(|slot| slot.number == number);
            let named = named.ok_or(StoreError::NoSuchSlot(number))?;
            if !named.has_passphrase {
                let what = format!("Keyslot {number} is for a {}.", named.kind);
                return Err(Failure::usage(what, "Choose one with a passphrase, or remove it."));
            }
            return Ok(named);
        }
        let mut with_passphrase = slots.iter().filter(|slot| slot.has_passphrase);
        if let Some(in_hand) = with_passphrase.clone().find(|slot| slot.is_in_hand) {
            return Ok(in_hand);
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
                "Say which with --slot; `inmost slot list` shows them.",
            )),
        }
    }

    /// A keyslot that needs a keyfile goes on needing one.
    fn keyfile(&self, slot: &Slot) -> Result<Option<Keyfile>, Failure> {
        if let Some(path) = &self.new_keyfile {
            return keyfile::read_or_create(path).map(Some);
        }
        if !slot.needs_keyfile {
            return Ok(None);
        }
        // The one in hand has just been proven to be the right one; what a key agent has unlocked, the one that is named
        // is needed for from now on.
        let in_hand = if slot.is_in_hand { self.store.open.credential.keyfile()? } else { None };
        in_hand.map(Some).ok_or_else(|| {
            Failure::usage(
                format!("Keyslot {} needs a keyfile besides its passphrase.", slot.number),
                "Name it with --new-keyfile; a new one is made if it is not there.",
            )
        })
    }
}
