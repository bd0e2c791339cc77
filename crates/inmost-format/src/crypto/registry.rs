//! The registry: every use of the PRF and every use of the AEAD, one line each.
//!
//! A [`Role`] names the key, the message and the personalisation of one use of the PRF. An [`Aad`] names the label
//! and the fields of the associated data of one kind of sealed message. [`prf`](super::prf) and [`aead`](super::aead)
//! accept no other input, so a message of another width or for another role does not compile, and neither does a
//! registry with a duplicate label. docs/FORMAT.md has the same two tables; a test compares them.

use inmost_storage::{Address, SlotFields};

use crate::crypto::blake2b::CHECKSUM;
use crate::crypto::fixed_width::{Empty, FixedWidth, fixed_width};
use crate::crypto::ids::Salt;
use crate::crypto::ids::StoreId;

/// One use of the PRF.
pub trait Role {
    /// The personalisation of the hash.
    const PERSONAL: &'static [u8; 16];
    /// The lengths that the key may have, in bytes.
    const KEY_BYTES: &'static [usize];
    /// The message.
    type Message: FixedWidth;
}

/// Associated data of one kind of sealed message: a label, and the fields that bind the message to its place.
pub trait Aad: FixedWidth {
    /// The first 16 bytes.
    const LABEL: &'static [u8; 16];
}

/// A line of the registry as a value, to compare it with docs/FORMAT.md.
#[cfg(test)]
#[derive(Debug)]
struct Line {
    label: &'static [u8; 16],
    /// Empty for an AAD.
    key_bytes: &'static [usize],
    /// For an AAD the first is the label.
    widths: &'static [usize],
}

/// Declares the roles.
macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $personal:literal, $key_bytes:expr, $message:ty;)+) => {
        /// The roles, as types that have no values.
        pub mod role {
            use super::*;

            $(
                $(#[$doc])*
                pub enum $name {}

                impl Role for $name {
                    const PERSONAL: &'static [u8; 16] = $personal;
                    const KEY_BYTES: &'static [usize] = &$key_bytes;
                    type Message = $message;
                }
            )+
        }

        const _: () = assert!(
            all_differ(&[$(u128::from_le_bytes(*$personal),)+ u128::from_le_bytes(*CHECKSUM)]),
            "no two roles share a personalisation"
        );

        #[cfg(test)]
        const ROLES: &[Line] = &[$(Line {
            label: role::$name::PERSONAL,
            key_bytes: role::$name::KEY_BYTES,
            widths: <role::$name as Role>::Message::WIDTHS,
        }),+];
    };
}

