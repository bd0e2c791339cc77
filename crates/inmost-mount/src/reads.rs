//! Which version of a file each process knows, so that it replaces no other one.

use std::collections::HashMap;

use crate::stores::Process;

/// The versions that processes know. They outlast a lock: a process may read a text before it and write after the next unlock. They
/// are numbers without a text or a name, and a file keeps its number for as long as the store has it.
#[derive(Default)]
pub(crate) struct Reads {
    known: HashMap<(Process, u64), Known>,
    /// How often something was noted.
    noted: u64,
}

struct Known {
    version: u64,
    /// When it was noted, as a number that grows.
    noted: u64,
}

impl Reads {
    /// The version of a file that a process knows.
    pub(crate) fn version(&self, process: Process, number: u64) -> Option<u64> {
        self.known.get(&(process, number)).map(|known| known.version)
    }

    /// Notes that a process knows a version of a file.
    pub(crate) fn has_read(&mut self, process: Process, number: u64, version: u64) {
        let key = (process, number);
        if self.known.len() >= MOST && !self.known.contains_key(&key) {
            self.make_room();
        }
        self.noted = self.noted.saturating_add(1);
        self.known.insert(key, Known { version, noted: self.noted });
    }

    /// Notes that a process has saved a version of a file, which keeps bytes of the version `kept`. If it knew an older text than
    /// that one, it does not know the new one: it may have added a line without reading the rest.
    pub(crate) fn has_saved(
        &mut self,
        process: Process,
        number: u64,
        kept: Option<u64>,
        version: u64,
    ) {
        let known = self.version(process, number);
        if known.is_none() || kept.is_none() || known == kept {
            self.has_read(process, number, version);
        }
    }

    /// Forgets processes that have ended: they write nothing any more. Only if all of them still run, what is oldest is forgotten.
    fn make_room(&mut self) {
        let mut alive = HashMap::new();
        self.known
            .retain(|(process, _), _| *alive.entry(*process).or_insert_with(|| process.is_alive()));
        if self.known.len() < MOST {
            return;
        }
        // Half of it at once, so that this is rare.
        let mut noted: Vec<u64> = self.known.values().map(|known| known.noted).collect();
        noted.sort_unstable();
        let oldest = noted.get(noted.len() / 2).copied().unwrap_or_default();
        self.known.retain(|_, known| known.noted >= oldest);
    }
}

