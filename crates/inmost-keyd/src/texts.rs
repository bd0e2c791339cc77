//! Several texts in the body of one message.

use crate::wiped::Wiped;

/// The texts, each preceded by its length; `None` if a length does not fit its field.
pub(crate) fn join(texts: &[&str]) -> Option<Wiped> {
    let size = texts
        .iter()
        .fold(0_usize, |sum, text| sum.saturating_add(text.len()).saturating_add(size_of::<u32>()));
    let mut body = Wiped::new(Vec::with_capacity(size));
    for text in texts {
        body.append(&u32::try_from(text.len()).ok()?.to_be_bytes());
        body.append(text.as_bytes());
    }
    Some(body)
}

/// The next text of a body.
pub(crate) fn take<'b>(rest: &mut &'b [u8]) -> Option<&'b str> {
    let (length, after) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (text, after) = after.split_at_checked(length)?;
    *rest = after;
    std::str::from_utf8(text).ok()
}
