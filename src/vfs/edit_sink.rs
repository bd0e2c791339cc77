//! Where an edit of a file puts its nodes. While versions are kept, it leaves the nodes of the file as it was.

use crate::session::Txn;
use inmost_format::record::history::Retired;
use inmost_format::record::{Kind, Node, NodeSink, NodeSource, RecordError, RecordId, Tag};

/// The nodes of one edit of one file.
pub(super) struct EditSink<'t, 'a> {
    txn: &'t mut Txn<'a>,
    /// The last index that the file had given out before the edit. Nodes up to it stay. `None` if no versions are kept.
    last_index: Option<u64>,
    retired: Vec<Retired>,
}

impl<'t, 'a> EditSink<'t, 'a> {
    pub(super) fn new(txn: &'t mut Txn<'a>, last_index: Option<u64>) -> Self {
        Self { txn, last_index, retired: Vec::new() }
    }

    /// The nodes that the edit took out of use and that stay.
    pub(super) fn into_retired(self) -> Vec<Retired> {
        self.retired
    }
}

impl NodeSource for EditSink<'_, '_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        self.txn.load(id, tag)
    }
}

impl NodeSink for EditSink<'_, '_> {
    fn put(&mut self, id: RecordId, node: Node) {
        self.txn.put(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        self.txn.remove(id);
    }

    fn retires(&mut self, id: RecordId) -> bool {
        let stays = self.last_index.is_some_and(|last| id.index <= last);
        if stays {
            self.retired.push(Retired { is_inner: id.kind == Kind::FileInner, index: id.index });
        }
        stays
    }
}
