//! What happens to the contents of files: opening, reading, writing and saving.

use std::mem;
use std::time::SystemTime;

use fuser::{Errno, FileAttr};
use inmost::{EntryKind, FileError, NewFile, Precondition, Wiped};

use crate::buffer::{Buffer, in_milliseconds, now};
use crate::names;
use crate::node::{File, Node, What};
use crate::stores::{Caller, Process};
use crate::tree::{Notice, Tree};

/// What a handle is for.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) reads: bool,
    /// Whether it writes, and not only at the end.
    pub(crate) writes: bool,
}

impl Tree {
    /// Opens a file: reads its text and its version in one call. Returns the handle: how often earlier ones have lost their text.
    pub(crate) fn open(&mut self, ino: u64, thread: u32, access: Access) -> Result<u64, Errno> {
        let file = self.file(ino)?;
        let is_unsaved =
            |buffer: &Buffer| buffer.failure.is_some() || (access.reads && buffer.is_written);
        if file.buffer.as_ref().is_some_and(is_unsaved) {
            // What is read is a version, if it can be saved. If not, the text is still readable.
            let _ = self.save(ino);
        }
        if !self.node(ino)?.is_in_memory() {
            self.refresh(ino)?;
        }
        // A program that also writes may have the file emptied before it reads it.
        let is_empty = self.file(ino)?.buffer.as_ref().is_some_and(|buffer| buffer.len() == 0);
        if access.reads {
            self.has_read(ino, is_empty || !access.writes, thread);
        }
        let file = self.file(ino)?;
        if let Some(buffer) = file.buffer.as_mut().filter(|buffer| !buffer.is_changed)
            && access.reads
            && access.writes
        {
            // It may write by a mapping, which has no caller.
            buffer.caller = Caller::of(thread);
        }
        file.handles = file.handles.saturating_add(1);
        file.writers = file.writers.saturating_add(u32::from(access.writes));
        Ok(file.losses)
    }

    /// Whether the kernel may have the length of another version than that of an open file: then it has to be told.
    pub(crate) fn is_news(&mut self, ino: u64) -> bool {
        let Ok(file) = self.file(ino) else { return false };
        let version = file.buffer.as_ref().and_then(|buffer| buffer.base);
        mem::replace(&mut file.told, version) != version
    }

    /// Reads the text of a file again if the store has a newer one, unless a program writes to the one that it knows.
    pub(crate) fn refresh(&mut self, ino: u64) -> Result<(), Errno> {
        let Some(path) = self.node(ino)?.path.clone() else {
            // Deleted; what was open stays readable.
            return self.file(ino)?.buffer.as_ref().map(drop).ok_or(Errno::ESTALE);
        };
        let read = self.reader()?.files().read_with_metadata(&path);
        let (text, metadata) = read.map_err(|error| match error {
            FileError::NotFound | FileError::IsAFolder(_) => {
                self.detach_gone(ino);
                Errno::ESTALE
            }
            error => self.fail(&error),
        })?;
        let EntryKind::File { number, version, modified, .. } = metadata.kind else {
            return Err(Errno::ESTALE);
        };
        let file = self.file(ino)?;
        if file.number != Some(number) {
            self.detach_gone(ino);
            return Err(Errno::ESTALE);
        }
        let is_held = file.writers > 0;
        match &mut file.buffer {
            Some(buffer) if is_held || buffer.is_changed || buffer.base == Some(version) => {}
            Some(buffer) => {
                buffer.reload(text.as_str(), version, modified);
                let _ = self.notices.send(Notice::Inode(ino));
            }
            None => {
                if is_held && file.known.is_some_and(|known| known != version) {
                    file.lose_handles();
                }
                let bytes = Wiped::new(text.into_string().into_bytes());
                file.buffer = Some(Buffer::of(bytes, version, modified));
            }
        }
        Ok(())
    }

    /// Has the kernel look again at what it knows, if the store has a new commit. Texts that are open for reading are read again
    /// where they have changed, so that programs see them without opening them anew, also in mapped memory.
    pub(crate) fn follow(&mut self, commit: u64) {
        if self.followed.replace(commit) == Some(commit) {
            return;
        }
        let mut read = Vec::new();
        for (ino, node) in &self.nodes {
            let Some(file) = node.file() else { continue };
            if node.is_in_memory() || node.path.is_none() {
                continue;
            }
            if file.handles > 0 && file.writers == 0 {
                read.push(*ino);
            }
            let _ = self.notices.send(Notice::Attributes(*ino));
        }
        for ino in read {
            // One that is gone stays readable.
            let _ = self.attributes(ino);
        }
    }

