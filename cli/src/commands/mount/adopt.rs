//! `inmost adopt`

mod gemini;
mod plain;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use inmost::{FileError, NewFile};
use inmost_keyd::OpenStore;
use inmost_mount::{MountError, ScratchNames, is_mounted, unmount};
use serde::{Deserialize, Serialize};

use self::gemini::Gemini;
use self::plain::{
    Found, beside, date, delete_taken, export, is_without_files, look, newest_plain, of_folder,
    unused,
};
use super::{Shown, failure, start};
use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::host_files;
use crate::output::{say, though_unread};
use crate::store::database;
use crate::store::opening::{OpenOptions, Readings};
use crate::store::restrictions::OnFind;
use crate::{display, streams};

/// Move a plain folder into the memory, and mount the memory in its place
///
/// Takes the files of the folder into `/memories/NAME` with their times, reads them back, renames the folder to
/// `FOLDER.plain-DATE`, and mounts that part of the memory where the folder was. The plain files stay until you delete them, or
/// --delete-plain does. The file `FOLDER.adopted` keeps the store and the name, for the next times. Run it again if it was interrupted: nothing is lost at any step, and it goes on where it was.
///
/// A folder is adopted by its path, or as `claude-code` (the memory of the project in the current folder, or of PROJECT), `codex`, or
/// `gemini` (`~/.gemini/GEMINI.md`, which becomes a link into the folder `~/.gemini/inmost`, or the private memory of PROJECT). Stop the
/// client first. What it keeps elsewhere stays plain: transcripts and `file-history` of Claude Code, sessions and databases of
/// Codex, chats of Gemini CLI.
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

    /// Delete the plain files that are in the memory afterwards. An SSD may keep their bytes for long
    #[arg(long)]
    delete_plain: bool,

    /// Leave out what the memory cannot keep: files that are not UTF-8, links, names. They stay in `FOLDER.plain-DATE`
    #[arg(long, conflicts_with = "delete_plain")]
    skip: bool,

    /// Look for secrets in what programs write to the mount from now on: see `inmost mount --help`. What is taken in is not
    /// screened
    #[arg(long, value_name = "ACTION", conflicts_with = "undo")]
    screen: Option<OnFind>,

    /// The name in the memory, in place of that of the folder or project
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// A folder, or claude-code, codex or gemini
    #[arg(value_name = "FOLDER|CLIENT", value_hint = clap::ValueHint::DirPath)]
    what: PathBuf,

    /// The project whose memory of Claude Code or Gemini CLI is meant
    #[arg(value_hint = clap::ValueHint::DirPath)]
    project: Option<PathBuf>,
}

/// Where a folder was adopted to. It is kept beside the folder.
#[derive(Serialize, Deserialize)]
struct Adopted {
    store: String,
    root: String,
}

