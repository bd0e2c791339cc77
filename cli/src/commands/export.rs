//! `inmost export`

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::host_files::{self, MOST_BYTES};
use crate::passphrase::Input;
use crate::store::{OpenStore, place};
use crate::transfer::{Outcome, Report};
use crate::wiped::Wiped;
use crate::{confirm, tree};

/// Write the memory to a folder of plain files, which anyone who can read your files can read
///
/// Texts are written byte for byte, files and folders for their owner alone. Each file is there whole or not at all, and
/// what is there already is never overwritten. Names that the file system does not take are refused and listed; it then
/// ends with 1.
///
/// With --json each refused file is a line (file, refused), and the last line has the counts.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost export --store notes.inmost ~/notes\n  \
    inmost export --store notes.inmost --from /memories/projects --yes projects")]
pub(crate) struct Export {
    #[command(flatten)]
    store: StoreArgs,

    /// File or folder of the memory to export
    #[arg(long, value_name = "PATH", default_value = "/memories")]
    from: String,

    /// Go on in a folder that is not empty: what is there with the same bytes is skipped
    #[arg(long)]
    resume: bool,

    /// Do it without being asked
    #[arg(long)]
    yes: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,

    /// The folder to write to, which must not be there or be empty
    #[arg(value_name = "DIR")]
    plain: PathBuf,
}

impl Export {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.check_place()?;
        let question = format!(
            "What is written to {} is not encrypted: whoever can read the files can read it.\n\
             Type yes to go on: ",
            self.plain.display()
        );
        confirm::ask(self.yes, &question, "yes")?;
        let report = self.store.with_store(Input::Free, |store| self.copy(store))?;
        let note = format!("The files in {} are not encrypted.", self.plain.display());
        report.finish("Exported", &note)
    }

    fn check_place(&self) -> Result<(), Failure> {
        place::check_parent(&self.plain)?;
        if place::is_inside(&self.plain, &self.store.place()?) {
            return Err(Failure::usage(
                "The plain files would be in the folder of the store itself.",
                "Choose a place elsewhere.",
            ));
        }
        let taken = match self.plain.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unwritable(&error)),
            Ok(data) if !data.is_dir() => {
                ("There is a file or link at this place.", "Choose another.")
            }
            Ok(_) if self.resume => return Ok(()),
            Ok(_) => {
                let mut entries = fs::read_dir(&self.plain).map_err(|error| unwritable(&error))?;
                if entries.next().is_none() {
                    return Ok(());
                }
                (
                    "The folder is not empty.",
                    "Choose another, or add --resume to go on with an export.",
                )
            }
        };
        Err(Failure::new(Exit::Other, taken.0, taken.1))
    }

    fn copy(&self, store: &OpenStore) -> Result<Report, Failure> {
        let mut paths = Vec::new();
        tree::walk(store, &self.from, usize::MAX, |found| {
            if !found.is_folder() {
                paths.push(found.path);
            }
            Ok(())
        })?;
        prepare(&self.plain).map_err(|error| unwritable(&error))?;
        let from = tree::canonical(&self.from);
        let mut report = Report::new(self.json, paths.len(), "files written");
        for path in &paths {
            let below = path.strip_prefix(&from).and_then(|below| below.strip_prefix('/'));
            // A file that is exported alone keeps its name.
            let below = below.or_else(|| path.rsplit('/').next()).unwrap_or_default();
            // Deleted by another meanwhile.
            let Some(text) = store.find(path)? else { continue };
            report.add(path, &self.write(below, text.as_str())?)?;
        }
        Ok(report)
    }

    /// Writes one file, where its names below `--from` lead.
    fn write(&self, below: &str, text: &str) -> Result<Outcome, Failure> {
        let Some(place) = host_files::relative(below) else {
            return Ok(refused("its path could lead out of the folder"));
        };
        match write(&self.plain, &place, text) {
            // Other file systems take fewer names than the memory.
            Err(error) if is_about_name(&error) => {
                Ok(refused("the file system takes no such name"))
            }
            Err(error) => Err(unwritable(&error)),
            Ok(outcome) => Ok(outcome),
        }
    }
}

fn refused(reason: &str) -> Outcome {
    Outcome::Refused(reason.to_owned())
}

fn is_about_name(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput)
}

fn unwritable(error: &io::Error) -> Failure {
    Failure::io(
        "The plain files cannot be written",
        error,
        "Check the disk and its free space, then go on with --resume.",
    )
}

/// Makes the folder, and removes what an interrupted export has left in it.
fn prepare(folder: &Path) -> io::Result<()> {
    host_files::make_folder(folder)?;
    match fs::remove_file(folder.join(PARTIAL)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a file below a folder. Neither the file nor any folder on the way may be a link.
fn write(folder: &Path, place: &Path, text: &str) -> io::Result<Outcome> {
    let mut on_the_way = folder.to_owned();
    for name in place.parent().into_iter().flat_map(Path::components) {
        on_the_way.push(name);
        match on_the_way.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                host_files::make_folder(&on_the_way)?;
            }
            Err(error) => return Err(error),
            Ok(data) if data.is_dir() => {}
            Ok(_) => return Ok(refused("there is a file or link where its folder would be")),
        }
    }
    let place = folder.join(place);
    match place.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(data) if !data.is_file() => {
            return Ok(refused("there is a folder, link or special file of its name"));
        }
        Ok(_) => {
            let there = Wiped::read(host_files::open(&place)?, MOST_BYTES)?;
            let is_same = there.is_some_and(|there| there.expose() == text.as_bytes());
            return Ok(if is_same {
                Outcome::Same
            } else {
                refused("there is a file of its name that differs")
            });
        }
    }
    let partial = folder.join(PARTIAL);
    let mut file = host_files::create(&partial)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(&partial, &place)) {
        let _ = fs::remove_file(&partial);
        return Err(error);
    }
    Ok(Outcome::Copied { bytes: text.len() })
}

/// Where a file is until it is whole; an interrupted export leaves it to the next. No file of a memory can have this
/// name, which decodes to one with a `/`.
const PARTIAL: &str = ".inmost%2Fpartial";
