//! Messages of fixed width: fields of known widths, one after the other, encoded by one function.
//!
//! A message that is hashed or authenticated must have one reading. Here each field has one width by its type, so two
//! different messages of one type never encode to the same bytes.

use inmost_storage::Address;

use crate::crypto::ids::{Salt, StoreId};

/// A message with fields of fixed width.
pub trait FixedWidth {
    /// The widths of the fields in bytes, in their order.
    const WIDTHS: &'static [usize];
    /// An array of as many bytes as the fields have together.
    type Bytes: AsRef<[u8]>;

    /// The fields, one after the other. Does no I/O.
    fn encode(&self) -> Self::Bytes;
}

/// A message without fields.
pub struct Empty;

impl FixedWidth for Empty {
    const WIDTHS: &'static [usize] = &[];
    type Bytes = [u8; 0];

    fn encode(&self) -> [u8; 0] {
        []
    }
}

/// A message of a single field.
impl<const N: usize> FixedWidth for [u8; N] {
    const WIDTHS: &'static [usize] = &[N];
    type Bytes = Self;

    fn encode(&self) -> Self {
        *self
    }
}

/// A field, whose width is part of its type. Numbers are little-endian.
pub(super) trait Field {
    const WIDTH: usize;

    /// Fills `bytes`, of which there are [`WIDTH`](Self::WIDTH).
    fn write(&self, bytes: &mut [u8]);
}

/// Writes a field to the front of `bytes` and returns the rest.
pub(super) fn put<'a, F: Field>(bytes: &'a mut [u8], field: &F) -> &'a mut [u8] {
    let (front, rest) = bytes.split_at_mut(F::WIDTH);
    field.write(front);
    rest
}

impl<const N: usize> Field for [u8; N] {
    const WIDTH: usize = N;

    fn write(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(self);
    }
}

/// Implements [`Field`] through an array.
macro_rules! field {
    ($($type:ty as $value:ident => $array:expr;)+) => {
        $(
            impl Field for $type {
                const WIDTH: usize = size_of::<$type>();

                fn write(&self, bytes: &mut [u8]) {
                    let $value = self;
                    $array.write(bytes);
                }
            }
        )+
    };
}

field! {
    u8 as number => [*number];
    u32 as number => number.to_le_bytes();
    u64 as number => number.to_le_bytes();
    StoreId as id => id.0;
    Salt as salt => salt.0;
    Address as address => address.0;
}

/// Declares a message with named fields. `label`, if there is one, is written before them.
macro_rules! fixed_width {
    (
        $(#[$doc:meta])*
        $vis:vis $name:ident $(= $label:literal)? {
            $($(#[$field_doc:meta])* $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        $vis struct $name {
            $($(#[$field_doc])* $vis $field: $type,)+
        }

        impl $crate::crypto::fixed_width::FixedWidth for $name {
            const WIDTHS: &'static [usize] =
                &[$($label.len(),)? $(<$type as $crate::crypto::fixed_width::Field>::WIDTH),+];
            type Bytes = [u8; 0
                $(+ $label.len())?
                $(+ <$type as $crate::crypto::fixed_width::Field>::WIDTH)+];

            fn encode(&self) -> Self::Bytes {
                let mut bytes = [0; size_of::<Self::Bytes>()];
                let rest = bytes.as_mut_slice();
                $(let rest = $crate::crypto::fixed_width::put(rest, $label);)?
                $(let rest = $crate::crypto::fixed_width::put(rest, &self.$field);)+
                debug_assert!(rest.is_empty(), "the fields fill the array");
                bytes
            }
        }
    };
}
pub(super) use fixed_width;

#[cfg(test)]
mod tests {
    use super::*;

    fixed_width! {
        /// One field of each type.
        Sample = b"label" {
            byte: u8,
            number: u32,
            large: u64,
            store: StoreId,
            salt: Salt,
            address: Address,
            array: [u8; 3],
        }
    }

    #[test]
    fn fields_follow_each_other_in_little_endian() {
        let sample = Sample {
            byte: 1,
            number: 0x0302,
            large: 0x0504,
            store: StoreId([6; 16]),
            salt: Salt([7; 16]),
            address: Address([8; 32]),
            array: [9; 3],
        };
        let parts: [&[u8]; 8] = [
            b"label",
            &[1],
            &[2, 3, 0, 0],
            &[4, 5, 0, 0, 0, 0, 0, 0],
            &[6; 16],
            &[7; 16],
            &[8; 32],
            &[9; 3],
        ];
        assert_eq!(sample.encode().as_slice(), parts.concat());
        assert_eq!(Sample::WIDTHS, parts.map(<[u8]>::len));
    }
}
