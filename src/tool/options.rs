//! Options of a memory tool.

use super::error::ToolError;
use crate::limits;
use crate::vfs::path::MemoryPath;
use crate::vfs::subtree::Subtree;

/// Options of a [`MemoryTool`](crate::MemoryTool), as its [builder](crate::MemoryToolBuilder) has set them.
///
/// With the feature `serde` they can be sent to the process that holds the store.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct ToolOptions {
    #[cfg_attr(feature = "serde", serde(with = "subtree"))]
    pub(crate) subtree: Subtree,
    pub(crate) read_only: bool,
    pub(crate) create_overwrites: bool,
    pub(crate) view_characters: usize,
    pub(crate) ranged_view_characters: usize,
    pub(crate) listing_entries: usize,
}

impl Default for ToolOptions {
    fn default() -> Self {
        Self {
            subtree: Subtree::default(),
            read_only: false,
            create_overwrites: false,
            view_characters: limits::VIEW_CHARACTERS,
            ranged_view_characters: limits::RANGED_VIEW_CHARACTERS,
            listing_entries: limits::LISTING_ENTRIES,
        }
    }
}

impl ToolOptions {
    /// Parses a path that a model sent.
    pub(super) fn parse_path(&self, sent: &str) -> Result<MemoryPath, ToolError> {
        MemoryPath::parse_in(&self.subtree, sent).map_err(|error| ToolError::of_path(error, sent))
    }

    /// Whether the tool is limited to reading or to a part of the store, so that other ways to the store would give
    /// more access.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        self.read_only || !self.subtree.is_whole()
    }
}

/// Serializes a subtree as the path of its folder.
#[cfg(feature = "serde")]
mod subtree {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::vfs::path::MemoryPath;
    use crate::vfs::subtree::Subtree;

    pub(super) fn serialize<S: Serializer>(
        subtree: &Subtree,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(subtree.folder())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Subtree, D::Error> {
        let folder = String::deserialize(deserializer)?;
        let folder = MemoryPath::parse(&folder).map_err(|_| D::Error::custom("no folder"))?;
        Ok(folder.to_subtree())
    }
}
