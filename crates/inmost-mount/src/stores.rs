//! The handles on the store through which a mount reads and writes, one for each program that changes it.

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fuser::Errno;
use inmost::{FileError, StoreError};
use inmost_keyd::OpenStore;

/// Opens the store for an actor: returns a handle whose changes the history shows as those of that actor.
pub type OpenAs = Box<dyn Fn(&str) -> Result<OpenStore, StoreError> + Send + Sync>;

/// The handles, or the fact that the store is locked.
pub(crate) struct Stores {
    open: OpenAs,
    /// The folder on whose disk the store is.
    disk: Option<PathBuf>,
    reader: Option<OpenStore>,
    writers: Vec<(String, OpenStore)>,
    tried: Option<Instant>,
    room: Option<(Instant, Room)>,
}

/// What still fits.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) file_bytes: u64,
    /// Bytes of text until the quota of the store.
    pub(crate) quota: u64,
    /// Bytes of text, and files, in the store.
    pub(crate) used: (u64, u64),
    pub(crate) max_files: u64,
    /// Free bytes on the disk of the store.
    pub(crate) disk: u64,
}

impl Stores {
    pub(crate) fn new(open: OpenAs, disk: Option<PathBuf>) -> Self {
        Self { open, disk, reader: None, writers: Vec::new(), tried: None, room: None }
    }

    /// The handle for reading. A locked store is tried again once a second at most.
    ///
    /// # Errors
    /// The first error of opening; `ENOKEY` in between.
    pub(crate) fn reader(&mut self) -> Result<OpenStore, FileError> {
        if let Some(reader) = &self.reader {
            return Ok(reader.clone());
        }
        if self.tried.is_some_and(|tried| tried.elapsed() < PAUSE) {
            return Err(StoreError::Locked.into());
        }
        self.tried = Some(Instant::now());
        let reader = (self.open)(READER)?;
        self.reader = Some(reader.clone());
        Ok(reader)
    }

    /// The handle for changes of a program.
    ///
    /// # Errors
    /// As [`reader`](Self::reader).
    pub(crate) fn writer(&mut self, program: &str) -> Result<OpenStore, FileError> {
        self.reader()?;
        if let Some(at) = self.writers.iter().position(|(name, _)| name == program) {
            let found = self.writers.remove(at);
            let store = found.1.clone();
            self.writers.push(found);
            return Ok(store);
        }
        let store = (self.open)(&format!("{READER}:{program}"))?;
        if self.writers.len() >= WRITERS {
            self.writers.remove(0);
        }
        self.writers.push((program.to_owned(), store.clone()));
        Ok(store)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Drops all handles, because the store is locked.
    pub(crate) fn close(&mut self) {
        (self.reader, self.room, self.tried) = (None, None, Some(Instant::now()));
        self.writers.clear();
    }

    /// What still fits, as of a second ago at most.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn room(&mut self) -> Result<Room, FileError> {
        if let Some((at, room)) = self.room
            && at.elapsed() < PAUSE
        {
            return Ok(room);
        }
        let status = self.reader()?.status()?;
        let disk = self.disk.as_ref().and_then(|disk| rustix::fs::statvfs(disk).ok());
        let room = Room {
            file_bytes: status.max_file_bytes,
            quota: status.max_bytes.saturating_sub(status.bytes),
            used: (status.bytes, status.files),
            max_files: status.max_files,
            disk: disk.map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        };
        self.room = Some((Instant::now(), room));
        Ok(room)
    }
}

/// Who changes a file: the name of the program, and its process.
#[derive(Clone, Default)]
pub(crate) struct Caller {
    pub(crate) program: String,
    pub(crate) process: Process,
}

