//! The record that `recorder.c` makes: every change of a file below one folder, in the order of its effect.

use std::ops::Range;

/// A file or folder, by its inode number. A number may be used again after its file is gone.
pub type Number = u64;

#[derive(Debug)]
pub enum Event {
    Create {
        file: Number,
        path: String,
    },
    CreateFolder {
        file: Number,
        path: String,
    },
    Write {
        file: Number,
        offset: u64,
        bytes: Range<usize>,
    },
    SetLength {
        file: Number,
        length: u64,
    },
    SyncBegins {
        file: Number,
        sync: u64,
    },
    SyncEnds {
        sync: u64,
    },
    Rename {
        from: String,
        to: String,
    },
    Link {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    Acknowledge {
        text: String,
    },
    /// The worker was killed, and another one follows or none.
    Kill,
}

impl Event {
    /// Whether it changes names or lengths, which makes the moments around it worth more cuts.
    pub fn is_rare(&self) -> bool {
        !matches!(
            self,
            Self::Write { .. }
                | Self::SyncBegins { .. }
                | Self::SyncEnds { .. }
                | Self::Acknowledge { .. }
        )
    }
}

/// Reads a record. `Write::bytes` are places in it.
///
/// # Panics
/// If the worker made a call that the recorder does not know.
pub fn parse(log: &[u8]) -> Vec<Event> {
    let number = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().expect("8 bytes"));
    let (mut events, mut at) = (Vec::new(), 0);
    while at < log.len() {
        let (kind, first, second) = (log[at], number(at + 1), number(at + 9));
        let length = u32::from_le_bytes(log[at + 17..at + 21].try_into().expect("4 bytes"));
        let bytes = at + 21..at + 21 + length as usize;
        at = bytes.end;
        let text = || String::from_utf8(log[bytes.clone()].to_vec()).expect("a path");
        let two = || {
            let (from, to) = text().split_once('\0').map(|it| (it.0.into(), it.1.into())).unzip();
            (from.expect("two paths"), to.expect("two paths"))
        };
        events.push(match kind {
            b'C' => Event::Create { file: first, path: text() },
            b'D' => Event::CreateFolder { file: first, path: text() },
            b'W' => Event::Write { file: first, offset: second, bytes },
            b'L' => Event::SetLength { file: first, length: second },
            b'S' => Event::SyncBegins { file: first, sync: second },
            b'E' => Event::SyncEnds { sync: second },
            b'R' => {
                let (from, to) = two();
                Event::Rename { from, to }
            }
            b'H' => {
                let (from, to) = two();
                Event::Link { from, to }
            }
            b'U' => Event::Remove { path: text() },
            b'A' => Event::Acknowledge { text: text() },
            b'K' => Event::Kill,
            _ => panic!("the model does not know the call {:?}", text()),
        });
    }
    events
}
