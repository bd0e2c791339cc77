//! The five lengths that a record may have on disk.
//!
//! Padding to a few classes hides the exact length of a text from anyone who reads the stored values.

use crate::limits::{RECORD_CLASSES, RECORD_FRAME};

/// Bytes of a record's plaintext before its body: kind, object, index, body length.
pub const PREFIX: usize = 1 + 16 + 8 + 2;

/// The largest body that fits a record.
pub const BODY_BYTES: usize = body_bytes(4_096);
/// The largest body of a node of the counted tree, and of a folder that holds its entries itself.
pub const NODE_BYTES: usize = body_bytes(2_048);

/// The class of a body of this length: plaintext bytes after padding.
pub fn class_of(body: usize) -> Option<usize> {
    RECORD_CLASSES.into_iter().find(|class| body <= body_bytes(*class))
}

/// Whether a sealed value may have this length.
pub fn is_value_len(length: usize) -> bool {
    RECORD_CLASSES.into_iter().any(|class| class + RECORD_FRAME == length)
}

const fn body_bytes(class: usize) -> usize {
    class - PREFIX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_takes_the_smallest_class_that_holds_it() {
        assert_eq!(class_of(0), Some(256));
        assert_eq!(class_of(229), Some(256));
        assert_eq!(class_of(230), Some(512));
        assert_eq!(class_of(BODY_BYTES), Some(4_096));
        assert_eq!(class_of(BODY_BYTES + 1), None);
    }

    #[test]
    fn only_five_lengths_exist() {
        let lengths: Vec<usize> = (0..10_000).filter(|length| is_value_len(*length)).collect();
        assert_eq!(lengths, [297, 553, 1_065, 2_089, 4_137]);
    }
}
