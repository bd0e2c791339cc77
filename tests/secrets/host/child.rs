//! The process under test: a host of the library that executes the orders it gets through a pipe.
//!
//! It is a careful host: it reads without a buffered standard input, wipes its copies, and gets every secret through the
//! pipe, so that none is part of the program.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use inmost::{KdfCost, MemoryTool, Passphrase, Session, SessionOptions, Vault, VaultOptions};
use zeroize::{Zeroize, Zeroizing};

/// An order to the child. On the pipe it is one byte, the length of its text in four bytes, and the text.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub(crate) enum Order {
    /// Create the store with this passphrase.
    Create = b'c',
    /// Unlock the store with this passphrase.
    Unlock = b'u',
    /// Unlock the store with this passphrase, for as long as it is used.
    UnlockWhileUsed = b'i',
    /// Wait until the session has locked itself.
    Await = b'j',
    /// Answer this tool call.
    Call = b't',
    /// Write a file: its path, a NUL, its text.
    Write = b'w',
    /// Read the file of this path.
    Read = b'r',
    /// List the folder that holds this path, and name its last part from the list.
    List = b'l',
    /// Check, purge and back up the store.
    Upkeep = b'p',
    /// Hand out all files of a copy of the store, which this passphrase opens.
    Salvage = b's',
    /// Lock the session and keep its handles.
    Lock = b'k',
    /// Drop the session with all its handles.
    Drop = b'd',
    /// Leave these bytes lying about.
    Leak = b'n',
    /// Say what protects the process.
    Protections = b'o',
    /// Harden the process, and say what protects it.
    Harden = b'h',
    /// Die so that a core dump is due.
    Abort = b'a',
}

/// The variable that makes a process the child, and says where its store is.
pub(crate) const STORE: &str = "INMOST_TEST_STORE";

/// Long enough for a few calls, on a busy machine too: what comes too late finds the session locked.
const IDLE: Duration = Duration::from_secs(3);

/// Serves until the pipe is closed.
pub(crate) fn serve(store: &str) {
    let mut input = File::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let mut output = File::from(std::io::stderr().as_fd().try_clone_to_owned().unwrap());
    let mut host = Host { store, tool: None, session: None };
    loop {
        let mut head = [0; 5];
        if input.read_exact(&mut head).is_err() {
            return;
        }
        let [order, length @ ..] = head;
        let mut payload = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap()];
        input.read_exact(&mut payload).unwrap();
        let mut send = |text: &str| {
            output.write_all(&u32::try_from(text.len()).unwrap().to_le_bytes()).unwrap();
            output.write_all(text.as_bytes()).unwrap();
        };
        host.serve(order, payload, &mut send);
    }
}

struct Host<'a> {
    store: &'a str,
    tool: Option<MemoryTool>,
    session: Option<Session>,
}

impl Host<'_> {
    fn serve(&mut self, order: u8, mut payload: Vec<u8>, send: &mut dyn FnMut(&str)) {
        let unlock = [Order::Create, Order::Unlock, Order::UnlockWhileUsed];
        if unlock.iter().any(|it| *it as u8 == order) {
            let passphrase = Passphrase::from_bytes(payload).unwrap();
            let session = if order == Order::Create as u8 {
                let options = VaultOptions::new().kdf_cost(KdfCost::new(19 << 10, 2, 1));
                options.create(self.store, &passphrase)
            } else {
                let mut session = SessionOptions::new();
                if order == Order::UnlockWhileUsed as u8 {
                    session = session.idle_lock(IDLE);
                }
                let vault = VaultOptions::new().session(session).open(self.store);
                vault.and_then(|mut vault| vault.unlock(&passphrase))
            };
            match session {
                Ok(session) => {
                    self.tool = Some(MemoryTool::new(session.clone()));
                    self.session = Some(session);
                    send("unlocked");
                }
                Err(error) => send(&error.to_string()),
            }
            return;
        }
        if order == Order::Salvage as u8 {
            let passphrase = Passphrase::from_bytes(payload).unwrap();
            let vault = Vault::open(format!("{}.backup", self.store)).unwrap();
            let mut files = 0;
            let save = |_: &str, _: &str| {
                files += 1;
                Ok::<(), inmost::StoreError>(())
            };
            let report = vault.salvage(&passphrase, save).unwrap();
            assert!(report.lost.is_empty());
            return send(&files.to_string());
        }
        if order == Order::Await as u8 {
            let since = Instant::now();
            while self.session.as_ref().is_some_and(|session| !session.is_locked()) {
                assert!(since.elapsed() < 20 * IDLE, "it does not lock");
                std::thread::sleep(IDLE / 20);
            }
            return send("locked");
        }
        if order == Order::Protections as u8 {
            return send(&format!("{:?}", inmost::protections()));
        }
        if order == Order::Harden as u8 {
            return send(&format!("{:?}", inmost::harden_process()));
        }
        if order == Order::Abort as u8 {
            std::process::abort();
        }
        if order == Order::Leak as u8 {
            Box::leak(payload.into_boxed_slice());
            return send("leaked");
        }
        let payload = Zeroizing::new(std::mem::take(&mut payload));
        let text = std::str::from_utf8(&payload).unwrap();
        if order == Order::Drop as u8 {
            (self.tool, self.session) = (None, None);
            return send("dropped");
        }
        let (tool, session) = (self.tool.as_ref().unwrap(), self.session.as_ref().unwrap());
        match order {
            order if order == Order::Call as u8 => send(tool.try_run_json(text).unwrap().content()),
            order if order == Order::Write as u8 => {
                let (path, text) = text.split_once('\0').unwrap();
                match session.files().write(path, text) {
                    Ok(()) => send("written"),
                    // Its text may hold a path, which is then the host's to wipe.
                    Err(error) => send(&Zeroizing::new(error.to_string())),
                }
            }
            order if order == Order::Read as u8 => {
                send(session.files().read(text).unwrap().as_str());
            }
            order if order == Order::List as u8 => {
                let (folder, name) = text.rsplit_once('/').unwrap();
                let mut entries = session.files().list(folder).unwrap();
                let found = entries.iter().find(|entry| entry.name == name);
                send(found.map_or("", |entry| &entry.name));
                for entry in &mut entries {
                    entry.name.zeroize();
                }
            }
            order if order == Order::Upkeep as u8 => {
                assert!(session.check().unwrap().is_clean());
                session.backup(format!("{}.backup", self.store)).unwrap();
                session.purge().unwrap();
                send("done");
            }
            order if order == Order::Lock as u8 => {
                session.lock();
                send("locked");
            }
            _ => panic!("no such order"),
        }
    }
}