/// Versions that are remembered for processes.
const MOST: usize = 16_384;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at an unexpected value")]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::process::Command;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use fuser::Errno;
    use inmost::Session;

    use crate::contents::Access;
    use crate::names::ScratchNames;
    use crate::stores::{Caller, Stores};
    use crate::tree::{ROOT, Tree};

    const A: &str = "/memories/a.md";
    const B: &str = "/memories/b.md";

    fn tree(session: &Session) -> Tree {
        let opened = session.clone();
        let stores = Stores::new(Box::new(move |actor| Ok(opened.acting_as(actor).into())), None);
        let (notices, _) = channel();
        Tree::new(stores, ScratchNames::new(&[]).unwrap(), (0, 0), "/memories", notices)
    }

    fn open(tree: &mut Tree, path: &str, access: Access) -> (u64, u64) {
        let ino = tree.entry(path).unwrap().ino.0;
        (ino, tree.open(ino, std::process::id(), access).unwrap())
    }

    fn read(tree: &mut Tree, path: &str) {
        let (ino, handle) = open(tree, path, Access { reads: true, writes: false });
        tree.release(ino, handle, false);
    }

    fn open_to_append(tree: &mut Tree, path: &str) -> (u64, u64) {
        open(tree, path, Access { reads: false, writes: false })
    }

    fn append(tree: &mut Tree, file: (u64, u64), text: &str) {
        tree.write(file, (0, true), text.as_bytes(), &Caller::of(std::process::id())).unwrap();
        tree.flush(file.0, file.1).unwrap();
        tree.release(file.0, file.1, false);
    }

    /// Empties a file without reading it and writes it, as most programs do. Returns the error of the close.
    fn rewrite(tree: &mut Tree, path: &str, text: &str) -> Option<i32> {
        let caller = Caller::of(std::process::id());
        let (ino, handle) = open(tree, path, Access { reads: false, writes: true });
        tree.resize((ino, Some(handle)), 0, &caller).unwrap();
        tree.write((ino, handle), (0, false), text.as_bytes(), &caller).unwrap();
        let closed = tree.flush(ino, handle);
        tree.release(ino, handle, true);
        closed.err().map(Errno::code)
    }

    fn rename(tree: &mut Tree, old: &str, new: &str) -> Option<i32> {
        let (old, new) = ((ROOT, OsStr::new(old)), (ROOT, OsStr::new(new)));
        let renamed = tree.rename(old, new, true, std::process::id(), "test");
        renamed.err().map(Errno::code)
    }

    fn stale() -> i32 {
        Errno::ESTALE.code()
    }

    #[test]
    fn what_a_process_has_read_before_a_lock_is_known_after_it() {
        let session = Session::in_memory().unwrap();
        let files = session.files();
        files.write(A, "one\n").unwrap();
        let mut tree = tree(&session);
        read(&mut tree, A);
        tree.lock_down();
        while tree.reader().is_err() {
            thread::sleep(Duration::from_millis(20));
        }
        files.write(A, "theirs\n").unwrap();
        assert_eq!(rewrite(&mut tree, A, "one, edited\n"), Some(stale()));
        // The same by a temporary file.
        let caller = Caller::of(std::process::id());
        let ino = tree.create("/memories/a.md.tmp.1", &caller, true).unwrap().ino.0;
        tree.write((ino, 0), (0, false), b"one, replaced\n", &caller).unwrap();
        tree.release(ino, 0, true);
        assert_eq!(rename(&mut tree, "a.md.tmp.1", "a.md"), Some(stale()));
        assert_eq!(files.read(A).unwrap().as_str(), "theirs\n");
        let beside = files.list("/memories").unwrap();
        let beside = beside.iter().filter(|it| it.name.starts_with("a.md.conflict-"));
        assert_eq!(beside.count(), 2);
    }

    #[test]
    fn a_process_that_appends_without_reading_does_not_know_the_text() {
        for is_opened_before in [false, true] {
            let session = Session::in_memory().unwrap();
            let files = session.files();
            files.write(A, "one\n").unwrap();
            let mut tree = tree(&session);
            read(&mut tree, A);
            let before = is_opened_before.then(|| open_to_append(&mut tree, A));
            files.write(A, "theirs\n").unwrap();
            let file = before.unwrap_or_else(|| open_to_append(&mut tree, A));
            append(&mut tree, file, "own\n");
            assert_eq!(rewrite(&mut tree, A, "one, edited\n"), Some(stale()), "{is_opened_before}");
            assert_eq!(files.read(A).unwrap().as_str(), "theirs\nown\n");
            // A process that knows the text knows what it makes of it too.
            read(&mut tree, A);
            let file = open_to_append(&mut tree, A);
            append(&mut tree, file, "more\n");
            for text in ["last\n", "very last\n"] {
                assert_eq!(rewrite(&mut tree, A, text), None);
                assert_eq!(files.read(A).unwrap().as_str(), text);
            }
        }
    }

    #[test]
    fn a_process_knows_a_text_that_it_has_written_anew() {
        let session = Session::in_memory().unwrap();
        let files = session.files();
        files.write(A, "one\n").unwrap();
        let mut tree = tree(&session);
        read(&mut tree, A);
        files.write(A, "").unwrap();
        for text in ["mine\n", "mine again\n"] {
            assert_eq!(rewrite(&mut tree, A, text), None);
            assert_eq!(files.read(A).unwrap().as_str(), text);
        }
    }

    #[test]
    fn a_process_that_renames_a_file_does_not_know_a_newer_text_of_it() {
        let session = Session::in_memory().unwrap();
        let files = session.files();
        for replaces in [false, true] {
            files.write(A, "one\n").unwrap();
            if replaces {
                files.write(B, "another\n").unwrap();
            }
            let mut tree = tree(&session);
            read(&mut tree, A);
            files.write(A, "theirs\n").unwrap();
            assert_eq!(rename(&mut tree, "a.md", "b.md"), None);
            assert_eq!(rewrite(&mut tree, B, "one, edited\n"), Some(stale()), "{replaces}");
            assert_eq!(files.read(B).unwrap().as_str(), "theirs\n");
            read(&mut tree, B);
            assert_eq!(rename(&mut tree, "b.md", "a.md"), None);
            assert_eq!(rewrite(&mut tree, A, "last\n"), None);
            assert_eq!(files.read(A).unwrap().as_str(), "last\n");
        }
    }

    #[test]
    fn processes_that_have_ended_make_room_before_those_that_run() {
        let own = Process::of(std::process::id());
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let ended = Process::of(other.id());
        other.kill().unwrap();
        other.wait().unwrap();
        let mut reads = Reads::default();
        reads.has_read(own, 1, 7);
        let last = 20_000;
        for number in 1..=last {
            reads.has_read(ended, number, 8);
        }
        assert_eq!((reads.version(own, 1), reads.version(ended, 1)), (Some(7), None));
        for number in 2..=last {
            reads.has_read(own, number, 9);
        }
        assert_eq!((reads.version(own, 1), reads.version(own, last)), (None, Some(9)));
        assert!(reads.known.len() <= MOST);
    }
}
