//! `inmost slot`

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use clap::Subcommand;
use inmost::{KdfCost, RecoveryKey, SlotInfo, SlotLabel, StoreError};
use inmost_keyd::{Secret, SlotOptions};
use serde::Serialize;

use crate::args::{KdfArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::keyfile;
use crate::output::{print, say};
use crate::passphrase::NewPassphraseArgs;
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;
use crate::{confirm, json_line, passphrase, streams};
use inmost_console::Wiped;

/// List, add and remove keyslots
///
/// A store has up to eight keyslots. Each opens the store with a passphrase, a passphrase with a keyfile, a recovery
/// key, or the key of an application.
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
/// Prints number, day of creation, kind, cost of one guess, and label. A star marks the keyslot that unlocked the store.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost slot list --store notes.inmost")]
struct List {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object per line: slot, created (in milliseconds since 1970), kind, label, current, and for a passphrase
    /// `kdf_memory_mib` and `kdf_passes`
    #[arg(long)]
    json: bool,
}

/// A keyslot as a line of JSON.
#[derive(Serialize)]
struct Object<'a> {
    slot: u8,
    created: u64,
    kind: String,
    label: &'a str,
    current: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    kdf_memory_mib: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kdf_passes: Option<u32>,
}

impl<'a> Object<'a> {
    fn of(slot: &'a SlotInfo) -> Self {
        Self {
            slot: slot.number(),
            created: json_line::milliseconds(slot.created()),
            kind: slot.kind().to_string(),
            label: slot.label(),
            current: slot.is_current(),
            kdf_memory_mib: slot.kdf_cost().map(|cost| cost.memory_kib() >> 10),
            kdf_passes: slot.kdf_cost().map(KdfCost::passes),
        }
    }
}

impl List {
    fn run(&self) -> Result<(), Failure> {
        let slots = self.store.open(&no_offer())?.slots()?;
        let mut text = Wiped::default();
        for slot in slots {
            if self.json {
                json_line::append(&Object::of(&slot), &mut text)?;
            } else {
                text.append(line(&slot).as_bytes());
            }
        }
        print(text.as_slice())
    }
}

/// Add a passphrase, with an optional keyfile, or a recovery key
///
/// A recovery key is generated and printed once. Copy it to paper and keep it in a safe place.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost slot add --store notes.inmost --recovery-key\n  \
    inmost slot add --store notes.inmost --label tablet --new-keyfile /media/stick/inmost.key")]
struct Add {
    #[command(flatten)]
    store: StoreArgs,

    /// Generate a recovery key and print it once
    #[arg(long, conflicts_with_all = ["new_keyfile", "new_passphrase_file", "new_passphrase_fd",
          "new_passphrase_command", "kdf_memory_mib", "kdf_passes", "calibrate"])]
    recovery_key: bool,

    /// Require this keyfile in addition to the new passphrase; it is created if it does not exist
    #[arg(long, value_name = "FILE")]
    new_keyfile: Option<PathBuf>,

    /// Label of the keyslot, up to 63 bytes; it is encrypted
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,

    #[command(flatten)]
    new: NewPassphraseArgs,

    #[command(flatten)]
    kdf: KdfArgs,
}

impl Add {
    fn run(&self) -> Result<(), Failure> {
        // Checked first, so that an error is reported before the prompt for a passphrase.
        let label = self.label.as_deref().map(SlotLabel::parse).transpose()?;
        self.kdf.check()?;
        let store = self.store.open(&no_offer())?;
        if self.recovery_key {
            let number = add_recovery_key(&store, label)?;
            drop(store);
            return print(format!("Added keyslot {number}: a recovery key.\n").as_bytes());
        }
        let keyfile = self.new_keyfile.as_deref().map(keyfile::read_or_create).transpose()?;
        let passphrase = self.new.choose()?;
        let secret = Secret::new(passphrase, keyfile);
        let options = SlotOptions::new().label(label).kdf_cost(self.kdf.requested());
        let number = store.add_slot(&secret, options)?;
        drop(store);
        print(format!("Added keyslot {number}.\n").as_bytes())
    }
}

/// Remove a keyslot; its passphrase or key no longer opens the store
///
/// It still opens older copies of the store, such as backups. If somebody else may know it, run `inmost rotate` afterwards.
/// The keyslot that unlocked the store is removed only after a question, or with --yes.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost slot remove --store notes.inmost 2")]
struct Remove {
    #[command(flatten)]
    store: StoreArgs,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Number of the keyslot, see `inmost slot list`
    number: u8,
}

