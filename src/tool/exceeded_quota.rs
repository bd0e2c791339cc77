//! The quotas of a store, as an error reports them.

/// The quota of the whole store that is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExceededQuota {
    /// The most files that the store may hold.
    Files(u64),
    /// The most bytes of text that the store may hold.
    Bytes(u64),
    /// One of these two, for a tool that shows only a part of the store: the model must not learn how much the rest
    /// holds.
    Shared,
}
