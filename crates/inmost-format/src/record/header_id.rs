//! The name of a header, as a root record gives it.

use serde::{Deserialize, Serialize};

use super::codec;

/// Names one authentic header. The revision alone does not: a change that lost power may leave a header behind, and the
/// next change uses its revision again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeaderId {
    /// Its revision.
    #[serde(with = "codec::fixed")]
    pub revision: u64,
    /// The first half of its MAC.
    pub mac: HeaderMac,
}

impl HeaderId {
    /// The name in place of a header: before the first one, and in a store without a header.
    pub const NONE: Self = Self { revision: 0, mac: HeaderMac([0; 16]) };
}

/// The first half of a header's MAC: finding another header with the same half is infeasible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeaderMac(pub [u8; 16]);
