//! The facts about a keyslot that an unlocked store provides.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::label::SlotLabel;
use super::slot_kind::SlotKind;
use crate::crypto::cost::KdfCost;

/// The facts about a keyslot that an unlocked store provides.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SlotInfo {
    pub(super) number: u8,
    pub(super) kind: SlotKind,
    pub(super) cost: Option<KdfCost>,
    pub(super) label: SlotLabel,
    pub(super) created_ms: u64,
    pub(super) is_current: bool,
}

impl SlotInfo {
    /// The number of the slot, from 0 to 7.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.number
    }

    /// The kind of credential that opens it.
    #[must_use]
    pub fn kind(&self) -> SlotKind {
        self.kind
    }

    /// Its label, chosen by the owner.
    #[must_use]
    pub fn label(&self) -> &str {
        self.label.as_str()
    }

    /// The cost of one guess at its passphrase, if it has one.
    #[must_use]
    pub fn kdf_cost(&self) -> Option<KdfCost> {
        self.cost
    }

    /// When its credential was enrolled, by the clock of the machine that did it.
    #[must_use]
    pub fn created(&self) -> SystemTime {
        UNIX_EPOCH.checked_add(Duration::from_millis(self.created_ms)).unwrap_or(UNIX_EPOCH)
    }

    /// Whether this session was unlocked through it.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.is_current
    }
}