/// Declares the associated data.
macro_rules! aads {
    ($($(#[$doc:meta])* $name:ident = $label:literal { $($fields:tt)+ })+) => {
        $(
            fixed_width! { $(#[$doc])* pub $name = $label { $($fields)+ } }

            impl Aad for $name {
                const LABEL: &'static [u8; 16] = $label;
            }
        )+

        const _: () = assert!(
            all_differ(&[$(u128::from_le_bytes(*$label)),+]),
            "no two kinds of associated data share a label"
        );

        #[cfg(test)]
        const AADS: &[Line] =
            &[$(Line { label: $name::LABEL, key_bytes: &[], widths: $name::WIDTHS }),+];
    };
}

roles! {
    /// From the secret of a credential: the key that seals the master key.
    Kek = b"inmost/1 kek\0\0\0\0", [32, 64], SlotMessage;
    /// From the secret of a credential: the public value that distinguishes the right secret from a wrong one.
    Commitment = b"inmost/1 commit\0", [32, 64], SlotMessage;
    /// From the master key: the key that seals data keys.
    WrapKey = b"inmost/1 wrap\0\0\0", [32], Empty;
    /// From the master key: the key of [`HeaderMac`].
    HeaderMacKey = b"inmost/1 hdr-key", [32], Empty;
    /// From the master key: the key that seals labels.
    LabelKey = b"inmost/1 label\0\0", [32], Empty;
    /// From the master key: the key that seals the anchor.
    AnchorKey = b"inmost/1 anc-key", [32], Empty;
    /// From the master key: the key that seals the state of synchronisation.
    SyncStateKey = b"inmost/1 syn-key", [32], Empty;
    /// From a data key: the key that seals records.
    RecordKey = b"inmost/1 record\0", [32], GenerationMessage;
    /// From a data key: the key of [`Address`].
    AddressKey = b"inmost/1 adr-key", [32], GenerationMessage;
    /// From a data key: the key of [`JournalSlot`].
    JournalKey = b"inmost/1 jnl-key", [32], GenerationMessage;
    /// From the address key: the address of a record.
    Address = b"inmost/1 address", [32], AddressMessage;
    /// From the header MAC key: the MAC of a header.
    HeaderMac = b"inmost/1 hdr-mac", [32], HeaderMessage;
    /// From the journal key: the MAC of a slot of the journal.
    JournalSlot = b"inmost/1 journal", [32], JournalSlotMessage;
    /// From the hash over the tags of earlier roots, which is public: the hash with one more.
    Chain = b"inmost/1 chain\0\0", [32], [u8; 8];
    /// From the key of a circle of devices: the key that seals one object of a log.
    CircleObject = b"inmost/1 cir-obj", [32], CircleObjectMessage;
    /// From the key of a circle: the key of [`CircleNonce`] for one object.
    CircleNonceKey = b"inmost/1 cir-nky", [32], CircleObjectMessage;
    /// From the nonce key of an object: its nonce.
    CircleNonce = b"inmost/1 cir-non", [32], CircleNonceMessage;
    /// From the key of a circle: the id of a file, from the checksum of its first path and text.
    CircleFile = b"inmost/1 cir-fil", [32], [u8; 32];
}

aads! {
    /// Binds a sealed data key to its generation.
    DataKeyAad = b"inmost/1 datakey" {
        /// The store.
        store: StoreId,
        /// The generation that the key belongs to.
        generation: u64,
        /// The code of that generation's engine.
        engine: u8,
    }

    /// Binds a sealed master key to its keyslot and to the cost of opening it.
    MasterKeyAad = b"inmost/1 slot\0\0\0" {
        /// The store.
        store: StoreId,
        /// The number of the slot.
        number: u8,
        /// The code of the slot's kind.
        kind: u8,
        /// Memory of Argon2id in KiB; zero without a passphrase, as are the next two.
        memory_kib: u32,
        /// Passes of Argon2id.
        passes: u32,
        /// Lanes of Argon2id.
        lanes: u32,
        /// The salt of the slot.
        salt: Salt,
    }

    /// Binds a sealed label to its keyslot.
    LabelAad = b"inmost/1 label\0\0" {
        /// The store.
        store: StoreId,
        /// The number of the slot.
        number: u8,
        /// The code of the slot's kind.
        kind: u8,
        /// The salt of the slot.
        salt: Salt,
    }

    /// Binds a slot of the anchor to its place.
    AnchorAad = b"inmost/1 anchor\0" {
        /// The store.
        store: StoreId,
        /// The index of the slot.
        index: u8,
    }

    /// Binds the sealed state of synchronisation to its store.
    SyncStateAad = b"inmost/1 sync\0\0\0" {
        /// The store.
        store: StoreId,
    }

    /// Binds a sealed object to its place in a log of a circle.
    CircleObjectAad = b"inmost/1 object\0" {
        /// The circle.
        circle: StoreId,
        /// The log.
        log: [u8; 16],
        /// The number in the log.
        number: u64,
        /// The tag of the object before it; zeros for the first.
        previous: [u8; 16],
    }

    /// Binds a sealed record to its address in one generation.
    RecordAad = b"inmost/record/v1" {
        /// The store.
        store: StoreId,
        /// The generation.
        generation: u64,
        /// The address of the record.
        address: Address,
    }
}

fixed_width! {
    /// One writing of one keyslot.
    pub SlotMessage {
        /// The number of the slot.
        number: u8,
        /// The code of the slot's kind.
        kind: u8,
        /// The salt of the slot.
        salt: Salt,
    }
}

fixed_width! {
    /// One generation.
    pub GenerationMessage {
        /// Its number.
        generation: u64,
    }
}

fixed_width! {
    /// The name of a record.
    pub AddressMessage {
        /// The code of the record's kind.
        kind: u8,
        /// The object that the record belongs to.
        object: [u8; 16],
        /// The index of the record within the object.
        index: u64,
    }
}

fixed_width! {
    /// A slot of a journal.
    pub JournalSlotMessage {
        /// Its place: 0 or 1.
        place: u8,
        /// Its bytes before the MAC.
        fields: SlotFields,
    }
}

fixed_width! {
    /// An object of a log.
    pub CircleObjectMessage {
        /// The log.
        log: [u8; 16],
        /// The number in the log.
        number: u64,
    }
}

fixed_width! {
    /// What the nonce of an object depends on.
    pub CircleNonceMessage {
        /// Random bytes.
        random: [u8; 24],
        /// The checksum of the plaintext.
        digest: [u8; 32],
    }
}

/// The bytes of a header before its MAC.
pub type HeaderMessage = [u8; 4_032];

const fn all_differ(labels: &[u128]) -> bool {
    let [first, rest @ ..] = labels else { return true };
    let mut others = rest;
    while let [other, more @ ..] = others {
        if *first == *other {
            return false;
        }
        others = more;
    }
    all_differ(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of the rows of the table in docs/FORMAT.md that has these columns.
    fn table(columns: &str) -> Vec<Vec<String>> {
        let mut lines = include_str!("../../../../docs/FORMAT.md").lines();
        assert!(lines.any(|line| line == columns), "docs/FORMAT.md has no table {columns}");
        let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
        rows.map(|row| {
            row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
        })
        .collect()
    }

    /// The numbers in braces, as in "generation {8}".
    fn widths(cell: &str) -> Vec<usize> {
        let open = cell.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
        open.map(|(width, _)| width.replace(',', "").parse().unwrap()).collect()
    }

    /// The label in the first pair of backticks, padded with zeros.
    fn label(cell: &str) -> [u8; 16] {
        let text = cell.split('`').nth(1).unwrap();
        std::array::from_fn(|at| text.as_bytes().get(at).copied().unwrap_or_default())
    }

    #[test]
    fn the_registry_has_the_roles_of_the_page_and_no_others() {
        let rows = table("| role | key | message | output |");
        assert_eq!(rows.len(), ROLES.len());
        for line in ROLES {
            let of_line = rows.iter().filter(|row| label(&row[0]) == *line.label);
            let [row] = of_line.collect::<Vec<_>>().try_into().expect("one row");
            assert_eq!(
                (widths(&row[1]), widths(&row[2])),
                (line.key_bytes.into(), line.widths.into())
            );
        }
    }

    #[test]
    fn the_registry_has_the_associated_data_of_the_page_and_no_other() {
        let rows = table("| sealed | under | AAD |");
        assert_eq!(rows.len(), AADS.len());
        for line in AADS {
            let of_line = rows.iter().filter(|row| label(&row[2]) == *line.label);
            let [row] = of_line.collect::<Vec<_>>().try_into().expect("one row");
            assert_eq!([&[16], widths(&row[2]).as_slice()].concat(), line.widths);
        }
    }

    #[test]
    fn the_checksum_has_the_personalisation_of_the_page() {
        let rows = table("| what | is |");
        let row = rows.iter().find(|row| row[0] == "checksum").unwrap();
        assert_eq!(label(&row[1]), *CHECKSUM);
    }

    #[test]
    fn no_two_labels_are_the_same() {
        assert!(all_differ(&[1, 2, 3]));
        assert!(!all_differ(&[1, 2, 1]));
        for lines in [ROLES, AADS] {
            let labels: std::collections::BTreeSet<_> =
                lines.iter().map(|line| line.label).collect();
            assert_eq!(labels.len(), lines.len());
        }
    }
}
