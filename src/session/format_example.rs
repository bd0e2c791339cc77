//! Checks the anchor slot in docs/FORMAT.md against the numbers on that page.

use inmost_format::crypto::keys::MasterKey;
use inmost_format::record::format_page::Page;

use super::anchor::Mark;

#[test]
fn the_anchor_of_the_page_follows_from_its_root_record() {
    let page = Page::read();
    let key = MasterKey::new(page.secret("master key")).anchor_key(&page.store());
    let mark = Mark::of(7, 1, &page.bytes("root value")).unwrap();
    assert_eq!(mark.encode(&key, &page.store()), page.bytes("anchor slot"));
    assert!(Mark::decode(&page.bytes("anchor slot"), &key, &page.store()) == Some(mark));
}
