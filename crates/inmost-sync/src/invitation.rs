//! Invitations: a circle as a text that a person carries to another device.

use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::CircleKey;
use inmost_format::crypto::prf;
use inmost_format::secret::{SecretBytes, Wiped};

use crate::error::SyncError;
use crate::names::hex;
use crate::object::Circle;
use crate::place::unhex;

/// `inmost-circle-1-`, then the id, the key and 4 bytes of a checksum in hexadecimal digits.
pub(crate) fn write(circle: &Circle) -> Wiped<String> {
    let mut bytes = Wiped::new([0; 48]);
    let (id, key) = bytes.split_at_mut(16);
    id.copy_from_slice(&circle.id.0);
    key.copy_from_slice(circle.key.expose());
    let [a, b, c, d, ..] = prf::checksum(bytes.as_slice());
    let digits = Wiped::new(hex(bytes.as_slice()));
    inmost_format::secret::join(&[PREFIX, digits.as_str(), &hex(&[a, b, c, d])])
}

/// # Errors
/// [`SyncError::InvalidInvitation`]
pub(crate) fn parse(text: &str) -> Result<Circle, SyncError> {
    let digits = text.trim().strip_prefix(PREFIX).ok_or(SyncError::InvalidInvitation)?;
    let bytes = Wiped::new(unhex::<52>(digits).ok_or(SyncError::InvalidInvitation)?);
    let (body, check) = bytes.split_last_chunk::<4>().ok_or(SyncError::InvalidInvitation)?;
    if !prf::checksum(body).starts_with(check) {
        return Err(SyncError::InvalidInvitation);
    }
    let (id, key) = body.split_first_chunk::<16>().ok_or(SyncError::InvalidInvitation)?;
    let key =
        SecretBytes::init_with(|to| to.iter_mut().zip(key).for_each(|(to, from)| *to = *from));
    Ok(Circle { id: StoreId(*id), key: CircleKey::new(key) })
}

const PREFIX: &str = "inmost-circle-1-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_invitation_is_refused() {
        let circle = Circle { id: StoreId([1; 16]), key: CircleKey::generate().unwrap() };
        let text = write(&circle);
        let read = parse(&format!(" {}\n", text.as_str())).unwrap();
        assert_eq!((read.id, read.key.expose()), (circle.id, circle.key.expose()));
        for at in 0..text.len() {
            let mut other = text.as_bytes().to_vec();
            other[at] = if other[at] == b'0' { b'1' } else { b'0' };
            assert!(parse(std::str::from_utf8(&other).unwrap()).is_err(), "{at}");
            assert!(parse(text.get(..at).unwrap()).is_err());
        }
    }
}
