//! A memory that is mounted for a test.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use inmost::{HistorySettings, Session, StoreError, VersionQuery};
use inmost_mount::{Mount, MountError, MountOptions, OpenAs, Unmounter};
use rustix::io::Errno;
use tempfile::TempDir;

/// A mount of a store in memory, with a history.
pub(crate) struct Mounted {
    folder: TempDir,
    pub(crate) session: Session,
    /// The session that the mount finds when it opens the store: `None` while it is locked.
    pub(crate) place: Arc<Mutex<Option<Session>>>,
    unmounter: Unmounter,
    served: Option<JoinHandle<io::Result<usize>>>,
}

/// The options of most tests.
pub(crate) fn options() -> MountOptions {
    MountOptions {
        subtree: "/memories".to_owned(),
        is_read_only: false,
        scratch: Vec::new(),
        disk: None,
        screen: None,
        may_be_locked: false,
    }
}

/// A store in memory that keeps versions.
pub(crate) fn session() -> Session {
    let session = Session::in_memory().unwrap();
    let history = HistorySettings::keep(Duration::from_secs(30 * 86_400));
    session.history().set(history).unwrap();
    session
}

/// Mounts a new store; `None` where that is not possible and need not be.
pub(crate) fn mounted() -> Option<Mounted> {
    mounted_with(session(), &options())
}

pub(crate) fn mounted_with(session: Session, options: &MountOptions) -> Option<Mounted> {
    let folder = TempDir::new().unwrap();
    let place = Arc::new(Mutex::new(Some(session.clone())));
    let opened = Arc::clone(&place);
    let open: OpenAs = Box::new(move |actor| {
        let session = opened.lock().unwrap().clone().ok_or(StoreError::Locked)?;
        Ok(session.acting_as(actor).into())
    });
    let mount = match Mount::new(&folder.path().join("m"), open, options) {
        Ok(mount) => mount,
        Err(MountError::Mounting(error)) if std::env::var_os("INMOST_MUST_MOUNT").is_none() => {
            println!("Nothing can be mounted here: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let unmounter = mount.unmounter();
    let served = Some(thread::spawn(move || mount.run()));
    Some(Mounted { folder, session, place, unmounter, served })
}

impl Mounted {
    /// The folder, or a path in it.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("m").join(path)
    }

    /// The text that the store has at a path.
    pub(crate) fn stored(&self, path: &str) -> Option<String> {
        let text = self.session.files().read(&format!("/memories/{path}"));
        text.ok().map(|text| text.as_str().to_owned())
    }

    /// The kinds and actors of the changes of a path, the oldest first.
    pub(crate) fn log(&self, path: &str) -> Vec<String> {
        let query = VersionQuery::all().path(&format!("/memories/{path}"));
        let mut log: Vec<String> = self
            .session
            .history()
            .page(&query, None, 100)
            .unwrap()
            .items
            .iter()
            .map(|version| format!("{} {}", version.kind.name(), version.actor.as_str()))
            .collect();
        log.reverse();
        log
    }

    /// Unmounts and returns how many files could not be saved.
    pub(crate) fn unmount(mut self) -> usize {
        self.unmounter.unmount().unwrap();
        self.served.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Not waited for: a failed test may have files open, which keep the mount alive.
        if self.served.take().is_some() {
            let _ = self.unmounter.unmount();
        }
    }
}

/// The error number of a failed call.
pub(crate) fn errno<T>(result: io::Result<T>) -> Errno {
    let error = result.err().expect("a call that fails");
    Errno::from_io_error(&error).unwrap_or_else(|| panic!("{error}"))
}

/// Creates a file and leaves it open.
pub(crate) fn create(path: &Path) -> File {
    fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).unwrap()
}

/// Waits until something holds, and fails after a time that is far longer than it takes.
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "it does not happen");
        thread::sleep(Duration::from_millis(20));
    }
}
