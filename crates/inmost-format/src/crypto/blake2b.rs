//! BLAKE2b with the parameters of docs/FORMAT.md, and the checksum, its one use without a key.

use blake2::Blake2bMac;
use blake2::digest::array::ArraySize;
use blake2::digest::consts::{U32, U64};
use blake2::digest::typenum::{IsLessOrEqual, True};
use blake2::digest::{FixedOutput, Update};

use crate::secret::{SHALLOW, on_wiped_stack};

/// The personalisation of the checksum. It has no key, so it is not a role.
pub(super) const CHECKSUM: &[u8; 16] = b"inmost/1 check\0\0";

/// A checksum that anyone can compute: it detects damage, but not an attacker.
pub fn checksum(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    // The input may be secret: a keyfile's checksum covers its secret.
    on_wiped_stack::<SHALLOW, _>(|| {
        let mut state: Mac = blake2b(None, &[0; 16], CHECKSUM);
        state.update(bytes);
        state.finalize_into((&mut out).into());
    });
    out
}

/// BLAKE2b of 32 bytes.
pub(super) type Mac = Blake2bMac<U32>;

/// The state before the message, for any output length; only tests use a length other than 32.
pub(super) fn blake2b<N: ArraySize + IsLessOrEqual<U64, Output = True>>(
    key: Option<&[u8]>,
    salt: &[u8; 16],
    personal: &[u8; 16],
) -> Blake2bMac<N> {
    // BLAKE2b refuses only empty keys and keys over 64 bytes; the registry has 32 and 64.
    Blake2bMac::new_with_salt_and_personal(key, salt, personal).expect("lengths that BLAKE2b takes")
}
