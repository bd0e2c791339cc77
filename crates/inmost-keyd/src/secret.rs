//! A credential that can be sent to another process.

use inmost::{
    Credential, KdfCost, Keyfile, NewSlot, Passphrase, RawKey, RecoveryKey, SlotKind, SlotLabel,
};
use serde::{Deserialize, Serialize};

use crate::body::Wiped;
use crate::error::DaemonError;

/// An owned credential of a store.
#[non_exhaustive]
pub enum Secret {
    /// A passphrase.
    Passphrase(Passphrase),
    /// A passphrase and a keyfile; both are needed.
    PassphraseAndKeyfile(Passphrase, Keyfile),
    /// A recovery key.
    RecoveryKey(RecoveryKey),
    /// A random key that the application keeps.
    RawKey(RawKey),
}

impl Secret {
    /// A passphrase with an optional keyfile.
    #[must_use]
    pub fn new(passphrase: Passphrase, keyfile: Option<Keyfile>) -> Self {
        match keyfile {
            Some(keyfile) => Self::PassphraseAndKeyfile(passphrase, keyfile),
            None => Self::Passphrase(passphrase),
        }
    }

    /// The credential in the type that the library takes.
    #[must_use]
    pub fn credential(&self) -> Credential<'_> {
        match self {
            Self::Passphrase(passphrase) => passphrase.into(),
            Self::PassphraseAndKeyfile(passphrase, keyfile) => (passphrase, keyfile).into(),
            Self::RecoveryKey(key) => key.into(),
            Self::RawKey(key) => key.into(),
        }
    }

    /// The kind of credential. [`Secret::from_bytes`] needs it to parse the bytes.
    pub(crate) fn kind(&self) -> SlotKind {
        self.credential().kind()
    }

    /// The bytes to send over a pipe or a socket.
    pub(crate) fn to_bytes(&self) -> Wiped {
        match self {
            Self::Passphrase(passphrase) => Wiped::new(passphrase.expose().to_vec()),
            Self::PassphraseAndKeyfile(passphrase, keyfile) => {
                let (text, keyfile) = (passphrase.expose(), keyfile.to_bytes());
                let size = text.len().saturating_add(keyfile.expose().len()).saturating_add(2);
                let mut bytes = Wiped::new(Vec::with_capacity(size));
                // A passphrase has at most 1,024 bytes, so its length fits two.
                let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
                bytes.append(&length.to_be_bytes());
                bytes.append(text);
                bytes.append(keyfile.expose());
                bytes
            }
            Self::RecoveryKey(key) => Wiped::new(key.to_text().expose().as_bytes().to_vec()),
            Self::RawKey(key) => Wiped::new(key.expose().to_vec()),
        }
    }

    /// Parses the bytes that [`Secret::to_bytes`] returned in another process.
    pub(crate) fn from_bytes(kind: SlotKind, bytes: &[u8]) -> Result<Self, DaemonError> {
        Self::parse(kind, bytes).ok_or(DaemonError::InvalidSecret)
    }

    fn parse(kind: SlotKind, bytes: &[u8]) -> Option<Self> {
        let passphrase = |bytes: &[u8]| Passphrase::from_bytes(bytes.to_vec()).ok();
        match kind {
            SlotKind::Passphrase => Some(Self::Passphrase(passphrase(bytes)?)),
            SlotKind::PassphraseAndKeyfile => {
                let (length, rest) = bytes.split_first_chunk()?;
                let length = usize::from(u16::from_be_bytes(*length));
                let (text, keyfile) = rest.split_at_checked(length)?;
                let keyfile = Keyfile::parse(keyfile).ok()?;
                Some(Self::PassphraseAndKeyfile(passphrase(text)?, keyfile))
            }
            SlotKind::RecoveryKey => {
                let text = std::str::from_utf8(bytes).ok()?;
                Some(Self::RecoveryKey(RecoveryKey::parse(text).ok()?))
            }
            SlotKind::RawKey => Some(Self::RawKey(RawKey::from_bytes(bytes.try_into().ok()?))),
            _ => None,
        }
    }
}

/// The properties of a new keyslot, without its credential.
#[derive(Default, Serialize, Deserialize)]
#[must_use]
pub struct SlotOptions {
    label: Option<SlotLabel>,
    kdf_cost: Option<KdfCost>,
}

impl SlotOptions {
    /// The defaults of [`NewSlot::new`].
    pub fn new() -> Self {
        Self::default()
    }

    /// The same as [`NewSlot::label`].
    pub fn label(mut self, label: Option<SlotLabel>) -> Self {
        self.label = label;
        self
    }

    /// The same as [`NewSlot::kdf_cost`].
    pub fn kdf_cost(mut self, cost: Option<KdfCost>) -> Self {
        self.kdf_cost = cost;
        self
    }

    /// The keyslot in the type that the library takes.
    pub fn slot(self, secret: &Secret) -> NewSlot<'_> {
        let mut slot = NewSlot::new(secret.credential());
        if let Some(cost) = self.kdf_cost {
            slot = slot.kdf_cost(cost);
        }
        if let Some(label) = self.label {
            slot = slot.label(label);
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use inmost_testing::passphrase;

    use super::*;

    #[test]
    fn a_secret_decodes_to_itself() {
        for secret in [
            Secret::new(Passphrase::new("h\u{f8}rse").unwrap(), None),
            Secret::new(Passphrase::new("h\u{f8}rse").unwrap(), Some(Keyfile::generate().unwrap())),
            Secret::RecoveryKey(RecoveryKey::generate().unwrap()),
            Secret::RawKey(RawKey::generate().unwrap()),
        ] {
            let bytes = secret.to_bytes();
            let again = Secret::from_bytes(secret.kind(), bytes.as_slice()).unwrap();
            assert_eq!(again.to_bytes().as_slice(), bytes.as_slice());
        }
    }

    #[test]
    fn truncated_bytes_are_not_a_secret() {
        let bytes = Secret::new(passphrase(), Some(Keyfile::generate().unwrap())).to_bytes();
        for length in [0, 1, 2, 5, 7, 50, bytes.as_slice().len() - 1] {
            let cut = &bytes.as_slice()[..length];
            let parsed = Secret::from_bytes(SlotKind::PassphraseAndKeyfile, cut);
            assert!(parsed.is_err(), "{length}");
        }
        assert!(Secret::from_bytes(SlotKind::RawKey, &[7; 31]).is_err());
    }
}