    /// Checks that a handle of a file still knows what it writes to.
    ///
    /// # Errors
    /// `ESTALE`.
    fn check_held(&mut self, ino: u64, handle: u64) -> Result<(), Errno> {
        if handle < self.file(ino)?.losses { Err(Errno::ESTALE) } else { Ok(()) }
    }

    /// The buffer of an open file. After a lock and an unlock it is read again.
    pub(crate) fn buffer(&mut self, ino: u64) -> Result<&mut Buffer, Errno> {
        if self.file(ino)?.buffer.is_none() {
            self.refresh(ino)?;
        }
        self.file(ino)?.buffer.as_mut().ok_or(Errno::ESTALE)
    }

    /// The bytes that a program reads from an offset.
    pub(crate) fn read(&mut self, ino: u64, offset: u64, thread: u32) -> Result<&[u8], Errno> {
        self.buffer(ino)?;
        let file = self.file(ino)?;
        // Else it knows them since it has opened the file.
        if file.writers > 0 || file.handles > 1 {
            self.has_read(ino, offset == 0, thread);
        }
        Ok(self.buffer(ino)?.bytes())
    }

    /// Notes that a program has an open file to read. It knows a newer version than before once it has read its start.
    fn has_read(&mut self, ino: u64, is_start: bool, thread: u32) {
        let Ok(file) = self.file(ino) else { return };
        let version = file.buffer.as_ref().and_then(|buffer| buffer.base);
        let (Some(number), Some(version)) = (file.number, version) else { return };
        let process = Process::of(thread);
        if is_start || self.reads.version(process, number).is_none() {
            self.reads.has_read(process, number, version);
        }
    }

    /// Writes bytes; for a handle that appends, at the end.
    pub(crate) fn write(
        &mut self,
        (ino, handle): (u64, u64),
        (offset, is_append): (u64, bool),
        data: &[u8],
        caller: &Caller,
    ) -> Result<(), Errno> {
        let failure = self.buffer(ino)?.failure;
        // What cannot be text or was refused by the screen is mended by writing.
        let mended = [Errno::EILSEQ.code(), Errno::EACCES.code()];
        if failure.is_some_and(|failure| !mended.contains(&failure.code())) {
            self.save(ino)?;
        }
        self.check_held(ino, handle)?;
        let asked = usize::try_from(offset).map_err(|_| Errno::EFBIG)?;
        let offset = if is_append { self.buffer(ino)?.len() } else { asked };
        self.check_room(ino, offset.checked_add(data.len()).ok_or(Errno::EFBIG)?)?;
        let is_scratch = self.file(ino)?.is_scratch;
        let buffer = self.buffer(ino)?;
        if !is_scratch {
            buffer.check(offset, data)?;
        }
        buffer.write(offset, data, is_append);
        // What the system writes for a mapping is of the program that has opened or written the file last.
        if caller.process != Process::default() {
            buffer.caller.clone_from(caller);
        }
        if offset != asked {
            let _ = self.notices.send(Notice::Inode(ino));
        }
        Ok(())
    }

    /// Checks that a file may become so long.
    fn check_room(&mut self, ino: u64, length: usize) -> Result<(), Errno> {
        let file = self.file(ino)?;
        let is_scratch = file.is_scratch;
        let grows = length.saturating_sub(file.buffer.as_ref().map_or(0, Buffer::len));
        if grows == 0 {
            return Ok(());
        }
        let files = self.nodes.values().filter_map(|node| node.file());
        let buffers = files.filter(|file| file.is_scratch == is_scratch);
        let buffers = buffers.filter_map(|file| file.buffer.as_ref());
        if is_scratch {
            let used: usize = buffers.map(Buffer::len).sum();
            let fits = used.saturating_add(grows) <= SCRATCH_BYTES;
            return if fits { Ok(()) } else { Err(Errno::ENOSPC) };
        }
        // What was written before and is not saved yet needs its room too.
        let unsaved: usize = buffers.map(Buffer::grown).sum();
        let grows = unsaved.saturating_add(grows);
        let room = self.room()?;
        let (length, grows) = (as_u64(length), as_u64(grows));
        if length > room.file_bytes {
            return Err(Errno::EFBIG);
        }
        if grows > room.quota {
            return Err(Errno::EDQUOT);
        }
        if grows > room.disk {
            return Err(Errno::ENOSPC);
        }
        Ok(())
    }

