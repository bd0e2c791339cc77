//! The process under test: a host of the library that executes orders from a pipe.
//!
//! It is a careful host: it reads standard input without a buffer, wipes its copies, and gets every secret
//! through the pipe, so that no secret is part of the program.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use inmost::{
    ExpirySettings, HistorySettings, MemoryTool, Passphrase, RankQuery, Session, SessionOptions,
    StoreError, Vault, VaultOptions, VersionQuery,
};
use inmost_testing::CHEAP;
use zeroize::{Zeroize, Zeroizing};

/// An order to the child. On the pipe it is one byte, the length of its text in four bytes, and the text.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub(crate) enum Order {
    /// Create the store with this passphrase.
    Create = b'c',
    /// Unlock the store with this passphrase.
    Unlock = b'u',
    /// Unlock the store with this passphrase until it is idle.
    UnlockWhileUsed = b'i',
    /// Wait until the session has locked itself.
    Await = b'j',
    /// Execute this tool call.
    Call = b't',
    /// Write a file: its path, a NUL, its text.
    Write = b'w',
    /// Read the file of this path.
    Read = b'r',
    /// List the folder that holds this path, and name its last part from the list.
    List = b'l',
    /// Use the history with a file: its path, a NUL, a text, a NUL, and the actor.
    Versions = b'v',
    /// Check, purge and back up the store.
    Upkeep = b'p',
    /// Return all files of a copy of the store, which this passphrase opens.
    Salvage = b's',
    /// Lock the session and keep its handles.
    Lock = b'k',
    /// Drop the session with all its handles.
    Drop = b'd',
    /// Leave these bytes in memory.
    Leak = b'n',
    /// Report the protections of the process.
    Protections = b'o',
    /// Harden the process and report its protections.
    Harden = b'h',
    /// Abort so that a core dump is written.
    Abort = b'a',
}

/// The environment variable that makes a process the child. It has the path of the store.
pub(crate) const STORE: &str = "INMOST_TEST_STORE";

/// Long enough for a few calls, even on a busy machine. A later call finds the session locked.
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
    /// Creates or unlocks the store.
    fn unlocked(&self, order: u8, passphrase: &Passphrase) -> Result<Session, StoreError> {
        if order == Order::Create as u8 {
            let month = HistorySettings::keep(Duration::from_secs(30 * 24 * 60 * 60));
            let options = VaultOptions::new().kdf_cost(CHEAP);
            let options = options.history(month).expiry(ExpirySettings::record());
            return options.create(self.store, passphrase);
        }
        let mut session = SessionOptions::new();
        if order == Order::UnlockWhileUsed as u8 {
            session = session.idle_lock(IDLE);
        }
        VaultOptions::new().session(session).open(self.store)?.unlock(passphrase)
    }

    fn serve(&mut self, order: u8, mut payload: Vec<u8>, send: &mut dyn FnMut(&str)) {
        let unlock = [Order::Create, Order::Unlock, Order::UnlockWhileUsed];
        if unlock.iter().any(|it| *it as u8 == order) {
            let passphrase = Passphrase::from_bytes(payload).unwrap();
            match self.unlocked(order, &passphrase) {
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
                assert!(since.elapsed() < 20 * IDLE, "the session did not lock");
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
                    // Its text may contain a path, which the host must then wipe.
                    Err(error) => send(&Zeroizing::new(error.to_string())),
                }
            }
            order if order == Order::Read as u8 => {
                let read = session.files().read(text).unwrap();
                // The search keeps something of every text until the lock.
                let ranked = session.files().rank("/memories", &RankQuery::new(read.as_str()));
                assert_eq!(ranked.unwrap().files[0].path.as_str(), text);
                send(read.as_str());
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
            order if order == Order::Versions as u8 => {
                versions(session, text);
                send("done");
            }
            order if order == Order::Upkeep as u8 => {
                assert!(session.check().unwrap().is_clean());
                session.backup(format!("{}.backup", self.store)).unwrap();
                session.compact().unwrap();
                session.purge().unwrap();
                send("done");
            }
            order if order == Order::Lock as u8 => {
                session.lock();
                send("locked");
            }
            _ => panic!("unknown order"),
        }
    }
}

/// Makes versions of a file and reads, restores and forgets them.
fn versions(session: &Session, payload: &str) {
    let mut parts = payload.split('\0');
    let [path, text, actor] = [(); 3].map(|()| parts.next().unwrap());
    let session = session.acting_as(actor);
    let (files, history) = (session.files(), session.history());
    files.write(path, text).unwrap();
    // The reading is recorded along with the change after it.
    files.read(path).unwrap();
    files.append(path, "more\n").unwrap();
    assert!(session.expiry().status().unwrap().readings > 0);
    files.write(path, "other\n").unwrap();
    files.remove(path).unwrap();
    let page = history.page(&VersionQuery::all().path(path).actor(actor), None, 10).unwrap();
    let [deleted, _, appended, first, ..] = page.items.as_slice() else { panic!("{page:?}") };
    assert_eq!(deleted.actor.as_str(), actor);
    assert!(history.text(first.number).unwrap().as_str() == text);
    history.restore(first.number, None).unwrap();
    history.forget(path, Some(appended.number), |_| {}).unwrap();
    let plan = history.plan_undo(&VersionQuery::all().path(path)).unwrap();
    history.undo(&plan, |_| {}).unwrap();
    history.forget(path, None, |_| {}).unwrap();
    files.write(path, text).unwrap();
    files.remove(path).unwrap();
}
