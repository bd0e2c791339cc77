//! What happens to names: folders that are made, files that are deleted, and renames.

use std::ffi::OsStr;

use fuser::{Errno, FileAttr};
use inmost::{FileError, NewFile, Precondition, Wiped};

use crate::names;
use crate::node::{Node, What};
use crate::stores::Process;
use crate::tree::{Away, Tree};

impl Tree {
    /// Makes a folder, which lasts as long as the mount.
    pub(crate) fn make_folder(
        &mut self,
        folder: u64,
        name: &OsStr,
        program: &str,
    ) -> Result<FileAttr, Errno> {
        let path = self.new_path(folder, name)?;
        self.free(&path, program)?;
        if !self.scratch.has(&path) {
            self.check_path(&path)?;
        }
        let ino = self.fresh();
        let what = What::Folder { is_kept: true };
        self.nodes.insert(ino, Node { path: None, lookups: 0, what });
        self.place(ino, &path);
        self.touch(&path);
        self.touch(names::parent(&path));
        Ok(self.of_folder(ino, &path))
    }

    /// The path of a new entry.
    ///
    /// # Errors
    /// `EEXIST`, and those of names.
    pub(crate) fn new_path(&mut self, folder: u64, name: &OsStr) -> Result<String, Errno> {
        let folder = self.folder(folder)?;
        let path = names::join(&folder, name)?;
        if self.entry_if_any(&path)?.is_some() { Err(Errno::EEXIST) } else { Ok(path) }
    }

    /// Deletes a file.
    pub(crate) fn unlink(&mut self, folder: u64, name: &OsStr, program: &str) -> Result<(), Errno> {
        let attributes = self.lookup(folder, name)?;
        let ino = attributes.ino.0;
        self.file(ino)?;
        let path = self.path(ino)?;
        if let Some((origin, away)) = self.take_away(ino) {
            // Moved to a scratch name and deleted there: now it is gone from the store too.
            self.remove_stored(&origin, Some(away.version), program)?;
        } else if let Some(away) = self.away_again(ino)? {
            // Never saved: the store still has the file that was moved to a scratch name, for as long as that is there.
            self.away.insert(path.clone(), away);
        } else if self.file(ino)?.number.is_some() {
            self.remove_stored(&path, None, program)?;
        }
        self.detach(ino);
        let folder = names::parent(&path).to_owned();
        self.keep(&folder);
        self.touch(&folder);
        Ok(())
    }

    /// Removes the file at a path from the store, if it is there in this version, or in any.
    fn remove_stored(
        &mut self,
        path: &str,
        version: Option<u64>,
        program: &str,
    ) -> Result<(), Errno> {
        let store = self.writer(program)?;
        for _ in 0..ATTEMPTS {
            let Some((_, now)) = self.stored(path)? else { return Ok(()) };
            // A newer text of somebody else is not what was to be deleted.
            if version.is_some_and(|version| version != now) {
                return Ok(());
            }
            match store.files().remove_if(path, &Precondition::Version(now)) {
                Ok(()) | Err(FileError::NotFound) => return Ok(()),
                Err(FileError::Changed(_)) => {}
                Err(error) => return Err(self.fail(&error)),
            }
        }
        Err(Errno::EAGAIN)
    }

    /// Frees a path for a folder: a file that was moved from there to a scratch name is gone from the store now.
    fn free(&mut self, path: &str, program: &str) -> Result<(), Errno> {
        match self.away.remove(path) {
            Some(away) => self.remove_stored(path, Some(away.version), program),
            None => Ok(()),
        }
    }

    /// Forgets that a file was moved to a scratch name, and returns its path in the store.
    fn take_away(&mut self, ino: u64) -> Option<(String, Away)> {
        self.away.extract_if(|_, away| away.ino == ino).next()
    }

    /// The file of the store that a new file was to replace and has not, if it is still at its scratch name.
    fn away_again(&mut self, ino: u64) -> Result<Option<Away>, Errno> {
        let backup = self.file(ino)?.backup;
        Ok(backup.filter(|backup| {
            self.nodes.get(&backup.ino).is_some_and(|node| {
                node.path.is_some() && node.file().is_some_and(|file| file.is_scratch)
            })
        }))
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&mut self, folder: u64, name: &OsStr) -> Result<(), Errno> {
        let ino = self.lookup(folder, name)?.ino.0;
        let path = self.folder(ino)?;
        if !self.is_empty(ino)? {
            return Err(Errno::ENOTEMPTY);
        }
        self.detach(ino);
        let folder = names::parent(&path).to_owned();
        self.keep(&folder);
        self.touch(&folder);
        Ok(())
    }

