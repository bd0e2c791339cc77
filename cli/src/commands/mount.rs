//! `inmost mount` and `inmost unmount`

pub(crate) mod adopt;
mod unit;

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use clap::ValueEnum;
use inmost::StoreError;
use inmost_keyd::{ConnectOptions, OpenStore};
use inmost_mount::{Mount as Mounted, MountError, MountOptions, OpenAs, unmount};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::StoreArgs;
use crate::completion;
use crate::exit::{Exit, Failure};
use crate::memory_path;
use crate::output::print;
use crate::shell::VARIABLE;
use crate::store::database;
use crate::store::opening::{OpenOptions, Readings};
use crate::store::restrictions::OnFind;
use crate::{display, streams};

/// Show the memory as a folder, for programs that keep plain files
///
/// Programs then read and write the memory with ordinary files, and nothing of it is on the disk in plain text. Every change has
/// an entry in the history, with the actor `mount:` and the name of the program. The folder must be empty; it is made if it is
/// missing. While nothing is mounted there, only root can write to it.
///
/// A change is saved when a program closes the file or calls fsync. If somebody else has changed the file meanwhile, what was
/// appended is appended to the newer text; any other change fails with ESTALE, and its text is saved beside the file as
/// `NAME.conflict-VERSION`. Texts must be UTF-8. Temporary files, locks, swap files of editors and `.git` live in memory only,
/// 64 MiB at most, and are gone when the store is locked or the folder is unmounted.
///
/// When the store is locked, every access fails with ENOKEY until it is unlocked again. Every program of this user can read the
/// folder while the store is unlocked; other users cannot.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost mount --store notes.inmost ~/notes\n  \
    inmost mount --store notes.inmost --subtree /memories/work --read-only --background ~/work-notes\n  \
    inmost mount --store notes.inmost --unit ~/notes > ~/.config/systemd/user/inmost-notes.service")]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Mount {
    #[command(flatten)]
    store: StoreArgs,

    /// Refuse every change
    #[arg(long)]
    read_only: bool,

    /// Show only this folder of the memory
    #[arg(long, value_name = "PATH", value_parser = memory_path::parse, default_value = "/memories", add = completion::memory_path())]
    subtree: String,

    /// Keep files with such names in memory only, besides those of known programs: a glob of one name. Can be repeated
    #[arg(long, value_name = "GLOB")]
    scratch: Vec<String>,

    /// Look for private keys, API keys, card numbers and IBANs in what programs write, before it is saved. With `refuse`, fsync,
    /// close and rename fail with EACCES, and the text stays in the folder until it is written anew or the store is locked. It
    /// is a heuristic that cannot find every secret
    #[arg(long, value_name = "ACTION")]
    screen: Option<OnFind>,

    /// Mount even if the store is locked. Every access fails with ENOKEY until `inmost unlock`. No passphrase is asked for
    #[arg(long, conflicts_with = "background")]
    allow_locked: bool,

    /// Print a unit for systemd that mounts the folder like this at each login, and mount nothing
    #[arg(long, conflicts_with_all = ["background", "allow_locked"])]
    unit: bool,

    /// Return once it is mounted. The store must be unlocked with `inmost unlock`
    #[arg(long)]
    background: bool,

    /// The process that `--background` starts.
    #[arg(long, hide = true, conflicts_with = "background")]
    detached: bool,

    /// The folder to mount over
    #[arg(value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

/// Unmount a memory that `inmost mount` shows as a folder
///
/// Saves all files first. If some cannot be saved, nothing is unmounted, unless with --force.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost unmount ~/notes")]
pub(crate) struct Unmount {
    /// Unmount even if files cannot be saved or are still open
    #[arg(long)]
    force: bool,

