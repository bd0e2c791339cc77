//! A person's editor, on a text that is in memory only.

#[cfg(target_os = "linux")]
mod edited;
#[cfg(target_os = "linux")]
mod private_folder;
#[cfg(target_os = "linux")]
mod process;

use crate::exit::{Exit, Failure};

#[cfg(target_os = "linux")]
pub(crate) use self::edited::Edited;
#[cfg(target_os = "linux")]
pub(crate) use self::process::Editor;

/// The failure of systems where a text cannot be kept off the disk while it is edited.
pub(crate) fn no_memory_file_system() -> Failure {
    Failure::new(
        Exit::Other,
        "No in-memory file system was found, and the text must not be written to a disk.",
        "Use `inmost cat PATH` and `inmost write PATH`, with a program between them that writes no files.",
    )
}
