//! How far an agent is let into a store.

use inmost::{MemoryTool, MemoryToolBuilder, Session};

use crate::exit::Failure;

/// What an agent sees and may change.
#[derive(clap::Args)]
pub(crate) struct LimitArgs {
    /// Answer every change with `Error: Memory is read-only.`
    #[arg(long, help_heading = HEADING)]
    pub(crate) read_only: bool,

    /// Show the agent this folder alone, as its /memories; it need not be there yet
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    pub(crate) subtree: Option<String>,

    /// Let `create` replace a file that is there, instead of refusing
    #[arg(long, help_heading = HEADING)]
    pub(crate) create_overwrites: bool,
}

const HEADING: &str = "Limits for the agent";

impl LimitArgs {
    /// Whether they can be kept at all, before anyone is asked for a passphrase in vain.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.builder(Session::in_memory()?).map(drop)
    }

    /// The tool within these limits.
    pub(crate) fn tool(&self, session: Session) -> Result<MemoryTool, Failure> {
        Ok(self.builder(session)?.build())
    }

    fn builder(&self, session: Session) -> Result<MemoryToolBuilder, Failure> {
        let builder = MemoryTool::builder(session)
            .read_only(self.read_only)
            .create_overwrites(self.create_overwrites);
        match &self.subtree {
            Some(folder) => Ok(builder.subtree(folder)?),
            None => Ok(builder),
        }
    }
}
