//! What a store can be asked, and what it answers.
//!
//! Text, secrets and places are not in here: they are the bytes that go with a request or a reply, in buffers that are
//! wiped. What is here may cross to another process as JSON, which unescapes in buffers that are not.

use serde::{Deserialize, Serialize};

use super::facts::{Cost, Dropped, Entry, Report, Slot, Status};

use crate::engine::EngineName;
use crate::exit::Failure;
use crate::secret::SecretShape;

/// A request; its bytes are told behind it.
#[derive(Serialize, Deserialize)]
pub(crate) enum Request {
    /// A call of the memory tool: its JSON.
    Call,
    Read {
        path: String,
    },
    /// The text.
    Write {
        path: String,
    },
    List {
        path: String,
    },
    Remove {
        path: String,
    },
    Rename {
        old: String,
        new: String,
    },
    Status,
    CompactionDue,
    Check,
    Repair,
    Purge,
    Migrate {
        engine: EngineName,
    },
    /// The absolute path of the copy.
    Backup,
    Slots,
    /// The secret.
    AddSlot(NewKey),
    /// The secret.
    ReplaceSlot {
        number: u8,
        key: NewKey,
    },
    RemoveSlot {
        number: u8,
    },
    /// The secret to keep.
    Rotate {
        keep: SecretShape,
    },
}

/// A secret that is to open the store.
#[derive(Serialize, Deserialize)]
pub(crate) struct NewKey {
    pub(crate) shape: SecretShape,
    pub(crate) label: Option<String>,
    pub(crate) cost: Option<Cost>,
}

/// An answer; its bytes are told behind it.
#[derive(Serialize, Deserialize)]
pub(crate) enum Reply {
    Done,
    /// Of the tool: the content.
    Answer {
        is_error: bool,
        tool_use_id: Option<String>,
        failure: Option<Failure>,
    },
    /// The text.
    Text,
    /// There is no such file or folder.
    Missing,
    Entries(Vec<Entry>),
    Status(Status),
    IsDue(bool),
    Report(Report),
    Dropped(Dropped),
    Slots(Vec<Slot>),
    Added(u8),
}
