//! The check that a session, a vault or a credential belongs to this process and not to the one it was forked from.

use super::error::StoreError;

/// Fails in a forked child. Every call checks this before it takes a lock, because another thread of the parent may have
/// held it at the fork, and before it uses a secret, because a child has none of its parent's.
pub(crate) fn check(is_ours: bool) -> Result<(), StoreError> {
    if is_ours { Ok(()) } else { Err(StoreError::Forked) }
}
