//! `inmost completions`

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::Failure;

/// Print what makes a shell complete the commands and options
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
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Args::command(), "inmost", &mut script);
        super::print(&script)
    }
}
