//! Fields at constant offsets of fixed-size bytes. The compiler checks that they lie within the bytes.
//!
//! Both directions take the offset from the same constant, so a layout is its table of constants. `zerocopy` would
//! replace the table by structs and save these 40 lines, but its derives expand to `unsafe impl`, and unsafe code
//! must stay in two small files of this crate. A header is copied field by field anyway, since each field has its own
//! type.

/// The `N` bytes at `AT`.
pub(super) fn field<const AT: usize, const N: usize, const L: usize>(bytes: &[u8; L]) -> [u8; N] {
    const { assert!(AT + N <= L) };
    let mut field = [0; N];
    field.iter_mut().zip(bytes.iter().skip(AT)).for_each(|(to, from)| *to = *from);
    field
}

/// Overwrites the `N` bytes at `AT`.
pub(super) fn put<const AT: usize, const N: usize, const L: usize>(
    bytes: &mut [u8; L],
    value: &[u8; N],
) {
    const { assert!(AT + N <= L) };
    bytes.iter_mut().skip(AT).zip(value).for_each(|(to, from)| *to = *from);
}

/// Whether the bytes from `FROM` up to `TO` are all zero.
pub(super) fn is_zero<const FROM: usize, const TO: usize, const L: usize>(bytes: &[u8; L]) -> bool {
    const { assert!(FROM < TO && TO <= L) };
    bytes.iter().take(TO).skip(FROM).all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_where_it_was_put_and_nothing_else_changes() {
        let mut bytes = [0; 8];
        put::<5, _, _>(&mut bytes, &[1, 2, 3]);
        assert_eq!(bytes, [0, 0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(field::<4, 3, _>(&bytes), [0, 1, 2]);
        assert!(is_zero::<0, 5, _>(&bytes) && !is_zero::<0, 6, _>(&bytes));
    }
}
