//! The memory of Gemini CLI that all projects share: one file, `GEMINI.md`, in the folder of its settings.
//!
//! Only a folder can be mounted, so the file moves to one of its own, and a link takes its place. Gemini CLI follows it, reading
//! and writing. Each step can be interrupted: the file has always one of its two names.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use inmost_mount::is_mounted;

use crate::host_files;

/// The file and its folder.
pub(super) struct Gemini {
    /// `GEMINI.md` as Gemini CLI knows it.
    link: PathBuf,
    /// The folder that is adopted.
    pub(super) folder: PathBuf,
}

impl Gemini {
    /// In the folder of Gemini CLI.
    pub(super) fn in_folder(gemini: &Path) -> Self {
        Self { link: gemini.join(NAME), folder: gemini.join(FOLDER) }
    }

    /// Whether the file has not moved yet.
    pub(super) fn is_plain(&self) -> bool {
        fs::symlink_metadata(&self.link).is_ok_and(|it| it.is_file())
    }

    /// Moves the file to its folder, and puts the link in its place.
    ///
    /// # Errors
    /// Those of the files; `AlreadyExists` if there is another file or link.
    pub(super) fn move_in(&self) -> io::Result<()> {
        let inside = self.folder.join(NAME);
        match fs::DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        match fs::symlink_metadata(&self.link) {
            Ok(now) if now.is_symlink() => {
                let is_own = fs::read_link(&self.link)? == Path::new(FOLDER).join(NAME);
                return if is_own { Ok(()) } else { Err(io::ErrorKind::AlreadyExists.into()) };
            }
            Ok(now) => match fs::hard_link(&self.link, &inside) {
                // It was interrupted here.
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists
                        && fs::symlink_metadata(&inside)?.ino() == now.ino() => {}
                linked => linked?,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        host_files::sync_parent(&inside)?;
        let new = self.link.with_file_name(format!("{NAME}.{}", std::process::id()));
        symlink(Path::new(FOLDER).join(NAME), &new)?;
        fs::rename(&new, &self.link)?;
        host_files::sync_parent(&self.link)
    }

    /// Moves the file back, if it is plain in its folder. Removes the link otherwise if `is_gone` says that there is no file.
    ///
    /// # Errors
    /// Those of the files.
    pub(super) fn move_out(&self, is_gone: bool) -> io::Result<()> {
        if is_mounted(&self.folder) || self.is_plain() {
            return Ok(());
        }
        let inside = self.folder.join(NAME);
        if fs::symlink_metadata(&inside).is_ok_and(|it| it.is_file()) {
            fs::rename(&inside, &self.link)?;
        } else if is_gone {
            fs::remove_file(&self.link)?;
        } else {
            return Ok(());
        }
        // What else was written there stays.
        let _ = fs::remove_dir(&self.folder);
        host_files::sync_parent(&self.link)
    }
}

/// The identifier of a project in the list that Gemini CLI keeps.
pub(super) fn project(gemini: &Path, project: &Path) -> Option<String> {
    let list = fs::read(gemini.join("projects.json")).ok()?;
    let list: serde_json::Value = serde_json::from_slice(&list).ok()?;
    let id = list.get("projects")?.get(project.to_str()?)?.as_str()?;
    // It becomes the name of a folder.
    (!id.is_empty() && !id.contains('/') && id != "." && id != "..").then(|| id.to_owned())
}

const NAME: &str = "GEMINI.md";

/// The folder, beside the file.
const FOLDER: &str = "inmost";
