//! `inmost completions`

use clap::Command;
use clap_complete::Shell;

use crate::exit::Failure;
use crate::output::print;

/// Print a script that makes a shell complete the commands and options
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
    /// `program` describes the command line of the whole program.
    pub(crate) fn run(&self, program: &mut Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, program, "inmost", &mut script);
        print(&script)
    }
}