impl Remove {
    fn run(&self) -> Result<(), Failure> {
        let number = self.number;
        let store = self.store.open(&no_offer())?;
        let slots = store.slots()?;
        let slot = slots.iter().find(|slot| slot.number() == number);
        let slot = slot.ok_or(StoreError::NoSuchSlot(number))?;
        // The last keyslot is refused without a question.
        if slot.is_current() && slots.len() > 1 {
            let question = format!(
                "Keyslot {number} unlocked the store: its {} will no longer open it.\nType yes to remove it: ",
                slot.kind()
            );
            confirm::ask(self.yes, &question, "yes")?;
        }
        store.remove_slot(number)?;
        drop(store);
        let text = format!(
            "Removed keyslot {number}.\n\
             Its passphrase or key still opens older copies of this store, and with such a copy also later changes.\n\
             If somebody else may know it, run `inmost rotate`.\n"
        );
        say(&text)
    }
}

/// A keyslot command does not offer to compact the store.
fn no_offer() -> OpenOptions<'static> {
    OpenOptions { hint_compaction: false, ..OpenOptions::default() }
}

/// Adds a recovery key to the store and shows it. Returns the number of its keyslot.
pub(super) fn add_recovery_key(store: &OpenStore, label: Option<SlotLabel>) -> Result<u8, Failure> {
    let key = RecoveryKey::generate()?;
    let text = instructions(&key);
    let secret = Secret::RecoveryKey(key);
    let number = store.add_slot(&secret, SlotOptions::new().label(label))?;
    // A recovery key cannot be shown again. If it was not printed, its keyslot is useless and would mislead.
    show(&text).map_err(|shown| match store.remove_slot(number) {
        Ok(()) if matches!(shown, Failure::Error { exit: Exit::Interrupted, .. }) => Failure::new(
            Exit::Interrupted,
            "Nobody pressed Enter, so the keyslot of the recovery key was removed.",
            "Run `inmost slot add --recovery-key` for another one.",
        ),
        Ok(()) => Failure::new(
            Exit::Io,
            "The recovery key could not be printed, so its keyslot was removed.",
            "Check where standard output goes, then run `inmost slot add --recovery-key`.",
        ),
        Err(_) => Failure::new(
            Exit::Io,
            format!(
                "The recovery key could not be printed, and its keyslot {number} could not be removed."
            ),
            format!("Remove the keyslot with `inmost slot remove {number}`, then run `inmost slot add --recovery-key`."),
        ),
    })?;
    Ok(number)
}

/// Prints the recovery key. A person reads it on a screen of its own, where the terminal has one, so that it does not stay in
/// the scrollback.
fn show(text: &Wiped) -> Result<(), Failure> {
    if !streams::is_attended() {
        return print(text.as_slice());
    }
    let mut terminal = passphrase::terminal()?;
    let apart = terminal.begin_apart()?;
    terminal.print_secret(text.as_slice())?;
    // Where Ctrl-C can be read, it does not end the process: the key must leave the screen, and the keyslot the store.
    let answer = terminal.ask("Press Enter when it is on paper: ");
    drop(apart);
    answer.map(drop)
}

/// The recovery key with instructions.
fn instructions(key: &RecoveryKey) -> Wiped {
    let mut text = Wiped::new(Vec::with_capacity(256));
    text.append(b"Recovery key:\n\n    ");
    text.append(key.to_text().expose().as_bytes());
    text.append(
        b"\n\nIt is shown only once. Copy it to paper, and keep the paper in a safe place.\n",
    );
    text
}

/// One keyslot: number, day of creation, kind, cost of one guess, and label.
pub(super) fn line(slot: &SlotInfo) -> String {
    let star = if slot.is_current() { '*' } else { ' ' };
    let cost = slot.kdf_cost().map_or("-".to_owned(), |cost| {
        format!("{} MiB x {}", cost.memory_kib() >> 10, cost.passes())
    });
    let created = slot.created().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (number, day, kind) = (slot.number(), day(created.as_secs()), slot.kind());
    format!("{number}{star} {day}  {kind:<22}  {cost:<12}  {}\n", slot.label())
}

/// The UTC day of a time in seconds since 1970, such as 2025-03-09. Howard Hinnant's `civil_from_days`: years begin in
/// March, so that the leap day is the last day of a year. Not `humantime`: it fails after the year 9999, and these bytes
/// come from a file.
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
