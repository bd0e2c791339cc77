//! What a store says of itself and of what it holds, in types of the program: they cross from one process to another.

use inmost::{AnchorStatus, StorageEngine, StoreError};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::engine::EngineName;

/// The answer to a call of the memory tool.
pub(crate) struct ToolAnswer {
    pub(super) content: Zeroizing<String>,
    pub(super) is_error: bool,
    pub(super) tool_use_id: Option<String>,
}

impl ToolAnswer {
    pub(crate) fn content(&self) -> &str {
        &self.content
    }

    pub(crate) fn is_error(&self) -> bool {
        self.is_error
    }

    /// The text for the model, which whoever takes it wipes.
    pub(crate) fn into_content(mut self) -> String {
        std::mem::take(&mut *self.content)
    }

    /// What the model is told when there is no store to ask.
    pub(crate) fn unavailable() -> Self {
        StoreError::Locked.for_model().into()
    }

    pub(crate) fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }
}

impl From<inmost::ToolResult> for ToolAnswer {
    fn from(result: inmost::ToolResult) -> Self {
        Self {
            is_error: result.is_error(),
            tool_use_id: result.tool_use_id().map(str::to_owned),
            content: Zeroizing::new(result.into_content()),
        }
    }
}

/// The text of a file; wiped on drop.
pub(crate) struct Text(pub(super) Zeroizing<String>);

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// One name in a folder.
#[derive(Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: EntryKind,
    /// Bytes of the file, or of everything below the folder.
    pub(crate) bytes: u64,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EntryKind {
    Folder,
    /// Times are in milliseconds since 1970.
    File {
        lines: u64,
        created: u64,
        modified: u64,
    },
}

impl From<inmost::Entry> for Entry {
    fn from(entry: inmost::Entry) -> Self {
        let kind = match entry.kind {
            inmost::EntryKind::File { lines, created, modified, .. } => {
                EntryKind::File { lines, created, modified }
            }
            _ => EntryKind::Folder,
        };
        Self { name: entry.name, kind, bytes: entry.bytes }
    }
}

/// Counts and sizes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) commit: u64,
    pub(crate) disk_bytes: u64,
    pub(crate) engine: Option<EngineName>,
    pub(crate) kdf_cost: Option<Cost>,
    pub(crate) freshness: Freshness,
    pub(crate) protections: Protections,
}

impl From<inmost::Status> for Status {
    fn from(status: inmost::Status) -> Self {
        Self {
            files: status.files,
            bytes: status.bytes,
            commit: status.commit,
            disk_bytes: status.disk_bytes,
            engine: match status.engine {
                Some(StorageEngine::Sled) => Some(EngineName::Sled),
                Some(StorageEngine::Redb) => Some(EngineName::Redb),
                _ => None,
            },
            kdf_cost: status.kdf_cost.map(Cost::from),
            freshness: status.anchor.into(),
            protections: status.protections.into(),
        }
    }
}

/// Whether an older state, put back, would be noticed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Freshness {
    Known,
    AnchorWasMissing,
    AnchorFailing,
    Unknown,
}

impl From<AnchorStatus> for Freshness {
    fn from(anchor: AnchorStatus) -> Self {
        match anchor {
            AnchorStatus::Active => Self::Known,
            AnchorStatus::WasMissing => Self::AnchorWasMissing,
            AnchorStatus::Failing => Self::AnchorFailing,
            _ => Self::Unknown,
        }
    }
}

/// What keeps the keys of the process that has the store from swap, dumps and other processes.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts that hold independently of each other")]
pub(crate) struct Protections {
    pub(crate) keys_locked: bool,
    pub(crate) keys_undumped: bool,
    pub(crate) core_dumps_off: bool,
    pub(crate) not_dumpable: bool,
}

impl From<inmost::Protections> for Protections {
    fn from(in_force: inmost::Protections) -> Self {
        Self {
            keys_locked: in_force.keys_locked,
            keys_undumped: in_force.keys_undumped,
            core_dumps_off: in_force.core_dumps_off,
            not_dumpable: in_force.not_dumpable,
        }
    }
}

/// What one guess at a passphrase costs.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) memory_kib: u32,
    pub(crate) passes: u32,
    pub(crate) lanes: u32,
}

impl Cost {
    pub(crate) fn is_below_default(self) -> bool {
        inmost::KdfCost::from(self).is_below_default()
    }
}

impl From<inmost::KdfCost> for Cost {
    fn from(cost: inmost::KdfCost) -> Self {
        Self { memory_kib: cost.memory_kib(), passes: cost.passes(), lanes: cost.lanes() }
    }
}

impl From<Cost> for inmost::KdfCost {
    fn from(cost: Cost) -> Self {
        Self::new(cost.memory_kib, cost.passes, cost.lanes)
    }
}

/// What a check found.
#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) records: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) orphans: u64,
    pub(crate) problems: Vec<Problem>,
    /// Problems found after those.
    pub(crate) unlisted: u64,
}

impl Report {
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

impl From<inmost::CheckReport> for Report {
    fn from(report: inmost::CheckReport) -> Self {
        Self {
            records: report.records,
            files: report.files,
            bytes: report.bytes,
            orphans: report.orphans,
            problems: report.problems.into_iter().map(Problem::from).collect(),
            unlisted: report.unlisted,
        }
    }
}

/// What a repair dropped.
#[derive(Serialize, Deserialize)]
pub(crate) struct Dropped {
    pub(crate) dropped: Vec<Problem>,
    /// Things dropped after those.
    pub(crate) unlisted: u64,
}

impl From<inmost::RepairReport> for Dropped {
    fn from(report: inmost::RepairReport) -> Self {
        Self {
            dropped: report.dropped.into_iter().map(Problem::from).collect(),
            unlisted: report.unlisted,
        }
    }
}

/// One thing that is wrong with a store.
#[derive(Serialize, Deserialize)]
pub(crate) struct Problem {
    /// The names that lead to it from the root.
    pub(crate) names: Vec<String>,
    pub(crate) what: String,
    pub(crate) how: String,
}

impl From<inmost::Problem> for Problem {
    fn from(problem: inmost::Problem) -> Self {
        Self { names: problem.names, what: problem.what.to_owned(), how: problem.how.to_owned() }
    }
}

/// What is known of a keyslot.
#[derive(Serialize, Deserialize)]
pub(crate) struct Slot {
    pub(crate) number: u8,
    /// What opens it, in words.
    pub(crate) kind: String,
    pub(crate) has_passphrase: bool,
    pub(crate) needs_keyfile: bool,
    pub(crate) label: String,
    pub(crate) cost: Option<Cost>,
    /// When it was made, in seconds since 1970.
    pub(crate) created: u64,
    /// Whether the store was unlocked through it.
    pub(crate) is_in_hand: bool,
}

impl From<inmost::SlotInfo> for Slot {
    fn from(slot: inmost::SlotInfo) -> Self {
        let created = slot.created().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self {
            number: slot.number(),
            kind: slot.kind().to_string(),
            has_passphrase: slot.kind().has_passphrase(),
            needs_keyfile: slot.kind() == inmost::SlotKind::PassphraseAndKeyfile,
            label: slot.label().to_owned(),
            cost: slot.kdf_cost().map(Cost::from),
            created: created.as_secs(),
            is_in_hand: slot.is_current(),
        }
    }
}
