//! A plain folder with full durability: every file is written to a temporary file, synced and renamed, and
//! every folder is synced after a change to its entries. It allows one writer at a time.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::peer::{CallResult, Peer};
use crate::text;
use crate::trace::Call;

/// The folder used as `/memories`.
pub struct Folder {
    root: PathBuf,
    writer: Mutex<()>,
}

impl Folder {
    /// Creates an empty folder.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn begin(path: &Path) -> Result<Self, Box<dyn Error>> {
        fs::create_dir_all(path)?;
        Ok(Self { root: path.to_owned(), writer: Mutex::new(()) })
    }

    fn host(&self, path: &str) -> io::Result<PathBuf> {
        let below = path.strip_prefix("/memories").ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.root.join(below.trim_start_matches('/')))
    }

    fn write(&self, file: &Path, text: &str) -> io::Result<()> {
        let folder = file.parent().unwrap_or(&self.root);
        let draft = folder.join(".draft");
        let mut new = File::create(&draft)?;
        new.write_all(text.as_bytes())?;
        new.sync_data()?;
        fs::rename(&draft, file)?;
        sync(folder)
    }

    /// Creates the parent folders of a file, each durably.
    fn make_parents(&self, file: &Path) -> io::Result<()> {
        let folder = file.parent().unwrap_or(&self.root);
        if !folder.is_dir() {
            self.make_parents(folder)?;
            fs::create_dir(folder)?;
            sync(folder.parent().unwrap_or(&self.root))?;
        }
        Ok(())
    }

    fn create(&self, path: &str, file_text: &str) -> CallResult {
        let file = self.host(path)?;
        if file.exists() {
            return Err(format!("Error: File {path} already exists").into());
        }
        self.make_parents(&file)?;
        self.write(&file, file_text)?;
        Ok(format!("File created successfully at: {path}"))
    }

    fn rename(&self, old_path: &str, new_path: &str) -> CallResult {
        let (old, new) = (self.host(old_path)?, self.host(new_path)?);
        if new.exists() {
            return Err(format!("Error: The destination {new_path} already exists").into());
        }
        self.make_parents(&new)?;
        fs::rename(&old, &new)?;
        sync(new.parent().unwrap_or(&self.root))?;
        sync(old.parent().unwrap_or(&self.root))?;
        Ok(format!("Successfully renamed {old_path} to {new_path}"))
    }
}

impl Peer for Folder {
    fn call(&self, json: &str) -> CallResult {
        let call: Call = serde_json::from_str(json)?;
        if let Call::View { path, view_range } = call {
            let host = self.host(&path)?;
            if host.is_dir() {
                let mut entries = Vec::new();
                let bytes = list(&host, &path, 0, &mut entries)?;
                return Ok(text::listing(&path, bytes, entries));
            }
            return Ok(text::view(&path, &fs::read_to_string(host)?, view_range));
        }
        let _writer = self.writer.lock().expect("no panic");
        match call {
            Call::View { .. } => unreachable!("views return above"),
            Call::Create { path, file_text } => self.create(&path, &file_text),
            Call::StrReplace { path, old_str, new_str } => {
                let file = self.host(&path)?;
                let (edited, told) =
                    text::str_replace(&fs::read_to_string(&file)?, &old_str, &new_str)?;
                self.write(&file, &edited)?;
                Ok(told)
            }
            Call::Insert { path, insert_line, insert_text } => {
                let file = self.host(&path)?;
                let edited = text::insert(&fs::read_to_string(&file)?, insert_line, &insert_text)?;
                self.write(&file, &edited)?;
                Ok(format!("The file {path} has been edited."))
            }
            Call::Delete { path } => {
                let file = self.host(&path)?;
                fs::remove_file(&file)?;
                sync(file.parent().unwrap_or(&self.root))?;
                Ok(format!("Successfully deleted {path}"))
            }
            Call::Rename { old_path, new_path } => self.rename(&old_path, &new_path),
        }
    }

    fn text(&self, path: &str) -> Option<CallResult> {
        Some(self.host(path).and_then(fs::read_to_string).map_err(Into::into))
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns the bytes of all visible files below a folder, and collects the entries up to two levels below the
/// first.
fn list(
    host: &Path,
    path: &str,
    depth: usize,
    entries: &mut Vec<(String, u64)>,
) -> io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(host)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if text::is_hidden(&name) {
            continue;
        }
        let mut below = format!("{path}/{name}");
        let bytes = if entry.file_type()?.is_dir() {
            let bytes = list(&entry.path(), &below, depth + 1, entries)?;
            below.push('/');
            bytes
        } else {
            entry.metadata()?.len()
        };
        total += bytes;
        if depth < 2 {
            entries.push((below, bytes));
        }
    }
    Ok(total)
}
