//! `inmost adopt`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use inmost::{FileError, NewFile, Wiped};
use inmost_keyd::OpenStore;
use inmost_mount::{MountError, ScratchNames, is_mounted, unmount};

use super::{failure, start};
use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::host_files::{self, MAX_FILE_BYTES, why_no_text};
use crate::output::say;
use crate::store::opening::{OpenOptions, Readings};
use crate::{display, streams};

/// Move a plain folder into the memory, and mount the memory in its place
///
/// Takes the files of the folder into `/memories/NAME` with their times, reads them back, renames the folder to
/// `FOLDER.plain-DATE`, and mounts that part of the memory where the folder was. The plain files stay until you delete them, or
/// --delete-plain does. Run it again if it was interrupted: nothing is lost at any step, and it goes on where it was.
///
/// A folder is adopted by its path, or as `claude-code` (the memory of the project in the current folder, or of PROJECT) or `codex`.
/// Stop the client first. What it keeps elsewhere stays plain: transcripts and `file-history` of Claude Code, sessions and
/// databases of Codex.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost adopt claude-code --dry-run\n  \
    inmost adopt --store notes.inmost ~/notes\n  \
    inmost adopt --undo ~/notes")]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Adopt {
    #[command(flatten)]
    store: StoreArgs,

    /// Say what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Take the memory out again: write it to plain files where the folder was, and unmount it
    #[arg(long, conflicts_with_all = ["dry_run", "delete_plain", "skip"])]
    undo: bool,

    /// Delete the plain files afterwards. An SSD may keep their bytes for long
    #[arg(long)]
    delete_plain: bool,

    /// Leave out what the memory cannot keep: files that are not UTF-8, links, names. They stay in `FOLDER.plain-DATE`
    #[arg(long, conflicts_with = "delete_plain")]
    skip: bool,

    /// The name in the memory, in place of that of the folder or project
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// A folder, or claude-code, or codex
    #[arg(value_name = "FOLDER|CLIENT", value_hint = clap::ValueHint::DirPath)]
    what: PathBuf,

    /// The project whose memory of Claude Code is meant
    #[arg(value_hint = clap::ValueHint::DirPath)]
    project: Option<PathBuf>,
}

/// What is in a folder.
#[derive(Default)]
struct Found {
    /// Path below the folder, text and time of each file that the memory can keep.
    files: Vec<(String, Wiped<String>, SystemTime)>,
    /// What it cannot keep, and why.
    refused: Vec<String>,
    /// Temporary files, which stay out.
    scratch: usize,
}

