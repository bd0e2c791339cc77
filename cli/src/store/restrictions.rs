//! The restrictions of an agent that uses a store.

use clap::ValueEnum;
use inmost::{MemoryTool, SecretScreen, ToolOptions, UnlockedStore};

use crate::exit::Failure;
use crate::memory_path;

/// The restrictions of the memory tool. The default restricts nothing.
#[derive(Clone, Default, clap::Args)]
pub(crate) struct Restrictions {
    /// Refuse every change with `Error: Memory is read-only.`
    #[arg(long, help_heading = HEADING)]
    pub(crate) read_only: bool,

    /// Show the agent only this folder, as /memories; it may not exist yet
    #[arg(long, value_name = "PATH", value_parser = memory_path::parse, help_heading = HEADING)]
    pub(crate) subtree: Option<String>,

    /// Let `create` replace an existing file instead of refusing
    #[arg(long, help_heading = HEADING)]
    pub(crate) create_overwrites: bool,

    /// Keep no text of the agent's changes in the history: an edit leaves only the fact, and `delete` also forgets every
    /// earlier version of the path. It cannot be undone
    #[arg(long, help_heading = HEADING)]
    pub(crate) delete_forgets: bool,

    /// Look for private keys, API keys, card numbers and IBANs in what the agent writes, before it is saved. It is a
    /// heuristic that cannot find every secret
    #[arg(long, value_name = "ACTION", help_heading = HEADING)]
    pub(crate) screen: Option<OnFind>,
}

/// What happens to a secret that the agent wants to save.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnFind {
    /// Save `[redacted: card number]` or the like in its place
    Redact,
    /// Save nothing, and tell the agent why
    Refuse,
}

/// What the model reads after `Error: Memory is locked.`
pub(crate) const LOCKED_HINT: &str = "The user can unlock it with `inmost unlock`.";

const HEADING: &str = "Limits for the agent";

impl Restrictions {
    /// The options of the memory tool.
    ///
    /// # Errors
    /// If the path of the subtree is not valid.
    pub(crate) fn options(&self) -> Result<ToolOptions, Failure> {
        let options =
            ToolOptions::new().read_only(self.read_only).create_overwrites(self.create_overwrites);
        let options = options.delete_forgets(self.delete_forgets);
        let options = match self.screen {
            None => options,
            Some(OnFind::Redact) => options.screen(SecretScreen::redacting()),
            Some(OnFind::Refuse) => options.screen(SecretScreen::refusing()),
        };
        match &self.subtree {
            Some(folder) => Ok(options.subtree(folder)?),
            None => Ok(options),
        }
    }

    /// Whether they restrict nothing that a key agent would enforce.
    pub(crate) fn is_unrestricted(&self) -> bool {
        !self.read_only && self.subtree.is_none() && self.screen.is_none()
    }

    /// Checks that they are valid, so that an error is reported before the prompt for a passphrase.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.options().map(drop)
    }

    /// The memory tool with these restrictions. No other code builds the tool.
    pub(crate) fn tool(&self, store: impl UnlockedStore + 'static) -> Result<MemoryTool, Failure> {
        let builder = MemoryTool::builder(store).options(self.options()?);
        Ok(builder.locked_hint(LOCKED_HINT).build())
    }
}
