//! `inmost slot`

use std::path::PathBuf;

use clap::Subcommand;
use inmost::{KdfCost, RecoveryKey, SlotInfo, SlotLabel, StoreError};
use inmost_keyd::{Secret, SlotOptions};
use jiff::Timestamp;
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
        let slots = self.store.open(&OpenOptions::default())?.slots()?;
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
        let store = self.store.open(&OpenOptions::default())?;
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
        let store = self.store.open(&OpenOptions::default())?;
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

/// One keyslot: number, UTC day of creation, kind, cost of one guess, and label.
pub(super) fn line(slot: &SlotInfo) -> String {
    let star = if slot.is_current() { '*' } else { ' ' };
    let cost = slot.kdf_cost().map_or("-".to_owned(), |cost| {
        format!("{} MiB x {}", cost.memory_kib() >> 10, cost.passes())
    });
    let day = match Timestamp::try_from(slot.created()) {
        Ok(time) => time.strftime("%Y-%m-%d").to_string(),
        // Only a forged store has a time that no calendar has.
        Err(_) => "?".to_owned(),
    };
    let (number, kind) = (slot.number(), slot.kind());
    format!("{number}{star} {day:<10}  {kind:<22}  {cost:<12}  {}\n", slot.label())
}
