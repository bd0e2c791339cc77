//! `inmost slot`

use std::path::PathBuf;

use clap::Subcommand;
use inmost::{RecoveryKey, SlotLabel};

use crate::args::{KdfArgs, OpenArgs, StoreArgs};
use crate::credential::By;
use crate::exit::{Exit, Failure};
use crate::keyfile;
use crate::output::print;
use crate::passphrase::{Input, NewPassphraseArgs};
use crate::secret::Secret;
use crate::store::OpenStore;
use crate::store::facts::{self, Cost};
use crate::store::request::NewKey;
use crate::wiped::Wiped;

/// Show and change what opens the store
///
/// A store has up to eight keyslots, each for a passphrase, a passphrase with a keyfile, a recovery key, or a
/// key of an application.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost slot list --store notes.inmost")]
pub(crate) struct Slot {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    List(List),
    Add(Add),
    Remove(Remove),
}

impl Slot {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.action {
            Action::List(list) => list.run(),
            Action::Add(add) => add.run(),
            Action::Remove(remove) => remove.run(),
        }
    }
}

/// List the keyslots
///
/// Number, day of enrolment, kind, cost of one guess, and label; a star marks the one that has just unlocked the store.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost slot list --store notes.inmost")]
struct List {
    #[command(flatten)]
    store: StoreArgs,
}

impl List {
    fn run(&self) -> Result<(), Failure> {
        let slots = self.store.with_store_as_it_is(Input::Free, OpenStore::slots)?;
        let mut text = Wiped::new();
        for slot in slots {
            text.append(line(&slot).as_bytes());
        }
        print(text.expose())
    }
}

/// Add a passphrase, with a keyfile if one is named, or a recovery key
///
/// A recovery key is made here and printed once: copy it to paper, where nobody else looks.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost slot add --store notes.inmost --recovery\n  \
    inmost slot add --store notes.inmost --label tablet --new-keyfile /media/stick/inmost.key")]
struct Add {
    #[command(flatten)]
    open: OpenArgs,

    /// Unlock with the recovery key that there is already, instead of the passphrase
    #[arg(long, conflicts_with = "keyfile")]
    by_recovery: bool,

    /// Make a recovery key and print it, once
    #[arg(long, conflicts_with_all = ["new_keyfile", "new_passphrase_file", "new_passphrase_fd",
          "new_passphrase_command", "kdf_memory_mib", "kdf_passes", "calibrate"])]
    recovery: bool,

    /// Need this keyfile besides the new passphrase; it is made if it is not there
    #[arg(long, value_name = "FILE")]
    new_keyfile: Option<PathBuf>,

    /// What to call it, in up to 63 bytes; only who has unlocked the store sees it
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,

    #[command(flatten)]
    new: NewPassphraseArgs,

    #[command(flatten)]
    kdf: KdfArgs,
}

impl Add {
    fn run(&self) -> Result<(), Failure> {
        // Before anyone is asked for anything.
        self.label.as_deref().map(SlotLabel::parse).transpose()?;
        let text = self.open.with_store(By::recovery(self.by_recovery), |store| {
            if self.recovery {
                enrol_recovery_key(store, self.label.clone(), Wiped::new())?;
                return Ok(Wiped::new());
            }
            let keyfile = self.new_keyfile.as_deref().map(keyfile::read_or_create).transpose()?;
            let passphrase = self.new.choose()?;
            let secret = Secret::of(passphrase, keyfile);
            let cost = self.kdf.requested().map(Cost::from);
            let key = NewKey { shape: secret.shape(), label: self.label.clone(), cost };
            let number = store.add_slot(key, &secret)?;
            let mut text = Wiped::new();
            text.append(format!("Added keyslot {number}.\n").as_bytes());
            Ok(text)
        })?;
        print(text.expose())
    }
}

/// Remove a keyslot; what it was for no longer opens the store
///
/// It still opens older copies of the store, such as backups. If it may be in wrong hands, `inmost rotate` afterwards.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost slot remove --store notes.inmost 2")]
struct Remove {
    #[command(flatten)]
    store: StoreArgs,

    /// Its number, as `inmost slot list` shows it
    number: u8,
}

impl Remove {
    fn run(&self) -> Result<(), Failure> {
        let number = self.number;
        self.store.with_store_as_it_is(Input::Free, |store| store.remove_slot(number))?;
        let text = format!(
            "Removed keyslot {number}.\n\
             What it was for still opens older copies of this store, and with one of them what is written from now on.\n\
             If it may be in wrong hands: `inmost rotate`.\n"
        );
        print(text.as_bytes())
    }
}

/// Makes a recovery key for the store and prints it after `text`.
pub(super) fn enrol_recovery_key(
    store: &OpenStore,
    label: Option<String>,
    mut text: Wiped,
) -> Result<(), Failure> {
    let key = RecoveryKey::generate()?;
    text.append(on_paper(&key).expose());
    let secret = Secret::RecoveryKey(key);
    let number = store.add_slot(NewKey { shape: secret.shape(), label, cost: None }, &secret)?;
    // Nobody can ever see it again: a keyslot whose key was not printed is of no use, and looks as if it were.
    print(text.expose()).map_err(|_| match store.remove_slot(number) {
        Ok(()) => Failure::new(
            Exit::Io,
            "The recovery key could not be printed, so its keyslot was removed again.",
            "Let standard output lead to where it can be read, then `inmost slot add --recovery`.",
        ),
        Err(_) => Failure::new(
            Exit::Io,
            format!(
                "The recovery key could not be printed, and its keyslot {number} is of no use."
            ),
            "Remove it with `inmost slot remove`, then try `inmost slot add --recovery` again.",
        ),
    })
}

/// A recovery key and what to do with it.
fn on_paper(key: &RecoveryKey) -> Wiped {
    let mut text = Wiped::with_capacity(256);
    text.append(b"Recovery key:\n\n    ");
    text.append(key.to_text().expose().as_bytes());
    text.append(b"\n\nIt is shown this once. Copy it to paper, keep that where nobody else looks, and clear the screen.\n");
    text
}

fn line(slot: &facts::Slot) -> String {
    let star = if slot.is_in_hand { '*' } else { ' ' };
    let cost = slot
        .cost
        .map_or("-".to_owned(), |cost| format!("{} MiB x {}", cost.memory_kib >> 10, cost.passes));
    let (number, day, kind) = (slot.number, day(slot.created), &slot.kind);
    format!("{number}{star} {day}  {kind:<22}  {cost:<12}  {}\n", slot.label)
}

/// The day of so many seconds since 1970 in UTC, as in 2025-03-09. After Howard Hinnant's `civil_from_days`: years begin in March, so that the
/// leap day is the last of one.
fn day(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_700_000_000, "2023-11-14"),
            (4_107_542_399, "2100-02-28"),
            (4_107_542_400, "2100-03-01"),
            (253_402_300_799, "9999-12-31"),
        ] {
            assert_eq!(day(seconds), expected);
        }
    }
}