    fn is_empty(&mut self, ino: u64) -> Result<bool, Errno> {
        Ok(self.list(ino)?.is_empty())
    }

    /// Renames a file or folder.
    pub(crate) fn rename(
        &mut self,
        (folder, name): (u64, &OsStr),
        (new_folder, new_name): (u64, &OsStr),
        may_replace: bool,
        thread: u32,
        program: &str,
    ) -> Result<(), Errno> {
        let ino = self.lookup(folder, name)?.ino.0;
        let old = self.path(ino)?;
        let new_folder = self.folder(new_folder)?;
        let new = names::join(&new_folder, new_name)?;
        let target = self.entry_if_any(&new)?.map(|attributes| attributes.ino.0);
        if target.is_some() && !may_replace {
            return Err(Errno::EEXIST);
        }
        if target == Some(ino) {
            return Ok(());
        }
        let is_folder = self.node(ino)?.file().is_none();
        let replaces_folder = match target {
            Some(target) => Some(self.node(target)?.file().is_none()),
            None => None,
        };
        match (is_folder, replaces_folder) {
            (true, Some(false)) => return Err(Errno::ENOTDIR),
            (false, Some(true)) => return Err(Errno::EISDIR),
            _ => {}
        }
        if target.is_none() && !self.scratch.has(&new) {
            self.check_path(&new)?;
        }
        if is_folder {
            self.rename_folder((ino, &old), (target, &new), program)?;
        } else {
            self.rename_file((ino, &old), (target, &new), thread, program)?;
        }
        let folder = names::parent(&old).to_owned();
        if !self.scratch.has(&folder) {
            self.keep(&folder);
        }
        self.touch(&folder);
        self.touch(names::parent(&new));
        Ok(())
    }

    fn rename_folder(
        &mut self,
        (ino, old): (u64, &str),
        (target, new): (Option<u64>, &str),
        program: &str,
    ) -> Result<(), Errno> {
        if names::is_below(new, old) || self.scratch.has(old) != self.scratch.has(new) {
            return Err(Errno::EINVAL);
        }
        if let Some(target) = target {
            if !self.is_empty(target)? {
                return Err(Errno::ENOTEMPTY);
            }
            self.detach(target);
        }
        self.free(new, program)?;
        if self.is_stored_folder(old)? {
            let store = self.writer(program)?;
            let renamed = store.files().rename(old, new);
            renamed.map_err(|error| self.fail(&error))?;
        }
        let moved: Vec<(String, u64)> = self
            .paths
            .iter()
            .filter(|(path, _)| names::is_below(path, old))
            .map(|(path, ino)| (path.clone(), *ino))
            .collect();
        let path_after = |path: &str| {
            let rest = path.strip_prefix(old).unwrap_or_default();
            format!("{new}{rest}")
        };
        self.place(ino, new);
        for (path, ino) in moved {
            let path = path_after(&path);
            self.place(ino, &path);
        }
        let away: Vec<String> =
            self.away.keys().filter(|path| names::is_below(path, old)).cloned().collect();
        for path in away {
            if let Some(away) = self.away.remove(&path) {
                self.away.insert(path_after(&path), away);
            }
        }
        if let Some(time) = self.times.remove(old) {
            self.times.insert(new.to_owned(), time);
        }
        Ok(())
    }

    fn rename_file(
        &mut self,
        (ino, old): (u64, &str),
        (target, new): (Option<u64>, &str),
        thread: u32,
        program: &str,
    ) -> Result<(), Errno> {
        let file = self.file(ino)?;
        let (is_scratch, number) = (file.is_scratch, file.number);
        let target_number = match target {
            Some(target) => self.file(target)?.number,
            None => None,
        };
        let becomes_scratch = self.scratch.has(new) && target_number.is_none();
        if becomes_scratch {
            if let Some(number) = number {
                self.move_away(ino, old, number, Process::of(thread))?;
            }
            if let Some(target) = target {
                self.discard_scratch(target, program)?;
            }
            self.file(ino)?.is_scratch = true;
            self.place(ino, new);
            return Ok(());
        }
        if is_scratch || number.is_none() {
            return self.publish((ino, old), (target, new), thread, program);
        }
        self.save(ino)?;
        self.replace((ino, old), (target, new), thread, program)
    }