impl Adopt {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let gemini = self.gemini();
        let done = self.adopt(gemini.as_ref());
        if let Some(gemini) = &gemini
            && (done.is_err() || self.undo)
        {
            let moved = gemini.move_out(done.is_ok());
            moved.map_err(|error| of_folder(&gemini.folder, &error))?;
        }
        done
    }

    fn adopt(&self, gemini: Option<&Gemini>) -> Result<(), Failure> {
        let (folder, name) = self.place()?;
        let (place, adopted) = (self.absolute_store()?, Adopted::read(&folder)?);
        let root = self.root(&folder, &place, name, adopted.as_ref())?;
        let store = self.store.open(&OpenOptions {
            readings: Readings::DoNotCount,
            actor: Some("adopt"),
            ..OpenOptions::default()
        })?;
        if let (OpenStore::Here(_), false) = (&*store, self.dry_run || self.undo) {
            return Err(Failure::usage(
                "A folder is adopted into a store that `inmost unlock` holds.",
                "Unlock it first.",
            ));
        }
        let is_adopted =
            is_without_files(&folder) && (adopted.is_some() || newest_plain(&folder).is_some());
        let exists = store.files().exists(&root).map_err(|error| Failure::at(&root, error))?;
        if adopted.is_none() && !exists && (self.undo || is_adopted) {
            return Err(Failure::new(
                Exit::Other,
                format!("The memory has no folder {}.", display::path(&root)),
                "Give the name that the folder was adopted with: `--name NAME`.",
            ));
        }
        if self.undo {
            return take_out(&store, &folder, &root);
        }
        if is_mounted(&folder) {
            return Err(failure(MountError::Mounted(folder)));
        }
        let shown = display::path(&folder.display().to_string());
        if is_adopted {
            return self.mount_again(&folder, &root, gemini);
        }
        check_new(&root, exists && adopted.is_none() && self.name.is_none())?;
        if let Some(gemini) = gemini {
            if self.dry_run && gemini.is_plain() {
                return say(&format!(
                    "GEMINI.md would go to {root}, which would be mounted at {shown}, and would become a link to it.\n"
                ));
            }
            if !self.dry_run {
                gemini.move_in().map_err(|error| of_folder(&folder, &error))?;
            }
        }
        let found = look(&store, &folder, &root)?;
        unused(&folder)?;
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
        if adopted.is_none() {
            Adopted { store: place, root: root.clone() }.write(&folder)?;
        }
        take_in(&store, &root, &found)?;
        let plain = beside(&folder, &format!("plain-{}", date()));
        let renamed = fs::rename(&folder, &plain).and_then(|()| host_files::sync_parent(&plain));
        renamed.map_err(|error| of_folder(&folder, &error))?;
        // Nobody finds the files there any more; what was opened before is still open, or was written before this look.
        let started = unused(&plain)
            .and_then(|()| unchanged(&look(&store, &plain, &root), &found, &folder))
            .and_then(|()| start(&self.store, &self.shown(&root), &folder));
        drop(store);
        if let Err(failure) = started {
            // As it was before.
            let _ = fs::remove_dir(&folder);
            if let Err(error) = fs::rename(&plain, &folder) {
                let plain = display::path(&plain.display().to_string());
                streams::warn(&format!("The plain files are in {plain}: {error}."));
            }
            return Err(failure);
        }
        let kept = display::path(&plain.display().to_string());
        though_unread(say(&format!("{files} are in {root}, which is mounted at {shown}.\n")))?;
        if self.delete_plain {
            let left = delete_taken(&plain, &found).map_err(|error| of_folder(&plain, &error))?;
            for path in left {
                let path = display::path(&path.display().to_string());
                streams::warn(&format!("{path} is not in the memory and was not deleted."));
            }
            return say("The plain files are deleted. An SSD may keep their bytes for long.\n");
        }
        say(&format!(
            "The plain files are in {kept}. Delete them when everything works; `inmost adopt --undo` needs only the memory.\n"
        ))
    }

    /// Mounts a folder that was adopted before.
    fn mount_again(
        &self,
        folder: &Path,
        root: &str,
        gemini: Option<&Gemini>,
    ) -> Result<(), Failure> {
        let shown = display::path(&folder.display().to_string());
        if gemini.is_some_and(Gemini::is_plain) {
            return Err(Failure::new(
                Exit::Other,
                "GEMINI.md is no link any more: a program has put a plain file in its place.",
                format!(
                    "Append its text to {root}/GEMINI.md and delete it; then run the command again."
                ),
            ));
        }
        if self.dry_run {
            return say(&format!("{shown} is adopted already. It would be mounted again.\n"));
        }
        start(&self.store, &self.shown(root), folder)?;
        say(&format!("Mounted {root} at {shown} again.\n"))
    }

    /// What is mounted.
    fn shown<'a>(&self, root: &'a str) -> Shown<'a> {
        Shown { subtree: root, scratch: &[], is_read_only: false, screen: self.screen }
    }

    /// The store, as it is kept beside the folder.
    fn absolute_store(&self) -> Result<String, Failure> {
        let place = self.store.place()?;
        let absolute = match database::url(&place) {
            Some(_) => place,
            None => std::path::absolute(&place).map_err(|error| of_folder(&place, &error))?,
        };
        let absolute = absolute.canonicalize().unwrap_or(absolute);
        Ok(absolute.to_string_lossy().into_owned())
    }

    /// The folder in the memory: the one that it was adopted to, or that of its name.
    fn root(
        &self,
        folder: &Path,
        place: &str,
        name: String,
        adopted: Option<&Adopted>,
    ) -> Result<String, Failure> {
        let root = format!("/memories/{}", self.name.clone().unwrap_or(name));
        let Some(adopted) = adopted else { return Ok(root) };
        let is_other = self.name.is_some() && adopted.root != root;
        if is_other || adopted.store != place {
            let kept = beside(folder, ADOPTED);
            return Err(Failure::usage(
                format!(
                    "{} was adopted into {} of the store {}.",
                    display::path(&folder.display().to_string()),
                    display::path(&adopted.root),
                    display::path(&adopted.store)
                ),
                format!(
                    "Give that store and no other name. If it is not so, delete {}.",
                    display::path(&kept.display().to_string())
                ),
            ));
        }
        Ok(adopted.root.clone())
    }

    /// The shared memory of Gemini CLI, if that is meant.
    fn gemini(&self) -> Option<Gemini> {
        let is_meant = self.what.to_str() == Some("gemini") && self.project.is_none();
        is_meant.then(|| Gemini::in_folder(&gemini_folder()))
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
            Some("gemini") => {
                let gemini = gemini_folder();
                let Some(project) = &self.project else {
                    return Ok((Gemini::in_folder(&gemini).folder, "gemini".to_owned()));
                };
                let project = absolute(project)?;
                let project = project.canonicalize().unwrap_or(project);
                let id = gemini::project(&gemini, &project).ok_or_else(|| {
                    Failure::usage(
                        format!(
                            "Gemini CLI does not know the project {}.",
                            display::path(&project.display().to_string())
                        ),
                        "Start it once in the folder of the project.",
                    )
                })?;
                Ok((gemini.join("tmp").join(&id).join("memory"), name_of(&project)))
            }
            _ if self.project.is_some() => Err(Failure::usage(
                "A project can be given only for claude-code and gemini.",
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

impl Adopted {
    /// What is kept beside a folder, if it is adopted.
    fn read(folder: &Path) -> Result<Option<Self>, Failure> {
        let path = beside(folder, ADOPTED);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(of_folder(&path, &error)),
        };
        let kept =
            serde_json::from_slice(&text).map_err(|error| of_folder(&path, &error.into()))?;
        Ok(Some(kept))
    }

    fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = beside(folder, ADOPTED);
        let new = beside(folder, &format!("{ADOPTED}-{}", std::process::id()));
        let written = serde_json::to_vec(self).map_err(io::Error::from).and_then(|text| {
            let mut file = host_files::create(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            host_files::sync_parent(&path)
        });
        written.map_err(|error| of_folder(&path, &error))
    }
}

/// The folder of Gemini CLI.
fn gemini_folder() -> PathBuf {
    let home = std::env::var_os("GEMINI_CLI_HOME").or_else(|| std::env::var_os("HOME"));
    home.map(PathBuf::from).unwrap_or_default().join(".gemini")
}

/// Checks a folder of the memory to which a folder is to be adopted.
fn check_new(root: &str, is_taken: bool) -> Result<(), Failure> {
    let scratch = ScratchNames::new(&[]).map_err(|error| failure(MountError::Scratch(error)))?;
    let shown = display::path(root);
    if scratch.has(root) {
        return Err(Failure::new(
            Exit::Other,
            format!("{shown} has a name of temporary files: what is written there would not last."),
            "Give another name with `--name NAME`.",
        ));
    }
    if is_taken {
        return Err(Failure::new(
            Exit::Other,
            format!("The memory has a folder {shown} already."),
            "Give another name with `--name NAME`, or this one, to add the files to that folder.",
        ));
    }
    Ok(())
}

/// Checks that a folder that was taken in had no change meanwhile.
fn unchanged(now: &Result<Found, Failure>, before: &Found, folder: &Path) -> Result<(), Failure> {
    fn texts(found: &Found) -> BTreeSet<(&str, &str)> {
        found.files.iter().map(|(path, text, _)| (path.as_str(), text.as_str())).collect()
    }
    if now.as_ref().is_ok_and(|now| texts(now) == texts(before)) {
        return Ok(());
    }
    Err(Failure::new(
        Exit::InUse,
        format!(
            "A program has changed {} while it was taken in; it is where it was.",
            display::path(&folder.display().to_string())
        ),
        "End that program, and run the command again.",
    ))
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
        if let Err(FileError::AlreadyExists) = written {
            return Err(Failure::new(
                Exit::Other,
                format!("The memory has another text at {} already.", display::path(path)),
                "Nothing was moved. Compare the two and delete one of them, with `inmost rm` in the memory; then run it again.",
            ));
        }
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
    let out = beside(folder, &format!("undo-{}", date()));
    let is_mounted = match unmount(folder, false) {
        Ok(()) => true,
        Err(MountError::NotMounted(_)) if is_without_files(folder) => false,
        Err(MountError::NotMounted(_)) if is_plain(folder) => return taken_out(folder, false),
        Err(error) => return Err(failure(error)),
    };
    // Fails if it exists.
    let made = fs::DirBuilder::new().mode(0o700).create(&out);
    made.map_err(|error| of_folder(&out, &error))?;
    if let Err(failure) = export(store, root, &out) {
        // Only what was made here.
        let _ = fs::remove_dir_all(&out);
        return Err(failure);
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(of_folder(folder, &error));
        }
        _ => {}
    }
    let renamed = fs::rename(&out, folder).and_then(|()| host_files::sync_parent(folder));
    renamed.map_err(|error| of_folder(folder, &error))?;
    taken_out(folder, is_mounted)
}

/// Whether `--undo` was interrupted after its rename, or `adopt` before it: a mount leaves a folder without the right to write.
fn is_plain(folder: &Path) -> bool {
    beside(folder, ADOPTED).exists()
        && fs::metadata(folder).is_ok_and(|it| it.permissions().mode() & 0o200 != 0)
}

/// The last step of `--undo`.
fn taken_out(folder: &Path, was_mounted: bool) -> Result<(), Failure> {
    let _ = fs::remove_file(beside(folder, ADOPTED));
    let shown = display::path(&folder.display().to_string());
    let before = if was_mounted { "was unmounted and " } else { "" };
    say(&format!("The memory {before}is in plain files in {shown}. It stays in the store too.\n"))?;
    if let Some(plain) = newest_plain(folder) {
        let plain = display::path(&plain.display().to_string());
        say(&format!("What it could not keep is still in {plain}.\n"))?;
    }
    Ok(())
}

/// The ending of the file beside a folder that says where it was adopted to.
const ADOPTED: &str = "adopted";