    /// Sets the length of a file, by a handle or its path. One that is not open is saved at once.
    pub(crate) fn resize(
        &mut self,
        (ino, handle): (u64, Option<u64>),
        length: u64,
        caller: &Caller,
    ) -> Result<(), Errno> {
        let length = usize::try_from(length).map_err(|_| Errno::EFBIG)?;
        let file = self.file(ino)?;
        let is_open = file.handles > 0 || file.is_scratch;
        let was_kept = file.buffer.is_some();
        let resized = self.resize_open((ino, handle), length, caller);
        if is_open {
            return resized;
        }
        let saved = resized.and_then(|()| self.save(ino));
        if let Ok(file) = self.file(ino)
            && (saved.is_ok() || !was_kept)
        {
            file.buffer = None;
        }
        saved
    }

    fn resize_open(
        &mut self,
        (ino, handle): (u64, Option<u64>),
        length: usize,
        caller: &Caller,
    ) -> Result<(), Errno> {
        self.buffer(ino)?;
        if let Some(handle) = handle {
            self.check_held(ino, handle)?;
        }
        self.check_room(ino, length)?;
        let number = self.file(ino)?.number;
        let read = number.and_then(|number| self.reads.version(caller.process, number));
        let buffer = self.buffer(ino)?;
        if length == 0 && !buffer.is_changed && buffer.len() > 0 {
            // A program that writes a file anew makes the text from what it has read, maybe by a handle that it has closed.
            buffer.base = read.or(buffer.base);
        }
        buffer.resize(length);
        buffer.caller.clone_from(caller);
        Ok(())
    }

    /// Sets the time of the last change of a file or folder.
    pub(crate) fn set_modified(
        &mut self,
        ino: u64,
        time: SystemTime,
        program: &str,
    ) -> Result<(), Errno> {
        let time = in_milliseconds(time);
        let node = self.node(ino)?;
        if let What::Folder { .. } = node.what {
            let path = self.folder(ino)?;
            self.times.insert(path, time);
            return Ok(());
        }
        let (is_in_memory, path) = (node.is_in_memory(), node.path.clone());
        if let Some(path) = path.filter(|_| !is_in_memory) {
            let (_, version) = self.stored(&path)?.ok_or(Errno::ESTALE)?;
            let store = self.writer(program)?;
            let condition = Precondition::Version(version);
            let set = store.files().set_modified_if(&path, time, &condition);
            set.map_err(|error| self.fail(&error))?;
        }
        if let Some(buffer) = &mut self.file(ino)?.buffer {
            buffer.modified = time;
            // It was not set above.
            buffer.is_changed |= buffer.is_redacted;
        }
        Ok(())
    }

    /// Saves what was written, at a close that need not be the last one.
    pub(crate) fn flush(&mut self, ino: u64, handle: u64) -> Result<(), Errno> {
        self.check_held(ino, handle)?;
        let file = self.file(ino)?;
        match &file.buffer {
            Some(buffer) if buffer.is_written => self.save(ino),
            _ => Ok(()),
        }
    }

    /// Saves what is not saved, for `fsync`.
    pub(crate) fn sync(&mut self, ino: u64, handle: u64) -> Result<(), Errno> {
        self.check_held(ino, handle)?;
        self.save(ino)
    }

    /// Ends a handle. The last one saves the rest. A text that cannot be saved stays readable and is tried again.
    pub(crate) fn release(&mut self, ino: u64, handle: u64, is_writer: bool) {
        let Ok(file) = self.file(ino) else { return };
        file.handles = file.handles.saturating_sub(1);
        let counts = is_writer && handle == file.losses;
        file.writers = file.writers.saturating_sub(counts.into());
        if file.handles > 0 {
            return;
        }
        (file.writers, file.known) = (0, None);
        if file.buffer.as_ref().is_some_and(|buffer| buffer.is_redacted) {
            let _ = self.notices.send(Notice::Inode(ino));
        }
        self.save_or_keep(ino);
        self.drop_if_unused(ino);
    }

    /// Saves a file that is not open. A text that cannot be saved is kept.
    pub(crate) fn save_or_keep(&mut self, ino: u64) {
        let saved = self.save(ino);
        let Some(node) = self.nodes.get_mut(&ino) else { return };
        let is_deleted = node.path.is_none();
        let Some(file) = node.file_mut().filter(|file| is_deleted || !file.is_scratch) else {
            return;
        };
        match (saved, &mut file.buffer) {
            (Err(failure), Some(buffer)) if buffer.is_changed => buffer.failure = Some(failure),
            _ => file.buffer = None,
        }
    }