    /// The folder
    #[arg(value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

impl Mount {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let shown = Shown {
            subtree: &self.subtree,
            scratch: &self.scratch,
            is_read_only: self.read_only,
            screen: self.screen,
        };
        if self.unit {
            let text = unit::text(&shown.arguments(&self.store, &self.folder)?)?;
            return print(text.as_bytes());
        }
        if self.background {
            return start(&self.store, &shown, &self.folder);
        }
        if self.detached {
            // Out of reach of the terminal of the process that has started this one.
            let _ = rustix::process::setsid();
        }
        let place = self.store.place()?;
        let is_on_disk = database::url(&place).is_none();
        let options = MountOptions {
            subtree: self.subtree.clone(),
            is_read_only: self.read_only,
            scratch: self.scratch.clone(),
            disk: is_on_disk.then(|| place.clone()),
            screen: self.screen.map(OnFind::screen),
            may_be_locked: self.allow_locked,
        };
        // The store that this process has unlocked. Kept until the end: dropping it would lock it.
        let store = if self.allow_locked {
            None
        } else {
            let options = OpenOptions { readings: Readings::DoNotCount, ..OpenOptions::default() };
            Some(self.store.open(&options)?)
        };
        let open: OpenAs = if let Some(OpenStore::Here(session)) = store.as_deref() {
            let session = session.clone();
            Box::new(move |actor| Ok(session.acting_as(actor).into()))
        } else {
            let anchor = self.store.open.anchor.clone();
            Box::new(move |actor| {
                let connect = ConnectOptions::new().as_program().without_recording();
                let connect = connect.as_watcher();
                let connect = connect.anchor(anchor.as_deref()).actor(Some(actor));
                let client = connect.connect(&place).map_err(StoreError::from)?;
                client.map(OpenStore::from).ok_or(StoreError::Locked)
            })
        };
        let mounted = Mounted::new(&self.folder, open, &options).map_err(failure)?;
        let shown = display::path(&mounted.folder().display().to_string());
        if self.detached {
            print(READY)?;
        } else {
            streams::hint(&format!("Mounted at {shown}. Ctrl-C or `inmost unmount` unmounts it."));
        }
        let unmounter = mounted.unmounter();
        let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]);
        let mut signals = signals
            .map_err(|error| Failure::io("No signal handler could be set", &error, NOTHING))?;
        thread::spawn(move || {
            for _ in signals.forever() {
                let _ = unmounter.unmount();
            }
        });
        let left =
            mounted.run().map_err(|error| Failure::io("The mount has ended", &error, AGAIN))?;
        if left > 0 {
            let left = display::count(u64::try_from(left).unwrap_or(u64::MAX), "file", "files");
            return Err(Failure::new(
                Exit::Other,
                format!("The memory was unmounted, and {left} could not be saved."),
                "Unlock the store before you unmount it.",
            ));
        }
        Ok(())
    }
}

impl Unmount {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        unmount(&self.folder, self.force).map_err(failure)
    }
}

/// What a mount shows, and how.
struct Shown<'a> {
    subtree: &'a str,
    scratch: &'a [String],
    is_read_only: bool,
    screen: Option<OnFind>,
}

impl Shown<'_> {
    /// The arguments of a process that serves such a mount from any working folder.
    fn arguments(&self, args: &StoreArgs, folder: &Path) -> Result<Vec<OsString>, Failure> {
        let absolute = |path: &Path| {
            std::path::absolute(path).map(OsString::from).map_err(|error| not_started(&error))
        };
        let place = args.place()?;
        let store = if database::url(&place).is_some() { place.into() } else { absolute(&place)? };
        let mut arguments: Vec<OsString> = vec!["--store".into(), store];
        arguments.extend(["--subtree".into(), self.subtree.into()]);
        if let Some(anchor) = &args.open.anchor {
            arguments.extend(["--anchor".into(), absolute(anchor)?]);
        }
        for scratch in self.scratch {
            arguments.extend(["--scratch".into(), scratch.into()]);
        }
        if self.is_read_only {
            arguments.push("--read-only".into());
        }
        if let Some(on_find) = self.screen.and_then(|screen| screen.to_possible_value()) {
            arguments.extend(["--screen".into(), on_find.get_name().into()]);
        }
        arguments.extend(["--".into(), absolute(folder)?]);
        Ok(arguments)
    }
}

/// Starts the process that serves a mount, and waits until it does.
fn start(args: &StoreArgs, shown: &Shown<'_>, folder: &Path) -> Result<(), Failure> {
    let store = args.open(&OpenOptions::default())?;
    if let OpenStore::Here(_) = &*store {
        return Err(Failure::usage(
            "A mount in the background works on a store that `inmost unlock` holds.",
            "Unlock it first, or leave out `--background`.",
        ));
    }
    drop(store);
    let program = std::env::current_exe();
    let mut child = Command::new(program.map_err(|error| not_started(&error))?);
    child.args(["mount", "--detached"]).args(shown.arguments(args, folder)?);
    // It lives for days, and must not have the passphrase in its environment.
    let child = child.env_remove(VARIABLE).stdin(Stdio::null());
    // A pipe of the caller must not stay open for as long as the mount lasts.
    let child = child.current_dir("/").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().map_err(|error| not_started(&error))?;
    let mut ready = Vec::new();
    if let Some(output) = child.stdout.take() {
        let _ = BufReader::new(output).read_until(b'\n', &mut ready);
    }
    if ready == READY {
        return Ok(());
    }
    if let Some(mut messages) = child.stderr.take() {
        let _ = io::copy(&mut messages, &mut io::stderr());
    }
    let code = child.wait().ok().and_then(|status| status.code());
    Err(Failure::ChildExited(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

fn failure(error: MountError) -> Failure {
    match error {
        MountError::Store(error) => Failure::at("/memories", error),
        error => Failure::new(Exit::Other, error.to_string(), error.advice()),
    }
}

fn not_started(error: &io::Error) -> Failure {
    Failure::io("The process in the background could not be started", error, NOTHING)
}

const NOTHING: &str = "Nothing was mounted.";
const AGAIN: &str = "What was saved is in the store. Mount it again.";

/// What the process in the background prints once it has mounted.
const READY: &[u8] = b"mounted\n";