impl Caller {
    /// The caller that a thread belongs to.
    pub(crate) fn of(thread: u32) -> Self {
        let (process, mut name) = Process::with_name(thread);
        // Threads have names of their own, such as `tokio-rt-worker`, and Node.js calls its first one `MainThread`: these name no
        // program.
        if name == "MainThread" {
            let program = fs::read_link(format!("/proc/{}/exe", process.id)).unwrap_or_default();
            name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        // Without what a terminal would obey.
        name.retain(|char| !inmost::is_unprintable(char));
        Self { program: name, process }
    }
}

/// The name of the program that sent a request.
pub(crate) fn program_of(thread: u32) -> String {
    Caller::of(thread).program
}

/// A process. Its number is given to another one after its end, which has another start.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Process {
    id: u32,
    started: u64,
}

impl Process {
    /// The process of a thread: programs read and write by different ones.
    pub(crate) fn of(thread: u32) -> Self {
        Self::with_name(thread).0
    }

    /// Whether it still runs.
    pub(crate) fn is_alive(self) -> bool {
        Self::of(self.id) == self
    }

    fn with_name(thread: u32) -> (Self, String) {
        let status = start_of(thread, "status");
        let id = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        let id = id.and_then(|id| id.trim().parse().ok()).unwrap_or(thread);
        // `ID (NAME) FIELDS`: the name can be anything. The start is the 20th field behind it.
        let stat = start_of(id, "stat");
        let (named, fields) = stat.rsplit_once(')').unwrap_or_default();
        let name = named.split_once('(').unwrap_or_default().1;
        let started = fields.split_ascii_whitespace().nth(19).and_then(|it| it.parse().ok());
        (Self { id, started: started.unwrap_or_default() }, name.to_owned())
    }
}

/// The start of a file about a process. Read at once, because this is done for each request.
fn start_of(process: u32, name: &str) -> String {
    let mut bytes = [0; 4_096];
    let file = File::open(format!("/proc/{process}/{name}"));
    let length = file.and_then(|mut file| file.read(&mut bytes)).unwrap_or_default();
    String::from_utf8_lossy(bytes.get(..length).unwrap_or_default()).into_owned()
}

/// The error of a system call for an error of the store.
pub(crate) fn errno(error: &FileError) -> Errno {
    match error {
        FileError::AlreadyExists => Errno::EEXIST,
        FileError::NotFound => Errno::ENOENT,
        FileError::IsAFolder(_) => Errno::EISDIR,
        FileError::NotAFolder(_) => Errno::ENOTDIR,
        FileError::InvalidPath(_) | FileError::PathBelow(_) | FileError::IntoItself => {
            Errno::EINVAL
        }
        FileError::FileTooLarge(_) | FileError::Store(StoreError::TooLarge) => Errno::EFBIG,
        FileError::TooManyFiles(_) | FileError::TooMuchText(_) => Errno::EDQUOT,
        FileError::Changed(_) => Errno::ESTALE,
        FileError::Store(error) if is_locked(error) => no_key(),
        FileError::Store(StoreError::DiskFull) => Errno::ENOSPC,
        _ => Errno::EIO,
    }
}

/// `ENOKEY`: the store is locked.
pub(crate) fn no_key() -> Errno {
    Errno::from_i32(rustix::io::Errno::NOKEY.raw_os_error())
}

/// Whether the keys of the store are gone.
pub(crate) fn is_locked(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Locked
            | StoreError::Halted
            | StoreError::FilesReplaced(_)
            | StoreError::Forked
            | StoreError::OutcomeUnknown
    )
}

/// The actor of a mount, before the name of the program.
const READER: &str = "mount";

/// Handles of programs. Each is a connection to the key daemon.
const WRITERS: usize = 3;

/// Between two attempts to open a locked store.
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at an unexpected value")]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let own = Process::of(std::process::id());
        let of_thread = std::thread::spawn(|| {
            let thread = fs::read_link("/proc/thread-self").unwrap();
            Process::of(thread.file_name().unwrap().to_str().unwrap().parse().unwrap())
        });
        assert_eq!(of_thread.join().unwrap(), own);
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let found = Process::of(other.id());
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(found.id == other.id() && own.started > 0 && found.started >= own.started);
    }
}
