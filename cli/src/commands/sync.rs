//! `inmost sync`

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use clap::Subcommand;
use inmost::FileError;
use inmost_console::Wiped;
use inmost_keyd::{OpenSync, SyncFacts};
use inmost_sync::{FolderPlace, Member, Report, SyncError, is_remote};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::display::{self, count, duration};
use crate::exit::{Exit, Failure};
use crate::output::{print, say, though_unread};
use crate::passphrase::Input;
use crate::progress::Progress;
use crate::store::database;
use crate::store::opening::{OpenOptions, StoreGuard};
use crate::terminal::Terminal;
use crate::{json_line, streams, times};

/// Synchronise a store with those of other devices, through a folder, a bucket or WebDAV
///
/// The devices exchange sealed objects in a place: a folder that Dropbox, iCloud, Syncthing or a USB stick carries between them, a
/// bucket of S3, or a folder on a WebDAV server. Nobody who sees the place can read or forge anything in it. Without a subcommand
/// it publishes what has changed here, reads what other devices have published, and shows what follows from both. Changes of
/// different lines are merged. Where two devices changed the same line, the file has one text, and the other one is beside it as
/// `name (from DEVICE DATE)`. docs/SYNC.md says what is promised.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  inmost sync init --store notes.inmost --name laptop ~/Dropbox/memory\n  \
    inmost sync invite --store notes.inmost\n  \
    inmost sync join --store notes.inmost --name desk ~/Dropbox/memory\n  \
    inmost sync --store notes.inmost"
)]
pub(crate) struct Sync {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object: sent, received, changed, waiting, copies, held, unforgotten and kept
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    Init(Init),
    Invite(Invite),
    Join(Join),
    Status(Status),
    Remove(Remove),
    Follow(Follow),
    Leave(Leave),
}

/// Begin a circle of devices in a place, and publish the files of this store
///
/// The folder or bucket must exist and hold no other circle. It must not be the folder of a store. Credentials come from the
/// variables and files of AWS, or from `~/.netrc` for WebDAV, never from the command line.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost sync init --store notes.inmost --name laptop ~/Dropbox/memory\n  \
    inmost sync init --store notes.inmost --name laptop s3://bucket/memory\n  \
    inmost sync init --store notes.inmost --name laptop https://cloud.example/remote.php/dav/files/me/memory")]
struct Init {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    device: DeviceArgs,
}

/// Print the invitation for another device: a secret
///
/// Who has it and can reach the place reads and changes everything. Carry it over a channel that you trust.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost sync invite --store notes.inmost")]
struct Invite {
    #[command(flatten)]
    store: StoreArgs,
}

/// Join a circle of devices; the invitation is read from standard input or asked for
///
/// Files that this store has already become files of the circle. A file that is the same on both sides stays one file.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  inmost sync join --store notes.inmost --name desk ~/Dropbox/memory"
)]
struct Join {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    device: DeviceArgs,
}

/// Show the devices, and what waits
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost sync status --store notes.inmost")]
struct Status {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object: device, place, members (label, and time in milliseconds since 1970), kept, conflicts,
    /// forks, and rounds as `daemon.sync` of `inmost status --json`
    #[arg(long)]
    json: bool,
}

/// Go on in a new place with a new key, without a device that was lost or sold
///
/// Synchronises once more, then publishes everything in the new place, which must exist and be empty. A removed device keeps what it
/// has read, and reads nothing that is written from now on. Every other device has to follow: `inmost sync invite` prints the new
/// invitation, and `inmost sync follow` takes it. Without DEVICE only place and key change, as after an invitation has leaked. Keep the
/// removed device from writing to the new place, too: change the password of what carries it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost sync remove desk --to ~/Dropbox/memory-2 --store notes.inmost\n  \
    inmost sync remove --to s3://bucket/memory-2 --store notes.inmost")]
struct Remove {
    /// Names of the devices, as `inmost sync status` shows them
    device: Vec<String>,

    /// The new place: a folder, `s3://BUCKET/PREFIX`, or the https URL of a WebDAV folder
    #[arg(long, value_name = "PLACE")]
    to: PathBuf,

    #[command(flatten)]
    store: StoreArgs,

    /// Go on without synchronising, if that fails: what others have published and this device has not read comes only with them
    #[arg(long)]
    force: bool,
}

