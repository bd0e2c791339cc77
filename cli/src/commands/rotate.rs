//! `inmost rotate`

use inmost::{SessionStatus, SlotInfo};
use serde::Serialize;

use super::rewrite::remaining;
use super::slot;
use super::sync::is_in_circle;
use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::interrupt::DaemonWork;
use crate::output::print;
use crate::progress::Progress;
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;
use crate::{confirm, json_line};
use inmost_console::Wiped;

/// Replace every key of the store, in case one may have leaked
///
/// Rewrites the whole store under new keys. Only the keyslot that the given credential opens is kept; the other keyslots are
/// dropped: the command lists them and asks first, unless --yes is given. Add them again afterwards. If the passphrase itself
/// leaked, change it first with `inmost passwd`. A store that synchronises has to join its circle of devices again.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost rotate --store notes.inmost")]
pub(crate) struct Rotate {
    #[command(flatten)]
    store: StoreArgs,

    /// Do not ask for confirmation before keyslots are dropped, or the store leaves its circle of devices
    #[arg(long)]
    yes: bool,

    /// Print one JSON object: dropped, the labels of the dropped keyslots, and `set_aside_bytes`
    #[arg(long)]
    json: bool,
}

/// The result as JSON.
#[derive(Serialize)]
struct Object<'a> {
    dropped: Vec<&'a str>,
    set_aside_bytes: u64,
}

impl Rotate {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let (dropped, status) = self.rotate()?;
        if self.json {
            let dropped = dropped.iter().map(SlotInfo::label).collect();
            let object = Object { dropped, set_aside_bytes: status.set_aside_bytes };
            return json_line::print(&object);
        }
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
        text.append(remaining(&status).as_bytes());
        print(text.as_slice())
    }

    /// The dropped keyslots, and the status afterwards.
    fn rotate(&self) -> Result<(Vec<SlotInfo>, SessionStatus), Failure> {
        let options = OpenOptions { keep_secret: true, ..OpenOptions::default() };
        let store = self.store.open(&options)?;
        let slots = store.slots()?;
        // Without --yes, the others are named before they are gone. A credential that is given besides a key daemon may open
        // another keyslot than the one that unlocked the store.
        let is_here = matches!(*store, OpenStore::Here(_));
        let others = slots.iter().filter(|slot| !(is_here && slot.is_current()));
        let lines: String = others.map(|slot| "  ".to_owned() + &slot::line(slot)).collect();
        let circle = if is_in_circle(&self.store.place()?) { LEAVES_CIRCLE } else { "" };
        if slots.len() > 1 {
            let (dropped, kept) = if is_here {
                ("These keyslots are dropped:", "Only the one that unlocks the store now is kept.")
            } else {
                (
                    "Of these keyslots all but one are dropped:",
                    "Only the one that the given credential opens is kept.",
                )
            };
            let question = format!("{circle}{dropped}\n{lines}{kept} {QUESTION}");
            confirm::ask(self.yes, &question, "yes")?;
        } else if !circle.is_empty() {
            confirm::ask(self.yes, &format!("{circle}{QUESTION}"), "yes")?;
        }
        let mut progress = Progress::new("records written");
        let daemon_work = DaemonWork::begin(&store);
        let dropped = store.rotate(store.secret()?, |records| progress.update(records))?;
        drop((daemon_work, progress));
        Ok((dropped, store.status()?))
    }
}

const QUESTION: &str = "Type yes to replace every key: ";
const LEAVES_CIRCLE: &str = "The store is in a circle of devices. Run `inmost sync` first; afterwards it has to leave with\n\
    `inmost sync leave --force`, and join again.\n";
