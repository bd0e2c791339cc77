//! The restrictions of an agent that uses a store.

use clap::ValueEnum;
use inmost::{MemoryTool, ToolCall, ToolOptions, ToolReply};
use inmost_screen::SecretScreen;

use super::OpenStore;
use super::no_store::NoStore;
use crate::exit::Failure;
use crate::memory_path;
use crate::sizes;

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

    /// Keep nothing from before the agent's changes in the history: an edit also forgets every earlier version of its file, and
    /// `delete` every version of the path. It cannot be undone
    #[arg(long, help_heading = HEADING)]
    pub(crate) delete_forgets: bool,

    /// Look for private keys, API keys, card numbers and IBANs in what the agent writes, before it is saved. It is a
    /// heuristic that cannot find every secret
    #[arg(long, value_name = "ACTION", help_heading = HEADING)]
    pub(crate) screen: Option<OnFind>,

    /// Refuse files that are longer than this, such as 64K [default: 16M]
    #[arg(long, value_name = "BYTES", value_parser = sizes::parse, help_heading = HEADING)]
    pub(crate) max_file_bytes: Option<u64>,

    /// Refuse another file once the store has this many [default: 1000000]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub(crate) max_files: Option<u64>,

    /// Refuse more text once the store would have more than this, such as 100M [default: 4G]
    #[arg(long, value_name = "BYTES", value_parser = sizes::parse, help_heading = HEADING)]
    pub(crate) max_store_bytes: Option<u64>,

    /// Cut a view of a whole file after this many characters [default: 16000]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub(crate) max_view_characters: Option<usize>,

    /// Cut a view with a range after this many characters [default: 64000]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub(crate) max_range_characters: Option<usize>,

    /// Cut a listing after this many entries [default: 1000]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub(crate) max_listing_entries: Option<usize>,
}

/// What happens to a secret that the agent wants to save.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnFind {
    /// Save `[redacted: card number]` or the like in its place
    Redact,
    /// Save nothing, and return an error
    Refuse,
}

impl OnFind {
    /// The screen that does this.
    pub(crate) fn screen(self) -> SecretScreen {
        match self {
            Self::Redact => SecretScreen::redacting(),
            Self::Refuse => SecretScreen::refusing(),
        }
    }
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
            Some(on_find) => options.screen(on_find.screen()),
        };
        let options = self.limits(options);
        match &self.subtree {
            Some(folder) => options.subtree(folder).map_err(|error| Failure::at(folder, error)),
            None => Ok(options),
        }
    }

    /// Whether they restrict nothing of what an agent sees or stores.
    pub(crate) fn is_unrestricted(&self) -> bool {
        let is_whole = !self.read_only && self.subtree.is_none() && self.screen.is_none();
        is_whole && self.limit_args().is_empty()
    }

    fn limits(&self, mut options: ToolOptions) -> ToolOptions {
        if let Some(bytes) = self.max_file_bytes {
            options = options.max_file_bytes(bytes);
        }
        if let Some(files) = self.max_files {
            options = options.max_files(files);
        }
        if let Some(bytes) = self.max_store_bytes {
            options = options.max_store_bytes(bytes);
        }
        if let Some(characters) = self.max_view_characters {
            options = options.max_view_characters(characters);
        }
        if let Some(characters) = self.max_range_characters {
            options = options.max_range_characters(characters);
        }
        if let Some(entries) = self.max_listing_entries {
            options = options.max_listing_entries(entries);
        }
        options
    }

    /// The limits that were given, as options of the command line.
    pub(crate) fn limit_args(&self) -> Vec<String> {
        let number = |number: Option<usize>| number.and_then(|number| u64::try_from(number).ok());
        let limits = [
            ("--max-file-bytes", self.max_file_bytes),
            ("--max-files", self.max_files),
            ("--max-store-bytes", self.max_store_bytes),
            ("--max-view-characters", number(self.max_view_characters)),
            ("--max-range-characters", number(self.max_range_characters)),
            ("--max-listing-entries", number(self.max_listing_entries)),
        ];
        let given = limits.into_iter().filter_map(|(name, limit)| Some((name, limit?)));
        given.flat_map(|(name, limit)| [name.to_owned(), limit.to_string()]).collect()
    }

    /// Checks that they are valid, so that an error is reported before the prompt for a passphrase.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.options().map(drop)
    }

    /// The memory tool with these restrictions. No other code builds the tool.
    pub(crate) fn tool_on(&self, store: &OpenStore) -> Result<MemoryTool, Failure> {
        Ok(store.tool(self.options()?.locked_hint(LOCKED_HINT)))
    }

    /// The reply of the tool while there is no store. If the call itself is not valid, the reply says so.
    pub(crate) fn refuse(&self, call: &ToolCall, why: NoStore) -> Result<ToolReply, Failure> {
        let options = self.options()?.locked_hint(LOCKED_HINT);
        Ok(MemoryTool::refuse(call, &options, why.into()))
    }
}
