//! The restrictions of an agent that uses a store.

use inmost::{MemoryTool, MemoryToolBuilder, Session};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// The restrictions of the memory tool. By default there are none.
///
/// An unknown field is an error: a key agent must not ignore a restriction that it does not know.
#[derive(Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restrictions {
    /// Refuse every change with `Error: Memory is read-only.`
    #[arg(long, help_heading = HEADING)]
    pub(crate) read_only: bool,

    /// Show the agent only this folder, as /memories; it may not exist yet
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    pub(crate) subtree: Option<String>,

    /// Let `create` replace an existing file instead of refusing
    #[arg(long, help_heading = HEADING)]
    pub(crate) create_overwrites: bool,
}

const HEADING: &str = "Limits for the agent";

impl Restrictions {
    /// Whether requests other than tool calls would bypass the restrictions.
    pub(crate) fn confine(&self) -> bool {
        self.read_only || self.subtree.is_some()
    }

    /// Checks that they are valid, so that nobody is asked for a passphrase in vain.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.builder(Session::in_memory()?).map(drop)
    }

    /// The memory tool with these restrictions. No other code builds the tool of an open store.
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