    /// Saves a file if anything of it is not saved.
    ///
    /// # Errors
    /// `ESTALE` if somebody else has changed it; then the text is saved beside it.
    pub(crate) fn save(&mut self, ino: u64) -> Result<(), Errno> {
        let Some(path) = self.node(ino)?.path.clone() else { return self.save_gone(ino) };
        let file = self.file(ino)?;
        let number = file.number;
        let buffer = match &mut file.buffer {
            Some(buffer) if buffer.is_changed && !file.is_scratch => buffer,
            _ => return Ok(()),
        };
        let (program, process) = (buffer.caller.program.clone(), buffer.caller.process);
        let store = self.writer(&program)?;
        for _ in 0..ATTEMPTS {
            let marked = self.screened_buffer(ino, &path)?;
            let buffer = self.file(ino)?.buffer.as_mut().ok_or(Errno::ESTALE)?;
            let text = marked.as_ref().map_or_else(|| buffer.text(), |text| Ok(text.as_str()))?;
            // An append that is done again keeps another text than before.
            let kept = buffer.kept();
            let condition = buffer.base.map_or(Precondition::Absent, Precondition::Version);
            let new = NewFile::new(&path, text).modified(buffer.modified);
            match store.files().write_file_if(&new, &condition) {
                Ok(saved) => {
                    buffer.saved(saved.version);
                    buffer.is_redacted = marked.is_some();
                    // Others may have created it meanwhile.
                    let known = self.file(ino)?.number.unwrap_or(saved.version);
                    self.is_stored(ino, known);
                    self.reads.has_saved(process, known, kept, saved.version);
                    if number.is_none() {
                        self.touch(names::parent(&path));
                    }
                    return Ok(());
                }
                Err(FileError::Changed(_)) => {}
                Err(error) => return Err(self.fail(&error)),
            }
            match store.files().read_with_metadata(&path) {
                Ok((now, metadata)) => {
                    let EntryKind::File { number, version, modified, .. } = metadata.kind else {
                        return Err(Errno::EISDIR);
                    };
                    let buffer = self.file(ino)?.buffer.as_mut().ok_or(Errno::ESTALE)?;
                    let text = marked.map_or_else(|| buffer.text().map(copy), Ok)?;
                    if now.as_str() == text.as_str() {
                        buffer.saved(version);
                        self.is_stored(ino, number);
                        self.reads.has_saved(process, number, kept, version);
                        return Ok(());
                    }
                    if buffer.appended().is_some() {
                        buffer.append_again(now.as_str(), version);
                        self.is_stored(ino, number);
                        let _ = self.notices.send(Notice::Inode(ino));
                        continue;
                    }
                    self.save_beside(&path, version, &text, &program)?;
                    self.is_stored(ino, number);
                    let file = self.file(ino)?;
                    file.lose_handles();
                    let buffer = file.buffer.as_mut().ok_or(Errno::ESTALE)?;
                    buffer.reload(now.as_str(), version, modified);
                    let _ = self.notices.send(Notice::Inode(ino));
                    return Err(Errno::ESTALE);
                }
                Err(FileError::NotFound) => {
                    // Somebody else has deleted it.
                    self.detach_gone(ino);
                    self.save_gone(ino)?;
                    return Err(Errno::ESTALE);
                }
                Err(error) => return Err(self.fail(&error)),
            }
        }
        Err(Errno::EAGAIN)
    }

    /// Saves what is not saved of a file without a place beside the place that it had. A file that was deleted here is not saved.
    ///
    /// # Errors
    /// `ESTALE` once it is saved there.
    fn save_gone(&mut self, ino: u64) -> Result<(), Errno> {
        let file = self.file(ino)?;
        let (Some(path), true) = (file.gone_from.clone(), file.is_gone_unsaved()) else {
            return Ok(());
        };
        let buffer = file.buffer.as_ref().ok_or(Errno::ESTALE)?;
        let (text, program) = (copy(buffer.text()?), buffer.caller.program.clone());
        let version = buffer.base.unwrap_or_default();
        let text = self.screened(&path, &text)?.unwrap_or(text);
        self.save_beside(&path, version, &text, &program)?;
        let file = self.file(ino)?;
        file.lose_handles();
        if let Some(buffer) = &mut file.buffer {
            buffer.saved(version);
        }
        Err(Errno::ESTALE)
    }

