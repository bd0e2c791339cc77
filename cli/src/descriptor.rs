//! An open file descriptor as a source of a passphrase, and the bounds and the form of such a source.

use std::fs::File;
use std::io;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use inmost_console::Wiped;

/// A descriptor inherited from the parent process.
///
/// It is opened while the command line is parsed: later, the same number could belong to a file of this process.
#[derive(Clone)]
pub(crate) struct Descriptor {
    number: u32,
    file: Arc<File>,
    /// Kept after the first read: a pipe can be read once, and `inmost mcp` may have to open its store again.
    text: Arc<Mutex<Option<Wiped>>>,
}

impl Descriptor {
    /// Whether this is standard input.
    pub(crate) fn is_standard_input(&self) -> bool {
        self.number == 0
    }

    /// Reads to the end, at most `max` bytes.
    pub(crate) fn read(&self, max: usize) -> io::Result<Wiped> {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &mut *text {
            Some(text) => text,
            none => none.insert(Wiped::read(&*self.file, max)?.ok_or_else(too_long)?),
        };
        Ok(Wiped::new(text.as_slice().to_vec()))
    }

    #[cfg(unix)]
    #[cfg(test)]
    pub(crate) fn of_number(number: u32) -> Self {
        let file = Arc::new(File::open("/dev/null").unwrap());
        Self { number, file, text: Arc::default() }
    }
}

impl FromStr for Descriptor {
    type Err = io::Error;

    fn from_str(number: &str) -> io::Result<Self> {
        let number = number.parse().map_err(|_| io::Error::other("not a number"))?;
        let file = open(number).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other("this descriptor is not open"),
            _ => error,
        })?;
        Ok(Self { number, file: Arc::new(file), text: Arc::default() })
    }
}

/// The error for a source that gives more than a passphrase can have.
pub(crate) fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "too long for a passphrase")
}

/// Opens a new handle on a descriptor by its name in the file system, because taking over the number needs unsafe code.
/// Reading a file therefore starts at its beginning, and a socket cannot be opened.
#[cfg(unix)]
fn open(number: u32) -> io::Result<File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;

    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let mut options = File::options();
    // Without this flag, opening a named pipe would wait for a writer, who may have written and gone already.
    let no_wait = OFlags::NONBLOCK.bits().cast_signed();
    let file = options.read(true).custom_flags(no_wait).open(format!("{folder}/{number}"))?;
    fcntl_setfl(&file, fcntl_getfl(&file)?.difference(OFlags::NONBLOCK))?;
    Ok(file)
}

#[cfg(not(unix))]
fn open(_number: u32) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no numbered descriptors"))
}

/// Longer than any valid passphrase, so that the library reports its own limit.
pub(crate) const MAX_BYTES: usize = 16 << 10;

/// U+FEFF in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Strips one trailing newline and a leading byte order mark: editors add both, and they are invisible.
pub(crate) fn strip(mut text: Wiped) -> Wiped {
    if let Some(rest) = text.as_slice().strip_prefix(BYTE_ORDER_MARK) {
        text = Wiped::new(rest.to_vec());
    }
    if text.as_slice().ends_with(b"\n") {
        text.pop();
        if text.as_slice().ends_with(b"\r") {
            text.pop();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trailing_newline_and_one_byte_order_mark_are_stripped() {
        for (text, expected) in [
            ("a", "a"),
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\r", "a\r"),
            ("a\n\n", "a\n"),
            (" a \n", " a "),
            ("\n", ""),
            ("\u{feff}a\n", "a"),
            ("\u{feff}", ""),
            ("\u{feff}\u{feff}a", "\u{feff}a"),
            ("a\u{feff}", "a\u{feff}"),
            ("", ""),
        ] {
            let text_bytes = Wiped::new(text.as_bytes().to_vec());
            assert_eq!(strip(text_bytes).as_slice(), expected.as_bytes(), "{text:?}");
        }
    }
}