    /// A scratch file is replaced by another. If a file of the store was moved there, it is gone now.
    fn discard_scratch(&mut self, ino: u64, program: &str) -> Result<(), Errno> {
        if let Some((origin, away)) = self.take_away(ino) {
            self.remove_stored(&origin, Some(away.version), program)?;
        }
        self.detach(ino);
        Ok(())
    }

    /// A file of the store gets a scratch name: its text moves to memory, and it stays in the store for now.
    fn move_away(
        &mut self,
        ino: u64,
        old: &str,
        number: u64,
        process: Process,
    ) -> Result<(), Errno> {
        self.save(ino)?;
        self.refresh(ino)?;
        let file = self.file(ino)?;
        let version = file.buffer.as_ref().and_then(|buffer| buffer.base).unwrap_or_default();
        file.number = None;
        self.numbers.remove(&number);
        let known = self.reads.version(process, number).unwrap_or(version);
        self.away.insert(old.to_owned(), Away { number, version, known, ino });
        Ok(())
    }

    /// A file that is only in memory gets the name of a file of the store. It is saved before this returns, as a change of the file
    /// that has the name.
    fn publish(
        &mut self,
        (ino, old): (u64, &str),
        (target, new): (Option<u64>, &str),
        thread: u32,
        program: &str,
    ) -> Result<(), Errno> {
        let room = self.room()?;
        let file = self.file(ino)?;
        let buffer = file.buffer.as_mut().ok_or(Errno::ESTALE)?;
        let text = Wiped::new(buffer.text()?.to_owned());
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > room.file_bytes {
            return Err(Errno::EFBIG);
        }
        let modified = buffer.modified;
        let marked = self.screened(new, &text)?;
        let is_redacted = marked.is_some();
        let text = marked.unwrap_or(text);
        let is_new = target.is_none() && !self.away.contains_key(new);
        let away = self.away.get(new).copied();
        let is_back = away.is_some_and(|away| away.ino == ino);
        let replaced = match (target, away) {
            (_, Some(away)) if is_back => Some((away.number, away.version)),
            (_, Some(away)) => Some((away.number, away.known)),
            (Some(target), None) if self.file(target)?.number.is_some() => {
                self.version_to_replace(new, thread)?
            }
            _ => None,
        };
        let condition =
            replaced.map_or(Precondition::Absent, |(_, version)| Precondition::Version(version));
        let store = self.writer(program)?;
        let file = NewFile::new(new, &text).modified(modified);
        let saved = match store.files().write_file_if(&file, &condition) {
            Ok(saved) => saved,
            Err(FileError::Changed(now)) => {
                let version = now.map_or_else(|| replaced.map_or(0, |it| it.1), |now| now.version);
                self.save_beside(new, version, &text, program)?;
                // The file that was moved away is in its place again, and its backup is a copy.
                self.away.remove(new);
                return Err(Errno::ESTALE);
            }
            Err(error) => return Err(self.fail(&error)),
        };
        // A file that was moved to a scratch name and back is the same again.
        if let Some((origin, away)) = self.take_away(ino)
            && origin != new
        {
            self.remove_stored(&origin, Some(away.version), program)?;
        }
        self.away.remove(new);
        if let Some(target) = target {
            self.detach(target);
        }
        self.place(ino, new);
        let number = replaced.map_or(saved.version, |(number, _)| number);
        let file = self.file(ino)?;
        file.is_scratch = false;
        if let Some(buffer) = &mut file.buffer {
            buffer.saved(saved.version);
            buffer.is_redacted = is_redacted;
        }
        if file.handles == 0 {
            file.buffer = None;
        }
        self.is_stored(ino, number);
        // What comes back is no more known than before.
        let older = away.filter(|away| is_back && away.known != away.version);
        let known = older.map_or(saved.version, |away| away.known);
        self.reads.has_read(Process::of(thread), number, known);
        if is_new {
            self.touch(names::parent(new));
        }
        if !self.scratch.has(old) {
            self.touch(names::parent(old));
        }
        Ok(())
    }

