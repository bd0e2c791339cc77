//! `inmost completions`

use clap_complete::Shell;

use crate::completion;
use crate::exit::Failure;
use crate::output::print;

/// Print a script that makes a shell complete commands, options and memory paths
///
/// Paths of the memory are completed while the store is unlocked with `inmost unlock`. The script runs the `inmost` that the
/// shell finds in its path. It offers only names that need no quotes.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost completions bash > ~/.local/share/bash-completion/completions/inmost\n  \
    inmost completions zsh > ~/.zfunc/_inmost\n  \
    inmost completions fish > ~/.config/fish/completions/inmost.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        print(&completion::script(self.shell).map_err(|error| Failure::output(&error))?)
    }
}