/// Follow the other devices into the place that they have gone on in; the invitation is read from standard input or asked for
///
/// What this device knows comes along, whether it was sent or not. The old place is not read again.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost sync follow --store notes.inmost ~/Dropbox/memory-2")]
struct Follow {
    #[command(flatten)]
    store: StoreArgs,

    /// The new place: a folder, `s3://BUCKET/PREFIX`, or the https URL of a WebDAV folder
    place: PathBuf,
}

/// Synchronise once more, then leave the circle; all files stay
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  inmost sync leave --store notes.inmost\n  \
    inmost sync leave --store notes.inmost --force")]
struct Leave {
    #[command(flatten)]
    store: StoreArgs,

    /// Leave without synchronising, if that fails: other devices never learn of changes that were not sent
    #[arg(long)]
    force: bool,
}

#[derive(clap::Args)]
struct DeviceArgs {
    /// Name of this device, which conflict copies carry: 1 to 32 letters, digits, spaces, `-`, `_` and `.`
    #[arg(long)]
    name: String,

    /// What the devices share: a folder, `s3://BUCKET/PREFIX`, or the https URL of a WebDAV folder
    place: PathBuf,
}

/// The rounds of a key daemon, as JSON.
#[derive(Serialize)]
pub(crate) struct Rounds<'a> {
    every_seconds: Option<u64>,
    /// In milliseconds since 1970.
    last_success: Option<u64>,
    last_error: Option<&'a str>,
}

impl<'a> Rounds<'a> {
    pub(crate) fn of(facts: &'a SyncFacts) -> Self {
        Self {
            every_seconds: facts.every.map(|every| every.as_secs()),
            last_success: facts.last_success,
            last_error: facts.last_error.as_deref(),
        }
    }
}

/// The rounds of a key daemon, in lines.
pub(crate) fn rounds_in_words(facts: &SyncFacts) -> Vec<String> {
    let last = facts.last_success.map(|time| format!("last done {}", minute(time)));
    let every = facts.every.map(|every| format!("every {} and after changes", duration(every)));
    let failed = facts.last_error.as_ref().map(|error| format!("the last one failed: {error}"));
    [every, last, failed].into_iter().flatten().collect()
}

/// A time in milliseconds since 1970.
fn minute(time: u64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(time));
    time.map_or_else(String::new, times::local_minute)
}

/// What a synchronisation did, as JSON.
#[derive(Serialize)]
struct Done<'a> {
    sent: usize,
    received: usize,
    changed: usize,
    waiting: usize,
    copies: &'a [String],
    held: &'a [String],
    unforgotten: usize,
    kept: &'a [String],
}

/// What is known of the circle, as JSON.
#[derive(Serialize)]
struct Known<'a> {
    device: &'a str,
    place: &'a str,
    members: Vec<Object>,
    kept: usize,
    conflicts: usize,
    forks: usize,
    rounds: Rounds<'a>,
}

#[derive(Serialize)]
struct Object {
    label: String,
    time: u64,
}

impl Sync {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.action {
            Some(Action::Init(init)) => init.run(),
            Some(Action::Invite(invite)) => invite.run(),
            Some(Action::Join(join)) => join.run(),
            Some(Action::Status(status)) => status.run(),
            Some(Action::Remove(remove)) => remove.run(),
            Some(Action::Follow(follow)) => follow.run(),
            Some(Action::Leave(leave)) => leave.run(),
            None => Opened::new(&self.store, Input::Free)?.synchronise(self.json),
        }
    }
}

impl Init {
    fn run(&self) -> Result<(), Failure> {
        check_folder(&self.device.place)?;
        let opened = Opened::new(&self.store, Input::Free)?;
        opened.circle().init(&self.device.place, &self.device.name).map_err(failure)?;
        opened.synchronise_first()
    }
}

impl Invite {
    fn run(&self) -> Result<(), Failure> {
        let opened = Opened::new(&self.store, Input::Free)?;
        let invitation = opened.circle().invitation().map_err(failure)?;
        print(invitation.as_str().as_bytes())?;
        print(b"\n")
    }
}

