//! How much of a store an agent gets.

use inmost::{MemoryTool, Session};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// What the memory tool may do. By default everything, on the whole memory, as the tool's contract has it.
///
/// One that is not known refuses: a restriction that is passed over is none.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restrictions {
    /// Changes are refused.
    pub(crate) read_only: bool,
    /// This folder is all there is, and is called `/memories`.
    pub(crate) subtree: Option<String>,
    /// `create` replaces a file that is there.
    pub(crate) create_overwrites: bool,
}

impl Restrictions {
    /// Whether anything but the tool would reach further than the tool may.
    pub(crate) fn confine(&self) -> bool {
        self.read_only || self.subtree.is_some()
    }

    /// The one place where the tool of a restricted store is made.
    pub(super) fn tool(&self, session: &Session) -> Result<MemoryTool, Failure> {
        if self.subtree.is_some() {
            return Err(Failure::usage(
                "This version cannot restrict the memory to a folder.",
                "Leave the folder out, or use a version that can.",
            ));
        }
        let tool = MemoryTool::builder(session.clone());
        Ok(tool.read_only(self.read_only).create_overwrites(self.create_overwrites).build())
    }
}
