//! Systems where a text cannot be kept off the disk while it is edited.

use crate::exit::{Exit, Failure};

pub(crate) fn no_memory_file_system() -> Failure {
    Failure::new(
        Exit::Other,
        "No in-memory file system was found, and the text must not be written to a disk.",
        "Use `inmost cat` and `inmost write`, with a program between them that writes no files.",
    )
}
