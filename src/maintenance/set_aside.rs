//! Records that were set aside, and their removal on purpose.

use crate::session::{Session, StoreError};

/// Records in the store's folder that the store no longer uses, in a folder of their own.
///
/// A [`repair`](crate::Vault::repair) keeps the damaged files this way. [`unlock`](crate::Vault::unlock) sets records aside
/// that the header does not name and that no interrupted rewrite left, for example those of a newer store that an older
/// copy was put over. They may be the only copy of what they hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SetAside {
    /// The number in the name of the folder.
    pub number: u64,
    /// The bytes that it occupies on disk.
    pub bytes: u64,
}

impl SetAside {
    /// The name of its folder, inside the folder of the store.
    #[must_use]
    pub fn name(&self) -> String {
        format!("set-aside-{:016x}", self.number)
    }
}

impl Session {
    /// Returns what was set aside. No unlock and no rewrite removes it.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Halted`], [`StoreError::Io`].
    pub fn set_aside(&self) -> Result<Vec<SetAside>, StoreError> {
        self.read(|open| {
            let found = open.storage().set_aside_generations()?;
            Ok(found.iter().map(|it| SetAside { number: it.number, bytes: it.bytes }).collect())
        })
    }

    /// Removes records that were set aside. They cannot be restored. An absent number is not an error.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Halted`], [`StoreError::Io`].
    ///
    /// # Security
    /// The header that is kept with them is overwritten, best effort. The records are removed and not overwritten.
    pub fn discard_set_aside(&self, number: u64) -> Result<(), StoreError> {
        self.exclusive(|exclusive| {
            exclusive.session().read(|open| Ok(open.storage().discard_set_aside(number)?))
        })
    }
}
