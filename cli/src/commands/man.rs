//! `inmost man`

mod page;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;

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
    /// Write all pages to this folder, replacing the pages of an earlier version; it is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Man {
    /// `program` describes the command line of the whole program.
    pub(crate) fn run(&self, program: Command) -> Result<(), Failure> {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        let Some(folder) = &self.folder else {
            let page = page::render(&program).map_err(|error| Failure::output(&error))?;
            return print(&page);
        };
        fs::create_dir_all(folder).and_then(|()| write_all(&program, folder)).map_err(|error| {
            Failure::io(
                &format!("The manual pages cannot be written to {}", folder.display()),
                &error,
                "Choose a folder that you can write to.",
            )
        })
    }
}

fn write_all(command: &Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_all(below, folder)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    fs::write(folder.join(format!("{name}.1")), page::render(command)?)
}