impl Join {
    fn run(&self) -> Result<(), Failure> {
        check_folder(&self.device.place)?;
        let opened = Opened::new(&self.store, Input::Taken)?;
        let invitation = asked_invitation()?;
        let invitation = str::from_utf8(invitation.as_slice()).unwrap_or_default();
        let joined = opened.circle().join(&self.device.place, invitation, &self.device.name);
        joined.map_err(failure)?;
        opened.synchronise_first()
    }
}

impl Remove {
    fn run(&self) -> Result<(), Failure> {
        check_folder(&self.to)?;
        let opened = Opened::new(&self.store, Input::Free)?;
        if !self.force {
            though_unread(opened.synchronise(false))?;
        }
        let removed = opened.circle().remove(&self.device, &self.to);
        removed.map_err(|error| self.refused(&opened, error))?;
        opened.synchronise_first()?;
        say(
            "The circle goes on in the new place. `inmost sync invite` prints the new invitation; on each other device, give it to \
             `inmost sync follow`. Then delete the old place.\n",
        )
    }

    /// An earlier attempt may have led into the place, and only its round have failed. Nothing tells that from a wrong name, or from
    /// a leaked invitation that is still valid, so it must not look like a success.
    fn refused(&self, opened: &Opened, error: SyncError) -> Failure {
        let Ok(status) = opened.circle().status() else { return failure(error) };
        let place = Path::new(&status.place);
        let is_there =
            place == self.to || std::path::absolute(&self.to).is_ok_and(|to| place == to);
        let has_any = status.members.iter().any(|member| self.device.contains(&member.label));
        match error {
            SyncError::UnknownDevice(_) | SyncError::PlaceNotEmpty if is_there && !has_any => {
                Failure::new(
                    Exit::Other,
                    "The circle is in this place already.",
                    "If `inmost sync remove` has failed before, `inmost sync` goes on with it, and `inmost sync invite` prints the \
                     new invitation. Otherwise check the names with `inmost sync status`, and give another place.",
                )
            }
            error => failure(error),
        }
    }
}

impl Follow {
    fn run(&self) -> Result<(), Failure> {
        check_folder(&self.place)?;
        let opened = Opened::new(&self.store, Input::Taken)?;
        let invitation = asked_invitation()?;
        let invitation = str::from_utf8(invitation.as_slice()).unwrap_or_default();
        opened.circle().follow(&self.place, invitation).map_err(failure)?;
        opened.synchronise_first()
    }
}

fn asked_invitation() -> Result<Wiped, Failure> {
    if io::stdin().is_terminal() {
        let terminal = Terminal::open().map_err(|error| Failure::input(&error));
        return terminal?.ask("Invitation: ");
    }
    let read = streams::input().and_then(|input| Wiped::read(input, MOST_INVITATION));
    Ok(read.map_err(|error| Failure::input(&error))?.unwrap_or_default())
}

impl Status {
    fn run(&self) -> Result<(), Failure> {
        let opened = Opened::new(&self.store, Input::Free)?;
        let status = opened.circle().status().map_err(failure)?;
        let rounds = opened.guard.daemon()?.map(|daemon| daemon.sync).unwrap_or_default();
        if self.json {
            let member =
                |member: &Member| Object { label: member.label.clone(), time: member.time };
            return json_line::print(&Known {
                device: &status.label,
                place: &status.place,
                members: status.members.iter().map(member).collect(),
                kept: status.outbox,
                conflicts: status.conflicts,
                forks: status.forks,
                rounds: Rounds::of(&rounds),
            });
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "device     {}", display::path(&status.label));
        let _ = writeln!(text, "place      {}", display::path(&status.place));
        for member in &status.members {
            let (label, time) = (display::path(&member.label), minute(member.time));
            let _ = writeln!(text, "member     {label}, last published {time}");
        }
        let kept = count(number(status.outbox), "object", "objects");
        let _ = writeln!(text, "kept       {kept} that the place may lose");
        let conflicts = count(number(status.conflicts), "file", "files");
        let _ = writeln!(text, "conflicts  {conflicts} that several devices have changed");
        if status.forks > 0 {
            let forks = count(number(status.forks), "log", "logs");
            let _ = writeln!(text, "forks      {forks} written by copies of one device");
        }
        for (at, line) in rounds_in_words(&rounds).iter().enumerate() {
            let _ = writeln!(text, "{:<10} {line}", if at == 0 { "rounds" } else { "" });
        }
        say(&text)
    }
}

