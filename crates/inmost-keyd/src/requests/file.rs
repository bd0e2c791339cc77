//! Requests for files.

use inmost::{
    FileError, FileText, FolderEntry, LineRange, Page, PageCursor, UnlockedStore, WalkEntry,
};
use serde::{Deserialize, Serialize};

use crate::request::{Context, Request};
use crate::wiped::WipedPath;

#[derive(Serialize, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) path: WipedPath,
}

impl Request for Metadata {
    type Reply = inmost::Metadata;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        context.session.metadata(&self.path)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Read {
    pub(crate) path: WipedPath,
    pub(crate) lines: Option<LineRange>,
}

impl Request for Read {
    type Reply = FileText;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        UnlockedStore::read(context.session, &self.path, self.lines)
    }
}

/// The body is the text.
#[derive(Serialize, Deserialize)]
pub(crate) struct Write {
    pub(crate) path: WipedPath,
}

impl Request for Write {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        context.session.write(&self.path, text(body)?)
    }
}

/// The body is the text.
#[derive(Serialize, Deserialize)]
pub(crate) struct Append {
    pub(crate) path: WipedPath,
}

impl Request for Append {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        context.session.append(&self.path, text(body)?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct List {
    pub(crate) path: WipedPath,
    pub(crate) after: Option<PageCursor>,
    pub(crate) most: usize,
}

impl Request for List {
    type Reply = Page<FolderEntry>;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        context.session.list(&self.path, self.after.as_ref(), self.most.min(MAX_PAGE))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Walk {
    pub(crate) path: WipedPath,
    pub(crate) max_depth: usize,
    pub(crate) after: Option<PageCursor>,
    pub(crate) most: usize,
}

impl Request for Walk {
    type Reply = Page<WalkEntry>;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        let most = self.most.min(MAX_PAGE);
        context.session.walk(&self.path, self.max_depth, self.after.as_ref(), most)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Remove {
    pub(crate) path: WipedPath,
}

impl Request for Remove {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        context.session.remove(&self.path)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Rename {
    pub(crate) old: WipedPath,
    pub(crate) new: WipedPath,
}

impl Request for Rename {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        context.session.rename(&self.old, &self.new)
    }
}

/// This client sends only `str`s, so this fails only for other clients.
pub(super) fn text(body: &[u8]) -> Result<&str, FileError> {
    std::str::from_utf8(body)
        .map_err(|_| inmost::StoreError::KeyDaemon("The text is not UTF-8.".to_owned()).into())
}

/// The maximum number of items on a page. With the longest paths, this many make a head of 64 MB.
pub(crate) const MAX_PAGE: usize = 10_000;
