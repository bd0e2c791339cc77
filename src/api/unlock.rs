//! Unlocking: opens the store, and then does what it says is due at an unlock.

use crate::session::AnchorStatus;
use crate::session::freshness::Rollback;
use crate::session::{Session, StoreError, Vault};
use crate::vfs::expire;
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::header::Credential;

impl Vault {
    /// Unlocks the store with a passphrase.
    ///
    /// Costs one key derivation for each keyslot that is tried. This also cleans up after a crash: it rewrites a stale
    /// copy of the header, removes what an unfinished rewrite left and reaps some of the deleted objects. Records that no
    /// rewrite left and no header names are set aside; see [`Session::set_aside`]. If the store says so, unused files expire;
    /// see [`Expiry`](crate::Expiry). Without room on the disk, or where something is damaged, they stay.
    ///
    /// # Errors
    /// [`StoreError::WrongPassphrase`], [`StoreError::KdfOutOfBounds`], [`StoreError::OutOfMemory`],
    /// [`StoreError::RolledBack`], [`StoreError::RecordsBehindHeader`], [`StoreError::HeaderRolledBack`],
    /// [`StoreError::ForeignAnchor`],
    /// [`StoreError::Tampered`], [`StoreError::UntrustedFile`], [`StoreError::Storage`], [`StoreError::DiskFull`],
    /// [`StoreError::Io`]; [`StoreError::Damaged`] (no file has changed); [`StoreError::Unavailable`] for a store in a database;
    /// [`StoreError::Forked`]; [`StoreError::InUse`] with this process's own id if the vault was unlocked before. After any
    /// other error the vault still holds the store, and can be tried again.
    pub fn unlock(&mut self, passphrase: &Passphrase) -> Result<Session, StoreError> {
        self.unlock_with(passphrase)
    }

    /// Unlocks the store with any kind of credential: `&passphrase`, `(&passphrase, &keyfile)`, `&recovery_key` or
    /// `&raw_key`. It is tried on the keyslots of its kind.
    ///
    /// # Errors
    /// As [`unlock`](Vault::unlock), and [`StoreError::WrongKey`] for any credential other than a passphrase alone.
    pub fn unlock_with<'a>(
        &mut self,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Session, StoreError> {
        self.unlock_and_expire(&credential.into(), Rollback::Refuse)
    }

    /// Unlocks a store that [`unlock`](Vault::unlock) refuses as rolled back, or whose freshness is
    /// [`Unknown`](crate::AnchorStatus::Unknown), and takes its state as the newest. Use it when a person knows the
    /// reason: a restored backup, a copy, a second device, a repaired disk.
    ///
    /// The anchors are written anew. After a rollback the next commit gets a number above every number that was seen. So
    /// this is needed only once.
    ///
    /// # Errors
    /// As [`unlock`](Vault::unlock). A header that is older than its records is refused here too
    /// ([`StoreError::HeaderRolledBack`]).
    ///
    /// # Security
    /// The keyslots of the accepted state are valid again, also those that were removed or replaced after it.
    /// [`slots`](Vault::slots) lists them.
    pub fn unlock_accepting_rollback<'a>(
        &mut self,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Session, StoreError> {
        self.unlock_and_expire(&credential.into(), Rollback::Accept)
    }

    fn unlock_and_expire(
        &mut self,
        credential: &Credential<'_>,
        rollback: Rollback,
    ) -> Result<Session, StoreError> {
        let session = self.unlock_by(credential, rollback)?;
        let is_unknown =
            session.status().is_ok_and(|status| status.anchor == AnchorStatus::Unknown);
        // The store is open. What keeps files from expiring must not keep the user out; the next unlock tries again.
        let _ = match rollback {
            // Readings since the state that is accepted are lost, so every file counts as used now.
            Rollback::Accept => expire::restart_all(&session),
            // This may be such a state, which somebody accepts later.
            Rollback::Refuse if is_unknown => Ok(()),
            Rollback::Refuse if self.keeps_unused() => Ok(()),
            Rollback::Refuse => expire::at_unlock(&session),
        };
        Ok(session)
    }
}
