//! Frames of the key daemon, from a stranger.

use std::io::{self, ErrorKind, Read};

use inmost_keyd::internals::{REPLIES, Recoded, greeting, hello, request};

pub(crate) fn run(data: &[u8]) {
    let Some((form, rest)) = data.split_first() else { return };
    let form = usize::from(*form);
    let kinds: [(Decoder, Bounds); 3] = [(hello, HELLO), (greeting, HELLO), (request, REQUEST)];
    let replies = REPLIES.map(|reply| (reply, REPLY));
    if form == 0 {
        let mut stream = Slow(rest);
        // A hello and the requests after it.
        let mut next = check(hello, HELLO, &mut stream);
        while next {
            next = check(request, REQUEST, &mut stream);
        }
        return;
    }
    let (decode, bounds) = kinds.into_iter().chain(replies).cycle().nth(form - 1).unwrap();
    // The head is a line.
    let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (head, body) = rest.split_at(length);
    let body = body.get(1..).unwrap_or_default();
    let lengths = [head, body].map(|part| u32::try_from(part.len()).unwrap().to_be_bytes());
    check(decode, bounds, &mut Slow(&[lengths.as_flattened(), head, body].concat()));
}

type Decoder = fn(&mut dyn Read) -> Recoded;

/// The longest head and body.
type Bounds = (usize, usize);

/// Reads a frame. What was read is encoded to a frame that decodes to itself. Returns whether there was one.
fn check(decode: Decoder, bounds: Bounds, stream: &mut Slow<'_>) -> bool {
    let expected = rest(stream.0, bounds);
    let decoded = decode(stream);
    match (&decoded, expected) {
        (Ok(None), Err(None)) => return false,
        (Err(error), Err(Some(kind))) => {
            assert_eq!(error.kind(), kind);
            return false;
        }
        // The head is no message.
        (Err(error), Ok(_)) => {
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            return false;
        }
        (Ok(Some(_)), Ok(rest)) => {
            assert_eq!(stream.0, rest, "the next frame begins elsewhere");
        }
        _ => panic!("{decoded:?}"),
    }
    let again = decoded.unwrap().unwrap();
    assert_eq!(decode(&mut Slow(&again)).unwrap().unwrap(), again);
    true
}

/// The bytes after a frame, or the error, or `None` at the end of the connection.
fn rest(bytes: &[u8], bounds: Bounds) -> Result<&[u8], Option<ErrorKind>> {
    if bytes.is_empty() {
        return Err(None);
    }
    let cut = Some(ErrorKind::UnexpectedEof);
    let length = |at: usize| {
        let bytes = bytes.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_be_bytes(*bytes)).ok()
    };
    let (head, body) = length(0).zip(length(4)).ok_or(cut)?;
    if head > bounds.0 || body > bounds.1 {
        return Err(Some(ErrorKind::InvalidData));
    }
    bytes.get(8 + head + body..).ok_or(cut)
}

/// A connection on which the bytes arrive in small pieces.
struct Slow<'b>(&'b [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(1 + self.0.len() % 300);
        self.0.read(&mut buffer[..most])
    }
}

const HELLO: Bounds = (64 << 10, 8 << 10);
const REQUEST: Bounds = (2 << 20, 64 << 20);
const REPLY: Bounds = (1 << 30, 1 << 30);
