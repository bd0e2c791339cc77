//! `inmost man`

use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::Man as Page;

use crate::args::Args;
use crate::exit::Failure;

/// Print the manual page, or write all of them to a folder
///
/// There is a page for the program, and one for each command.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost man > inmost.1\n  \
    inmost man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Folder to write all pages to; pages of an earlier version are replaced
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let Some(folder) = &self.folder else {
            let mut page = Vec::new();
            Page::new(Args::command())
                .render(&mut page)
                .map_err(|error| Failure::output(&error))?;
            return super::print(&page);
        };
        clap_mangen::generate_to(Args::command(), folder).map_err(|error| {
            Failure::io(
                "The manual cannot be written",
                &error,
                "Give a folder that is there and that you may write to.",
            )
        })
    }
}
