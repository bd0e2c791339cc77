//! An inode: a file or folder that the kernel or the mount knows.

use crate::buffer::Buffer;
use crate::tree::Away;

/// A file or folder that the kernel or the mount knows.
pub(crate) struct Node {
    /// `None` once it is deleted, replaced or gone from the store.
    pub(crate) path: Option<String>,
    /// How often the kernel has looked it up.
    pub(crate) lookups: u64,
    pub(crate) what: What,
}

pub(crate) enum What {
    /// A folder. If it is kept, it exists even without a file in the store.
    Folder {
        is_kept: bool,
    },
    File(Box<File>),
}

#[derive(Default)]
pub(crate) struct File {
    /// Its number in the store; `None` if it is not there.
    pub(crate) number: Option<u64>,
    pub(crate) is_scratch: bool,
    /// The version whose length the kernel has, if it can have no other.
    pub(crate) told: Option<u64>,
    pub(crate) handles: u32,
    /// Those of them that write at places of their own: the text that they know must not change under them.
    pub(crate) writers: u32,
    /// How often open handles have lost their text or its place. What a handle from before the last time writes would be part of a
    /// text, so it is refused.
    pub(crate) losses: u64,
    /// The version that open handles knew when the store was locked.
    pub(crate) known: Option<u64>,
    /// The file of the store, moved to a scratch name, that this one is to replace, until it is saved.
    pub(crate) backup: Option<Away>,
    /// Where it was, if somebody else has taken it from the store.
    pub(crate) gone_from: Option<String>,
    /// While it is open, is a scratch file or has something to save.
    pub(crate) buffer: Option<Buffer>,
}

impl File {
    /// The handles that are open write nothing any more.
    pub(crate) fn lose_handles(&mut self) {
        if self.handles > 0 {
            (self.losses, self.writers) = (self.losses.saturating_add(1), 0);
        }
    }

    /// Whether it has no place in the store any more for what is not saved.
    pub(crate) fn is_gone_unsaved(&self) -> bool {
        self.gone_from.is_some() && self.buffer.as_ref().is_some_and(|buffer| buffer.is_changed)
    }
}

impl Node {
    pub(crate) fn file(&self) -> Option<&File> {
        match &self.what {
            What::File(file) => Some(file),
            What::Folder { .. } => None,
        }
    }

    pub(crate) fn file_mut(&mut self) -> Option<&mut File> {
        match &mut self.what {
            What::File(file) => Some(file),
            What::Folder { .. } => None,
        }
    }

    /// Whether the mount must keep it, also if the store does not have it.
    pub(crate) fn is_in_memory(&self) -> bool {
        match &self.what {
            What::Folder { is_kept } => *is_kept,
            What::File(file) => {
                file.is_scratch
                    || file.number.is_none()
                    || file
                        .buffer
                        .as_ref()
                        .is_some_and(|buffer| buffer.is_changed || buffer.is_redacted)
            }
        }
    }
}