impl Leave {
    fn run(&self) -> Result<(), Failure> {
        let opened = Opened::new(&self.store, Input::Free)?;
        if !self.force {
            though_unread(opened.synchronise(false))?;
        }
        opened.circle().leave().map_err(failure)?;
        print(b"The store has left the circle. Its files stay, here and on the other devices.\n")
    }
}

/// Whether the store in this folder is in a circle of devices.
pub(super) fn is_in_circle(store: &Path) -> bool {
    store.join("sync").exists()
}

/// Refuses a folder that is not there, before anything is asked or sent.
fn check_folder(place: &Path) -> Result<(), Failure> {
    if place.to_str().is_some_and(is_remote) {
        return Ok(());
    }
    let found = FolderPlace::open(place).map(drop);
    found.map_err(|error| failure(SyncError::PlaceUnavailable(error)))
}

/// The store of this command.
struct Opened {
    guard: StoreGuard,
    folder: PathBuf,
}

impl Opened {
    fn new(store: &StoreArgs, input: Input) -> Result<Self, Failure> {
        let folder = store.place()?;
        if database::url(&folder).is_some() {
            return Err(failure(SyncError::NoFolder));
        }
        let options = OpenOptions { input, ..OpenOptions::default() };
        Ok(Self { guard: store.open(&options)?, folder })
    }

    fn circle(&self) -> OpenSync<'_> {
        self.guard.sync(&self.folder)
    }

    /// The round after this device has come into a circle. If it fails, the device is in the circle all the same.
    fn synchronise_first(&self) -> Result<(), Failure> {
        self.synchronise(false).map_err(|failure| match failure {
            Failure::Error { exit, message, advice } => {
                let begun = "This device is in the circle by now, and `inmost sync` goes on.";
                Failure::new(exit, message, format!("{advice} {begun}").trim_start().to_owned())
            }
            other => other,
        })
    }

    fn synchronise(&self, is_json: bool) -> Result<(), Failure> {
        let mut progress = Progress::new("objects read");
        let run = self.circle().run(|read| progress.update(read));
        drop(progress);
        let report = run.map_err(failure)?;
        if !is_json {
            return say(&described(&report));
        }
        json_line::print(&Done {
            sent: report.sent,
            received: report.received,
            changed: report.changed,
            waiting: report.waiting,
            copies: &report.copies,
            held: &report.held,
            unforgotten: report.unforgotten,
            kept: &report.kept,
        })
    }
}

fn described(report: &Report) -> String {
    let mut text = format!(
        "Sent {}, read {}, made {} in the store.\n",
        count(number(report.sent), "object", "objects"),
        number(report.received),
        count(number(report.changed), "change", "changes"),
    );
    for path in &report.copies {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "conflict copy: {}", display::path(path));
    }
    for path in &report.held {
        let _ = writeln!(text, "not taken by this store: {}", display::path(path));
    }
    for path in &report.kept {
        let _ = writeln!(
            text,
            "changed here while another device forgot its versions, so look for what was to go: {}",
            display::path(path)
        );
    }
    if report.unforgotten > 0 {
        let _ = writeln!(
            text,
            "{} in the place may have forgotten texts. They go when the other devices have synchronised.",
            count(number(report.unforgotten), "object", "objects")
        );
    }
    if report.waiting > 0 {
        let _ = writeln!(
            text,
            "{} in the place cannot be read yet: earlier ones have not arrived, they are not whole, or they belong to another circle.",
            count(number(report.waiting), "object", "objects")
        );
    }
    text
}

fn number(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn failure(error: SyncError) -> Failure {
    let exit = match error {
        SyncError::Store(error) | SyncError::File(FileError::Store(error)) => return error.into(),
        SyncError::PlaceUnavailable(_) | SyncError::StateUnavailable(_) => Exit::Io,
        SyncError::InvalidInvitation
        | SyncError::InvalidDeviceName
        | SyncError::NoFolder
        | SyncError::PlaceOverlapsStore => Exit::Usage,
        _ => Exit::Other,
    };
    Failure::new(exit, error.to_string(), error.advice())
}

/// More bytes than an invitation has.
const MOST_INVITATION: usize = 1 << 10;
