//! How much of a store an agent gets.

use inmost::{MemoryTool, MemoryToolBuilder, Session};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// What the memory tool may do. By default everything, on the whole memory, as the tool's contract has it.
///
/// One that is not known refuses: a restriction that is passed over is none.
#[derive(Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restrictions {
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

impl Restrictions {
    /// Whether anything but the tool would reach further than the tool may.
    pub(crate) fn confine(&self) -> bool {
        self.read_only || self.subtree.is_some()
    }

    /// Whether they can be kept at all, before anyone is asked for a passphrase in vain.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.builder(Session::in_memory()?).map(drop)
    }

    /// The one place where the tool of a restricted store is made.
    pub(super) fn tool(&self, session: &Session) -> Result<MemoryTool, Failure> {
        Ok(self.builder(session.clone())?.build())
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
