//! `inmost man`

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man as Page;

use crate::exit::Failure;
use crate::output::print;

/// Print the manual page of the program, or write all manual pages to a folder
///
/// There is one page for the program and one for each command.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost man > inmost.1\n  \
    inmost man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write all pages to this folder, replacing the pages of an earlier version
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Man {
    /// `program` describes the command line of the whole program.
    pub(crate) fn run(&self, program: Command) -> Result<(), Failure> {
        let Some(folder) = &self.folder else {
            let mut page = Vec::new();
            Page::new(program).render(&mut page).map_err(|error| Failure::output(&error))?;
            return print(&page);
        };
        clap_mangen::generate_to(program, folder).map_err(|error| {
            Failure::io(
                &format!("The manual pages cannot be written to {}", folder.display()),
                &error,
                "Choose an existing folder that you can write to.",
            )
        })
    }
}
