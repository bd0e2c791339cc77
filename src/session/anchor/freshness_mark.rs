//! The mark of a state that travels with its user.
//!
//! A store that several hosts share has no anchor that its server could not put back along with it. But the application can
//! give the mark of the newest state to the user's device with each answer, and get it back with the next request. The
//! host that serves it then notices a store that is older, and the user reads what they wrote.

use inmost_format::header::Unlocked;

use super::{Anchor, EXTERNAL_INDEX, Mark, SEALED_BYTES, Slot, Trust};
use crate::session::error::StoreError;

/// The sealed mark of a state of a store: 120 bytes that only this store's keys open. It need not be kept secret.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("claude.inmost");
/// # let passphrase = inmost::Passphrase::new("correct horse battery staple")?;
/// use inmost::{FreshnessMark, VaultOptions};
///
/// let session = VaultOptions::new().create(&path, &passphrase)?;
/// session.files().write("/memories/notes.md", "Dig.\n")?;
/// let mark = session.mark()?.as_bytes().to_vec();
/// session.lock();
///
/// let options = VaultOptions::new().at_least(FreshnessMark::from_bytes(&mark));
/// let session = options.open(&path)?.unlock(&passphrase)?;
/// # session.lock();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct FreshnessMark(Vec<u8>);

impl FreshnessMark {
    /// Takes a mark as it was stored. Whether it is one shows at the unlock.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // A longer text is no mark, and need not be kept.
        Self(bytes.iter().copied().take(SEALED_BYTES + 1).collect())
    }

    /// The bytes to store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FreshnessMark {
    /// Seals a mark of the store with these keys.
    pub(crate) fn seal(mark: Mark, keys: &Unlocked) -> Result<Self, StoreError> {
        let slot = Slot { sequence: 0, trust: Trust::Known, is_announced: false, mark };
        let sealed = slot.seal(&keys.anchor_key(), keys.header().store(), EXTERNAL_INDEX);
        sealed.map(|sealed| Self(sealed.to_vec())).map_err(|_| StoreError::RandomnessFailed)
    }
}

impl Anchor {
    /// Requires that the store has reached this mark. A mark of another store, or under other keys, is foreign.
    pub(in crate::session) fn require(&mut self, mark: &FreshnessMark) {
        let is_whole = mark.0.len() == SEALED_BYTES;
        let slot = Slot::open(&mark.0, &self.key, self.store, EXTERNAL_INDEX);
        self.required = slot.filter(|_| is_whole);
        self.is_foreign |= self.required.is_none();
    }
}

/// Whether the freshness of a store is known: whether it would be noticed if its newest changes were missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AnchorStatus {
    /// The anchor was whole when the store was unlocked, and the store was not older.
    Known,
    /// The anchor, or a part of it, was missing or damaged when this or an earlier session began, or a repair did not find the
    /// newest state ([`RecoveryReport::is_newest`](crate::RecoveryReport::is_newest)). The newest changes may be missing, and a replaced passphrase may be valid again. This stays so until somebody looks at the store and
    /// accepts it, with [`unlock_accepting_rollback`](crate::session::Vault::unlock_accepting_rollback).
    Unknown,
    /// The anchor beside the header is whole, but the application's anchor had no value when the store was unlocked. It
    /// is written from now on.
    WasMissing,
    /// The anchor could not be written, or the application's anchor not used.
    Failing,
    /// The store is in memory, or shared by several hosts, and has no anchor.
    None,
}

impl AnchorStatus {
    /// The name in reports: `known`, `unknown`, `was_missing`, `failing` or `none`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Unknown => "unknown",
            Self::WasMissing => "was_missing",
            Self::Failing => "failing",
            Self::None => "none",
        }
    }
}