    /// As [`screened`](Self::screened), for what is in a buffer.
    fn screened_buffer(&mut self, ino: u64, path: &str) -> Result<Option<Wiped<String>>, Errno> {
        if self.screen.is_none() {
            return Ok(None);
        }
        let text = copy(self.buffer(ino)?.text()?);
        self.screened(path, &text)
    }

    /// Notes that a file is in the store under this number.
    pub(crate) fn is_stored(&mut self, ino: u64, number: u64) {
        if let Ok(file) = self.file(ino) {
            file.backup = None;
            let old = file.number.replace(number);
            if let Some(old) = old.filter(|old| *old != number) {
                self.numbers.remove(&old);
            }
        }
        if let Some(other) = self.numbers.insert(number, ino).filter(|other| *other != ino) {
            // Another inode was this file until now.
            self.detach_gone(other);
        }
    }

    /// Saves a text that cannot take the place of a file beside it.
    pub(crate) fn save_beside(
        &mut self,
        path: &str,
        version: u64,
        text: &str,
        program: &str,
    ) -> Result<(), Errno> {
        let store = self.writer(program)?;
        for attempt in 0..ATTEMPTS {
            let beside = names::conflict(path, version, attempt);
            match store.files().write_if(&beside, text, &Precondition::Absent) {
                Ok(_) => {
                    self.touch(names::parent(path));
                    return Ok(());
                }
                Err(FileError::Changed(_)) => {}
                Err(error) => return Err(self.fail(&error)),
            }
        }
        Err(Errno::EAGAIN)
    }

    /// Saves all files that are not saved. Returns how many could not be.
    pub(crate) fn save_all(&mut self) -> usize {
        let unsaved: Vec<u64> = self.unsaved().collect();
        for ino in unsaved {
            if self.file(ino).is_ok_and(|file| file.handles > 0) {
                let _ = self.save(ino);
            } else {
                self.save_or_keep(ino);
                self.drop_if_unused(ino);
            }
        }
        self.unsaved().count()
    }

    /// The files with something to save.
    fn unsaved(&self) -> impl Iterator<Item = u64> {
        self.nodes.iter().filter_map(|(ino, node)| {
            let file = node.file()?;
            let is_changed = file.buffer.as_ref()?.is_changed;
            let has_place = node.path.is_some() || file.gone_from.is_some();
            (is_changed && !file.is_scratch && has_place).then_some(*ino)
        })
    }

    /// Creates a file and opens it. It is saved at the first flush with bytes in it, or at the last close.
    pub(crate) fn create(
        &mut self,
        path: &str,
        caller: &Caller,
        is_writer: bool,
    ) -> Result<FileAttr, Errno> {
        let is_scratch = self.scratch.has(path);
        let mut buffer = Buffer::new(caller.clone());
        if !is_scratch {
            self.check_path(path)?;
            let room = self.room()?;
            if room.used.1 >= room.max_files {
                return Err(Errno::EDQUOT);
            }
        }
        let ino = self.fresh();
        let (mut number, mut backup) = (None, None);
        if let Some(away) = self.away.remove(path) {
            // The file that was moved away gets a new text, and stays the same file.
            (number, buffer.base, backup) = (Some(away.number), Some(away.known), Some(away));
        }
        let attributes = self.of_file(ino, 0, now());
        let file = File {
            number,
            backup,
            is_scratch,
            handles: 1,
            writers: u32::from(is_writer),
            buffer: Some(buffer),
            ..File::default()
        };
        let what = What::File(Box::new(file));
        self.nodes.insert(ino, Node { path: None, lookups: 0, what });
        self.place(ino, path);
        if let Some(number) = number {
            self.numbers.insert(number, ino);
        }
        self.touch(names::parent(path));
        Ok(attributes)
    }

    /// Checks that the store accepts a path at which there is nothing.
    ///
    /// # Errors
    /// `EINVAL`; `EACCES` if the screen refuses it.
    pub(crate) fn check_path(&mut self, path: &str) -> Result<(), Errno> {
        self.screen_path(path)?;
        match self.reader()?.files().metadata(path) {
            Ok(_) | Err(FileError::NotFound) => Ok(()),
            Err(error) => Err(self.fail(&error)),
        }
    }
}

fn copy(text: &str) -> Wiped<String> {
    Wiped::new(text.to_owned())
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Bytes of all scratch files together.
const SCRATCH_BYTES: usize = 64 << 20;

/// Attempts to save a file that others keep changing.
const ATTEMPTS: u32 = 16;