impl Adopt {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let (folder, name) = self.place()?;
        let name = self.name.clone().unwrap_or(name);
        let root = format!("/memories/{name}");
        let store = self.store.open(&OpenOptions {
            readings: Readings::DoNotCount,
            hint_compaction: false,
            actor: Some("adopt"),
            ..OpenOptions::default()
        })?;
        if let (OpenStore::Here(_), false) = (&*store, self.dry_run || self.undo) {
            return Err(Failure::usage(
                "A folder is adopted into a store that `inmost unlock` holds.",
                "Unlock it first.",
            ));
        }
        store.files().exists(&root).map_err(|error| Failure::at(&root, error))?;
        if self.undo {
            return take_out(&store, &folder, &root);
        }
        if is_mounted(&folder) {
            return Err(failure(MountError::Mounted(folder)));
        }
        let shown = display::path(&folder.display().to_string());
        if is_without_files(&folder) && newest_plain(&folder).is_some() {
            if self.dry_run {
                return say(&format!("{shown} is adopted already. It would be mounted again.\n"));
            }
            start(&self.store, (&root, &[], false), &folder)?;
            return say(&format!("Mounted {root} at {shown} again.\n"));
        }
        let found = look(&store, &folder, &root)?;
        if let Some(process) = user_of(&folder) {
            return Err(Failure::new(
                Exit::InUse,
                format!("Process {process} has files in {shown} open."),
                "End it first, so that nothing is written to the plain files any more.",
            ));
        }
        for refused in &found.refused {
            streams::warn(refused);
        }
        let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let files = display::count(number(found.files.len()), "file", "files");
        if self.dry_run {
            let scratch =
                display::count(number(found.scratch), "temporary file", "temporary files");
            return say(&format!(
                "{files} would go to {root}, and {shown} would become {shown}.plain-DATE. {scratch} would stay out.\n"
            ));
        }
        if !found.refused.is_empty() && !self.skip {
            return Err(Failure::new(
                Exit::Other,
                format!("The memory cannot keep everything in {shown}; nothing was changed."),
                "Convert or remove it, or leave it in the plain folder with `--skip`.",
            ));
        }
        take_in(&store, &root, &found)?;
        drop(store);
        let plain = plain_path(&folder);
        let renamed = fs::rename(&folder, &plain).and_then(|()| host_files::sync_parent(&plain));
        renamed.map_err(|error| of_folder(&folder, &error))?;
        if let Err(failure) = start(&self.store, (&root, &[], false), &folder) {
            // As it was before.
            let _ = fs::remove_dir(&folder);
            let _ = fs::rename(&plain, &folder);
            return Err(failure);
        }
        let kept = display::path(&plain.display().to_string());
        say(&format!("{files} are in {root}, which is mounted at {shown}.\n"))?;
        if self.delete_plain {
            fs::remove_dir_all(&plain).map_err(|error| of_folder(&plain, &error))?;
            return say("The plain files are deleted. An SSD may keep their bytes for long.\n");
        }
        say(&format!(
            "The plain files are in {kept}. Delete them when everything works; `inmost adopt --undo` needs only the memory.\n"
        ))
    }

    /// The folder, and its name in the memory.
    fn place(&self) -> Result<(PathBuf, String), Failure> {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let name_of = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.unwrap_or("folder").trim_start_matches('.').to_owned()
        };
        let absolute = |path: &Path| {
            let absolute = std::path::absolute(path);
            absolute.map_err(|error| of_folder(path, &error))
        };
        match self.what.to_str() {
            Some("claude-code") => {
                let project = absolute(self.project.as_deref().unwrap_or(Path::new(".")))?;
                let project = project.canonicalize().unwrap_or(project);
                let key: String = project
                    .to_string_lossy()
                    .chars()
                    .map(|char| if char.is_ascii_alphanumeric() { char } else { '-' })
                    .collect();
                let claude = home.join(".claude");
                let moved = fs::read(claude.join("settings.json")).ok();
                let moved =
                    moved.and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
                let moved =
                    moved.and_then(|it| it.get("autoMemoryDirectory")?.as_str().map(PathBuf::from));
                let moved = moved.map(|path| match path.strip_prefix("~") {
                    Ok(below) => home.join(below),
                    Err(_) => path.clone(),
                });
                let own = claude.join("projects").join(key).join("memory");
                Ok((moved.unwrap_or(own), name_of(&project)))
            }
            Some("codex") => {
                let codex = std::env::var_os("CODEX_HOME").map(PathBuf::from);
                let codex = codex.unwrap_or_else(|| home.join(".codex"));
                let newer = codex.join("memories_v2");
                let folder = if newer.exists() { newer } else { codex.join("memories") };
                Ok((folder, "codex".to_owned()))
            }
            _ if self.project.is_some() => Err(Failure::usage(
                "A project can be given only for claude-code.",
                "Give one folder.",
            )),
            _ => {
                let folder = absolute(&self.what)?;
                let name = name_of(&folder);
                Ok((folder, name))
            }
        }
    }
}

/// Whether there is no plain file at a folder, or no folder.
fn is_without_files(folder: &Path) -> bool {
    fs::read_dir(folder).map_or_else(
        // Not connected: the process of its mount has ended.
        |error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotConnected),
        |mut entries| entries.next().is_none(),
    )
}

/// Reads what is in a folder, and changes nothing.
fn look(store: &OpenStore, folder: &Path, root: &str) -> Result<Found, Failure> {
    let scratch = ScratchNames::new(&[]).map_err(|error| failure(MountError::Scratch(error)))?;
    let is_folder = fs::symlink_metadata(folder).map_err(|error| of_folder(folder, &error))?;
    if !is_folder.is_dir() {
        return Err(failure(MountError::NotAFolder(folder.to_owned())));
    }
    let mut found = Found::default();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((at, below)) = folders.pop() {
        let entries = fs::read_dir(&at).map_err(|error| of_folder(&at, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| of_folder(&at, &error))?;
            let path = entry.path();
            let shown = display::path(&path.display().to_string());
            let Ok(name) = entry.file_name().into_string() else {
                found.refused.push(format!("The name {shown} is not UTF-8."));
                continue;
            };
            let below = format!("{below}/{name}");
            if scratch.has(&below) {
                found.scratch = found.scratch.saturating_add(1);
                continue;
            }
            let metadata = fs::symlink_metadata(&path).map_err(|error| of_folder(&path, &error))?;
            if metadata.is_dir() {
                folders.push((path, below));
                continue;
            }
            if let Err(FileError::InvalidPath(reason)) =
                store.files().metadata(&format!("{root}{below}"))
            {
                found.refused.push(format!("The memory refuses the name {shown}: {reason}."));
                continue;
            }
            if metadata.is_symlink() {
                found.refused.push(format!("{shown} cannot be taken: it is a link."));
                continue;
            }
            let file = match host_files::open(&path) {
                Ok(file) => file,
                Err(error) => {
                    found.refused.push(format!("{shown} cannot be taken: {error}."));
                    continue;
                }
            };
            let bytes =
                Wiped::read(file, MAX_FILE_BYTES).map_err(|error| of_folder(&path, &error))?;
            let Some(bytes) = bytes else {
                found.refused.push(format!("{shown} is too long."));
                continue;
            };
            if let Err(reason) = std::str::from_utf8(&bytes).map_err(|_| why_no_text(&bytes)) {
                found.refused.push(format!("{shown} cannot be taken: {reason}."));
                continue;
            }
            let time = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if let Some(text) = bytes.into_text() {
                found.files.push((below, text, time));
            }
        }
    }
    Ok(found)
}

