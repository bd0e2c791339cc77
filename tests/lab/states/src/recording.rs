//! Recordings: a folder `home` with a store that a worker changes, and a record of each change.
//!
//! OUT/base has what `home` held before, OUT/numbers its inode numbers, OUT/before the acknowledgements of earlier
//! runs, and OUT/log the record.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab_worker::plan::Random;

use crate::content::Content;
use crate::cut::{Cut, Kind, Tree};
use crate::disk::Disk;
use crate::log::{self, Event, Number};

/// The store in `home`.
pub const STORE: &str = "store";
const SIGKILL: i32 = 9;

pub struct Recording {
    pub log: Vec<u8>,
    pub events: Vec<Event>,
    /// What was acknowledged before the first event.
    pub before: String,
    base: Vec<(String, Number, Option<Content>)>,
}

impl Recording {
    pub fn open(out: &Path) -> io::Result<Self> {
        let log = fs::read(out.join("log"))?;
        let events = log::parse(&log);
        let before = fs::read_to_string(out.join("before"))?;
        let mut base = Vec::new();
        for line in fs::read_to_string(out.join("numbers"))?.lines() {
            let (number, path) = line.split_once(' ').expect("a number and a path");
            let at = out.join("base").join(path);
            let content = match fs::metadata(&at)?.is_dir() {
                true => None,
                false => Some(Content::read(&fs::File::open(&at)?)?),
            };
            base.push((path.to_owned(), number.parse().expect("a number"), content));
        }
        Ok(Self { log, events, before, base })
    }

    pub fn disk(&self) -> Disk {
        Disk::of(self.base.clone())
    }

    /// The number of the first event after which a worker has opened and verified the store.
    pub fn is_open_at(&self) -> Option<usize> {
        self.events.iter().position(|it| matches!(it, Event::Acknowledge { text } if text == "R\n"))
    }

    /// Fails unless the model arrives at the files that there really are: then nothing was missed.
    pub fn verify(&self, out: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        self.events.iter().for_each(|event| disk.apply(event, &self.log));
        let cut = Cut { disk: &disk, log: &self.log, next: None };
        let expected = cut.tree(Kind::A, &mut Random::of(0, 0));
        let found = read_tree(&out.join("home"))?;
        let is_same = |one: &Option<Content>, other: &Option<Content>| match (one, other) {
            (Some(one), Some(other)) => one.reads_as(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        assert_eq!(
            expected.iter().map(|it| &it.0).collect::<Vec<_>>(),
            found.iter().map(|it| &it.0).collect::<Vec<_>>()
        );
        for ((path, one), (_, other)) in expected.iter().zip(&found) {
            assert!(is_same(one, other), "the record of {path} is not complete");
        }
        Ok(())
    }
}

/// Records for so long. The worker is killed at random moments, and goes on.
pub fn record(out: &Path, time: Duration, random: &mut Random) -> io::Result<()> {
    begin(out, &Tree::new(), "")?;
    let end = Instant::now() + time;
    // An idle time of a second or more has to fit into a session.
    let (runs, sessions) = match std::env::var_os("LAB_IDLE_MS") {
        Some(_) => ([400, 2_000, 4_000, 8_000], [1_000, 2_500, 5_000]),
        None => ([80, 400, 1_500, 3_000], [150, 400, 900]),
    };
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let most = runs[random.below(4)];
        let run = Duration::from_millis(random.below(most) as u64 + 20).min(left);
        let session = sessions[random.below(3)] + random.below(200);
        run_worker(out, run, Some(session), false)?;
    }
    Ok(())
}

/// Makes the folder of a recording that begins with these files.
pub fn begin(out: &Path, tree: &Tree, before: &str) -> io::Result<()> {
    write_tree(&out.join("home"), tree)?;
    write_tree(&out.join("base"), tree)?;
    let number = |path: &str| fs::symlink_metadata(out.join("home").join(path)).map(|it| it.ino());
    let mut numbers = format!("{} .\n", number("")?);
    for (path, _) in tree {
        numbers += &format!("{} {path}\n", number(path)?);
    }
    fs::write(out.join("numbers"), numbers)?;
    fs::write(out.join("before"), before)?;
    fs::write(out.join("log"), "")
}

/// Runs the worker until it is killed after a change.
pub fn run_worker(
    out: &Path,
    time: Duration,
    session: Option<usize>,
    goes_on: bool,
) -> io::Result<()> {
    let bin = PathBuf::from(std::env::var_os("LAB_BIN").expect("LAB_BIN"));
    let mut worker = Command::new(bin.join("lab-worker"));
    worker.arg("work").args([out.join("home").join(STORE), out.join("ack")]);
    // After a power cut, freshness may be unknown.
    worker.args(goes_on.then(|| out.join("before")));
    if let Some(session) = session {
        worker.env("LAB_SESSION_MS", session.to_string());
    }
    let done = worker
        .env("LD_PRELOAD", bin.join("recorder.so"))
        .env("REC_DIR", out.join("home"))
        .env("REC_ACK", out.join("ack"))
        .env("REC_LOG", out.join("log"))
        .env("REC_KILL_MS", time.as_millis().max(1).to_string())
        .stdin(Stdio::null())
        .output()?;
    if done.status.signal() == Some(SIGKILL) {
        return Ok(());
    }
    let (text, error) = (done.stdout, String::from_utf8_lossy(&done.stderr).into_owned());
    let text = String::from_utf8_lossy(&text).into_owned();
    Err(io::Error::other(format!("the worker ended by itself: {} {text} {error}", done.status)))
}

pub fn write_tree(folder: &Path, tree: &Tree) -> io::Result<()> {
    let mut private = fs::DirBuilder::new();
    private.mode(0o700);
    private.create(folder)?;
    for (path, content) in tree {
        let path = folder.join(path);
        match content {
            None => private.create(path)?,
            Some(content) => {
                let mut options = fs::OpenOptions::new();
                let file = options.write(true).create_new(true).mode(0o600).open(path)?;
                content.write_to(&file)?;
            }
        }
    }
    Ok(())
}

fn read_tree(folder: &Path) -> io::Result<Tree> {
    let mut tree = Tree::new();
    let mut folders = vec![String::new()];
    while let Some(parent) = folders.pop() {
        for entry in fs::read_dir(folder.join(&parent))? {
            let entry = entry?;
            let name = entry.file_name().into_string().expect("a name");
            let path = if parent.is_empty() { name } else { format!("{parent}/{name}") };
            if entry.file_type()?.is_dir() {
                folders.push(path.clone());
                tree.push((path, None));
            } else {
                tree.push((path, Some(Content::read(&fs::File::open(entry.path())?)?)));
            }
        }
    }
    tree.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(tree)
}