    /// The number of the file at a path, and the version that a process may replace: the one that it has read last, or the
    /// present one.
    fn version_to_replace(&mut self, path: &str, thread: u32) -> Result<Option<(u64, u64)>, Errno> {
        let Some((number, version)) = self.stored(path)? else { return Ok(None) };
        let read = self.reads.version(Process::of(thread), number);
        Ok(Some((number, read.unwrap_or(version))))
    }

    /// A file of the store gets another name, over another file or not.
    fn replace(
        &mut self,
        (ino, old): (u64, &str),
        (target, new): (Option<u64>, &str),
        thread: u32,
        program: &str,
    ) -> Result<(), Errno> {
        let (source, renamed) = self.stored(old)?.ok_or(Errno::ESTALE)?;
        let is_stored = match target {
            Some(target) => self.file(target)?.number.is_some(),
            None => false,
        };
        let replaced = match self.away.get(new) {
            Some(away) => Some((away.number, away.known)),
            None if is_stored => self.version_to_replace(new, thread)?,
            None => None,
        };
        let store = self.writer(program)?;
        let moved = Precondition::Version(renamed);
        let (number, version) = if let Some((number, version)) = replaced {
            let replaced = Precondition::Version(version);
            let now = store.files().replace_if(old, new, &moved, &replaced);
            if matches!(now, Err(FileError::Changed(_))) {
                self.away.remove(new);
            }
            (number, now.map_err(|error| self.fail(&error))?.version)
        } else {
            let now = store.files().rename_if(old, new, &moved);
            (source, now.map_err(|error| self.fail(&error))?)
        };
        self.away.remove(new);
        if let Some(target) = target {
            self.detach(target);
        }
        self.place(ino, new);
        // A text that was older before is older still.
        if let Some(buffer) = &mut self.file(ino)?.buffer
            && buffer.base == Some(renamed)
        {
            let is_redacted = buffer.is_redacted;
            buffer.saved(version);
            buffer.is_redacted = is_redacted;
        }
        self.is_stored(ino, number);
        let process = Process::of(thread);
        match self.reads.version(process, source) {
            // It knows an older text than the one that was renamed, and so it does under the new name.
            Some(read) if read != renamed => self.reads.has_read(process, number, read),
            _ => self.reads.has_read(process, number, version),
        }
        Ok(())
    }
}

/// Attempts to delete a file that others keep changing.
const ATTEMPTS: u32 = 16;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at an unexpected value")]
mod tests {
    use super::*;
    use crate::names::ScratchNames;
    use crate::stores::{Caller, Stores};
    use crate::tree::ROOT;
    use inmost::Session;

    #[test]
    fn a_file_with_a_backup_stays_in_the_store_if_its_new_text_is_deleted_unsaved() {
        let session = Session::in_memory().unwrap();
        let files = session.files();
        let opened = session.clone();
        let stores = Stores::new(Box::new(move |actor| Ok(opened.acting_as(actor).into())), None);
        let (notices, _) = std::sync::mpsc::channel();
        let scratch = ScratchNames::new(&[]).unwrap();
        let mut tree = Tree::new(stores, scratch, (0, 0), "/memories", notices);
        let thread = std::process::id();
        let (path, caller) = ("/memories/a.md", Caller::of(thread));
        let (name, backup) = (OsStr::new("a.md"), OsStr::new("a.md~"));
        for is_saved in [false, true] {
            files.write(path, "one\n").unwrap();
            tree.rename((ROOT, name), (ROOT, backup), true, thread, "test").unwrap();
            let ino = tree.create(path, &caller, true).unwrap().ino.0;
            tree.write((ino, 0), (0, false), b"two\n", &caller).unwrap();
            if is_saved {
                tree.flush(ino, 0).unwrap();
            }
            tree.unlink(ROOT, name, "test").unwrap();
            tree.release(ino, 0, true);
            assert!(tree.lookup(ROOT, name).is_err(), "{is_saved}");
            let text = files.read(path).ok().map(|text| text.as_str().to_owned());
            assert_eq!(text.as_deref(), (!is_saved).then_some("one\n"));
            // Now the original is gone in both cases.
            tree.unlink(ROOT, backup, "test").unwrap();
            assert!(!files.exists(path).unwrap(), "{is_saved}");
        }
    }
}
