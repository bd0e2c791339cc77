//! What a session says of the freshness of its store.

/// Whether the freshness of a store is known: whether it would be noticed if its newest changes were missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AnchorStatus {
    /// The anchor was whole when the store was unlocked, and the store was not older.
    Known,
    /// The anchor, or a part of it, was missing or damaged when this or an earlier session began. The newest changes may
    /// be missing, and a replaced passphrase may be valid again. This stays so until somebody looks at the store and
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
