//! Checks the anchor slot in docs/FORMAT.md against the numbers on that page.

use inmost_format::crypto::keys::MasterKey;
use inmost_format::record::format_page::Page;

use super::{Mark, Slot, Trust};
use inmost_format::record::node::{Child, Root};
use inmost_format::record::{HeaderId, HeaderMac, ObjectId, Tag};

#[test]
fn the_anchor_of_the_page_follows_from_its_root_record() {
    let page = Page::read();
    let key = MasterKey::new(page.secret("master key")).anchor_key(&page.store());
    let child = Child { id: ObjectId([0; 16]), tag: Tag::default() };
    let header = HeaderId { revision: 1, mac: HeaderMac([0; 16]) };
    let root = Root { commit: 7, header, ..Root::new(child, child) };
    let mark = Mark::of(&root, 1, &page.bytes("root value")).unwrap();
    let slot = Slot { sequence: 11, trust: Trust::Known, is_announced: false, mark };
    let sealed = slot.seal_with(page.array("anchor nonce"), &key, page.store(), 1);
    assert_eq!(sealed.to_vec(), page.bytes("anchor slot"));
    assert!(Slot::open(&page.bytes("anchor slot"), &key, page.store(), 1) == Some(slot));
    assert!(Slot::open(&page.bytes("anchor slot"), &key, page.store(), 0).is_none());
}
