//! Which header a state of the store belongs to.

use serde::{Deserialize, Serialize};

use super::codec;

/// Names one authentic header. The revision alone does not: a change that lost power may leave a header behind whose
/// revision the next change uses again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeaderId {
    /// Its revision.
    #[serde(with = "codec::fixed")]
    pub revision: u64,
    /// The first half of its MAC.
    pub mac: HeaderMac,
}

impl HeaderId {
    /// What comes before the first header, and stands where a store has none.
    pub const NONE: Self = Self { revision: 0, mac: HeaderMac([0; 16]) };
}

/// The first half of a header's MAC: enough that nobody finds another header with the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeaderMac(pub [u8; 16]);
