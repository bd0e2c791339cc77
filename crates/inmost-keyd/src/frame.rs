//! Frames of bounded length, for a socket or a pipe.
//!
//! ```text
//! u32 length of the head | u32 length of the body | head, JSON | body
//! ```
//!
//! Numbers are big-endian. Both buffers are wiped. They grow with the bytes that arrive, so an announced length costs
//! nothing.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::body::Wiped;

/// The longest frame that is accepted.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) head: u32,
    pub(crate) body: u32,
}

/// For the first message of a connection, which contains one or two paths.
pub(crate) const HELLO: Bounds = Bounds { head: 64 << 10, body: 8 << 10 };

/// For a request: the longest tool call of `inmost call`, or paths as long as an argument can be.
pub(crate) const REQUEST: Bounds = Bounds { head: 2 << 20, body: 64 << 20 };

/// For a reply: the largest file, or a page of matches with their positions.
pub(crate) const REPLY: Bounds = Bounds { head: 1 << 30, body: 1 << 30 };

/// Writes a frame that the other side accepts with these bounds.
///
/// # Errors
/// `FileTooLarge` if it would not, and `InvalidData` if the head cannot be encoded. In both cases nothing was written.
pub(crate) fn write(
    to: &mut impl Write,
    head: &impl Serialize,
    body: &[u8],
    bounds: Bounds,
) -> io::Result<()> {
    let mut text = Wiped::default();
    serde_json::to_writer(&mut text, head)?;
    if length(text.as_slice())? > bounds.head || length(body)? > bounds.body {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut front = Wiped::new(Vec::with_capacity(text.as_slice().len().saturating_add(8)));
    front.append(&length(text.as_slice())?.to_be_bytes());
    front.append(&length(body)?.to_be_bytes());
    front.append(text.as_slice());
    to.write_all(front.as_slice())?;
    to.write_all(body)?;
    to.flush()
}

/// Reads a frame; `None` if the connection has ended instead.
pub(crate) fn read<H: DeserializeOwned>(
    from: &mut impl Read,
    bounds: Bounds,
) -> io::Result<Option<(H, Wiped)>> {
    let Some([head, body]) = read_lengths(from)? else { return Ok(None) };
    if head > bounds.head || body > bounds.body {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame is too long"));
    }
    let head = exactly(from, head)?;
    let body = exactly(from, body)?;
    // The error of the parser may quote its input.
    let head = serde_json::from_slice(head.as_slice())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "invalid frame"))?;
    Ok(Some((head, body)))
}

fn length(bytes: &[u8]) -> io::Result<u32> {
    u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

/// The lengths of the head and of the body; `None` if the connection ends before their first byte.
fn read_lengths(from: &mut impl Read) -> io::Result<Option<[u32; 2]>> {
    let mut lengths = [[0; 4]; 2];
    let bytes = lengths.as_flattened_mut();
    let arrived = loop {
        match from.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) => return Ok(None),
            Ok(arrived) => break arrived,
        }
    };
    from.read_exact(bytes.get_mut(arrived..).unwrap_or_default())?;
    Ok(Some(lengths.map(u32::from_be_bytes)))
}

fn exactly(from: &mut impl Read, length: u32) -> io::Result<Wiped> {
    let missing = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let most = usize::try_from(length).map_err(|_| missing())?;
    let read = Wiped::read(from.take(u64::from(length)), most)?.ok_or_else(missing)?;
    if read.as_slice().len() == most { Ok(read) } else { Err(missing()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { head: 10, body: 10 };

    fn framed(head: &str, bytes: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        write(&mut frame, &head, bytes, Bounds { head: 100, body: 100 }).unwrap();
        frame
    }

    fn parsed(frame: &[u8]) -> io::Result<Option<(String, Vec<u8>)>> {
        let mut rest = frame;
        Ok(read(&mut rest, BOUNDS)?.map(|(head, body)| (head, body.into_inner())))
    }

    #[test]
    fn a_frame_arrives_as_it_was_sent() {
        let sent = framed("ab\"c", b"\0\xff");
        assert_eq!(parsed(&sent).unwrap(), Some(("ab\"c".to_owned(), b"\0\xff".to_vec())));
        assert_eq!(parsed(b"").unwrap(), None);
    }

    #[test]
    fn what_the_other_side_would_refuse_is_not_sent() {
        for (head, body) in [("123456789", &b""[..]), ("", b"12345678901")] {
            let mut frame = Vec::new();
            let error = write(&mut frame, &head, body, BOUNDS).unwrap_err();
            assert_eq!((error.kind(), frame.len()), (io::ErrorKind::FileTooLarge, 0));
        }
    }

    #[test]
    fn a_cut_too_long_or_invalid_frame_is_refused() {
        let sent = framed("abc", b"1234");
        for length in 1..sent.len() {
            assert!(parsed(&sent[..length]).is_err(), "{length}");
        }
        assert!(parsed(&framed("123456789", b"")).is_err());
        assert!(parsed(&framed("", b"12345678901")).is_err());
        assert!(parsed(b"GET / HTTP/1.1\r\n\r\n").is_err());
        assert!(parsed(b"\0\0\0\x01\0\0\0\0x").is_err());
    }
}