/// Writes files to the memory, and reads them back.
fn take_in(store: &OpenStore, root: &str, found: &Found) -> Result<(), Failure> {
    let paths: Vec<String> =
        found.files.iter().map(|(below, ..)| format!("{root}{below}")).collect();
    let files: Vec<NewFile<'_>> = paths
        .iter()
        .zip(&found.files)
        .map(|(path, (_, text, time))| NewFile::new(path, text).modified(*time).keep_existing())
        .collect();
    let written =
        store.files().write_many(&files).map_err(|error| Failure::at(root, error.into()))?;
    for (path, written) in paths.iter().zip(written) {
        written.map_err(|error| Failure::writing(path, error))?;
    }
    for (path, (_, text, _)) in paths.iter().zip(&found.files) {
        let read = store.files().read(path).map_err(|error| Failure::at(path, error))?;
        if read.as_str() != text.as_str() {
            return Err(Failure::new(
                Exit::Other,
                format!("{} is not as it was written.", display::path(path)),
                "Nothing was moved. Run `inmost check`.",
            ));
        }
    }
    Ok(())
}

/// Writes the memory to plain files in the place of its mount.
fn take_out(store: &OpenStore, folder: &Path, root: &str) -> Result<(), Failure> {
    let out = beside(folder, "undo");
    match fs::remove_dir_all(&out) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(of_folder(&out, &error));
        }
        _ => {}
    }
    let is_mounted = match unmount(folder, false) {
        Ok(()) => true,
        Err(MountError::NotMounted(_)) if is_without_files(folder) => false,
        Err(error) => return Err(failure(error)),
    };
    host_files::make_folder(&out).map_err(|error| of_folder(&out, &error))?;
    for entry in store.files().walk(root) {
        let entry = entry.map_err(|error| Failure::at(root, error))?;
        if entry.metadata.is_folder() {
            continue;
        }
        let path = entry.path.as_str();
        let below = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
        let Some(relative) = host_files::relative(below) else { continue };
        let (text, metadata) =
            store.files().read_with_metadata(path).map_err(|error| Failure::at(path, error))?;
        let place = out.join(relative);
        write_plain(&place, text.as_str(), &metadata).map_err(|error| of_folder(&place, &error))?;
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(of_folder(folder, &error));
        }
        _ => {}
    }
    let renamed = fs::rename(&out, folder).and_then(|()| host_files::sync_parent(folder));
    renamed.map_err(|error| of_folder(folder, &error))?;
    let shown = display::path(&folder.display().to_string());
    let before = if is_mounted { "was unmounted and " } else { "" };
    say(&format!("The memory {before}is in plain files in {shown}. It stays in the store too.\n"))?;
    if let Some(plain) = newest_plain(folder) {
        let plain = display::path(&plain.display().to_string());
        say(&format!("What it could not keep is still in {plain}.\n"))?;
    }
    Ok(())
}

fn write_plain(path: &Path, text: &str, metadata: &inmost::Metadata) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        host_files::make_folder(parent)?;
    }
    let mut file = host_files::create(path)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    if let inmost::EntryKind::File { modified, .. } = metadata.kind {
        file.set_modified(modified)?;
    }
    file.sync_all()
}

/// A process that has a file in a folder open, or works there.
fn user_of(folder: &Path) -> Option<u32> {
    let own = std::process::id();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let numbers = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|number| *number != own).find(|number| {
        let at = PathBuf::from(format!("/proc/{number}"));
        let is_inside = |link: PathBuf| fs::read_link(link).is_ok_and(|to| to.starts_with(folder));
        let open = fs::read_dir(at.join("fd")).ok().into_iter().flatten().flatten();
        is_inside(at.join("cwd")) || open.map(|it| it.path()).any(is_inside)
    })
}

/// A path beside a folder.
fn beside(folder: &Path, ending: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    folder.with_file_name(name)
}

fn plain_path(folder: &Path) -> PathBuf {
    beside(folder, &format!("plain-{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S")))
}

/// The plain folder that was adopted last.
fn newest_plain(folder: &Path) -> Option<PathBuf> {
    let prefix = beside(folder, "plain-");
    let prefix = prefix.file_name()?.to_str()?.to_owned();
    let entries = fs::read_dir(folder.parent()?).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let newest = names.filter(|name| name.starts_with(&prefix)).max()?;
    Some(folder.with_file_name(newest))
}

fn of_folder(folder: &Path, error: &io::Error) -> Failure {
    let shown = display::path(&folder.display().to_string());
    Failure::new(
        Exit::Io,
        format!("{shown} cannot be read or written: {error}."),
        "Run the command again when that is mended; it goes on where it was.",
    )
}
