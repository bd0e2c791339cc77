//! The identifier of a header in a root record.

use serde::{Deserialize, Serialize};

use super::codec;

/// Identifies one authentic header. The revision is not enough: a change interrupted by a power failure may leave a
/// header behind, and the next change uses its revision again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeaderId {
    /// Its revision.
    #[serde(with = "codec::fixed")]
    pub revision: u64,
    /// The first half of its MAC.
    pub mac: HeaderMac,
}

impl HeaderId {
    /// The identifier that stands for no header: before the first one, and in a store without a header.
    pub const NONE: Self = Self { revision: 0, mac: HeaderMac([0; 16]) };
}

/// The first half of a header's MAC: finding another header with the same half is infeasible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeaderMac(pub [u8; 16]);
