//! The name of a vault in a database.

use std::fmt;
use std::str::FromStr;

/// The name of a vault in a shared database: 16 bytes, written as 32 hexadecimal digits.
///
/// The server sees it. It should be random, and not the id of a user.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VaultId(pub [u8; 16]);

/// A text that is not the id of a vault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the id of a vault has 32 hexadecimal digits")]
pub struct InvalidVaultId;

impl fmt::Display for VaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for VaultId {
    type Err = InvalidVaultId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `from_str_radix` would accept a sign.
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(InvalidVaultId);
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| InvalidVaultId)?;
        Ok(Self(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_and_read() {
        let text = "00ff0102030405060708090a0b0c0d0e";
        let id: VaultId = text.parse().unwrap();
        assert_eq!((id.0[1], id.to_string().as_str()), (255, text));
        assert_eq!(text.to_uppercase().parse(), Ok(id));
        let odd =
            ["", "00", "+0ff0102030405060708090a0b0c0d0e", "00ff0102030405060708090a0b0c0d0g"];
        assert!(odd.iter().all(|text| text.parse::<VaultId>() == Err(InvalidVaultId)));
    }
}
