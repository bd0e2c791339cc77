//! The copies of headers of tests/vectors, which are computed from docs/FORMAT.md without this code.

use inmost_engines::memory::MemoryStorage;
use inmost_format::crypto::keys::RawKey;
use inmost_format::crypto::unhex;
use inmost_format::header::{Header, HeaderError, unlock_first};
use inmost_format::record::node::{Child, Root};
use inmost_format::record::{HeaderId, HeaderMac, ObjectId, Tag};
use inmost_format::secret::SecretBytes;
use inmost_storage::{HeaderCopy, Storage};
use serde::Deserialize;

use crate::session::anchor::freshness::{self, Rollback};
use crate::session::anchor::{Anchor, Mark};
use crate::session::{StoreError, VaultOptions};

#[derive(Deserialize)]
struct Vectors {
    header: String,
    credential: Credential,
    root: RootFacts,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Credential {
    key: String,
}

#[derive(Deserialize)]
struct RootFacts {
    commit: u64,
    generation: u64,
    nonce: String,
    tag: String,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    a: Option<Patched>,
    b: Option<Patched>,
    root: Bound,
    anchor: Option<String>,
    credential: Option<Credential>,
    used: Option<String>,
    outcome: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Patched {
    length: usize,
    patches: Vec<(usize, String)>,
}

#[derive(Deserialize)]
struct Bound {
    revision: u64,
    mac: String,
}

#[test]
fn of_two_copies_the_one_of_the_vectors_is_used_or_refused() {
    let vectors: Vectors =
        serde_json::from_str(include_str!("../../../tests/vectors/successions.json")).unwrap();
    assert!(vectors.cases.len() > 40);
    for case in &vectors.cases {
        let storage = MemoryStorage::default();
        for (copy, patched) in [(HeaderCopy::A, &case.a), (HeaderCopy::B, &case.b)] {
            let Some(patched) = patched else { continue };
            let mut bytes = unhex(&vectors.header);
            bytes.resize(patched.length, 0);
            for (at, patch) in &patched.patches {
                let patch = unhex(patch);
                bytes[*at..at + patch.len()].copy_from_slice(&patch);
            }
            storage.write_header(copy, &bytes).unwrap();
        }
        if let Some(anchor) = &case.anchor {
            storage.write_anchor(&unhex(anchor)).unwrap();
        }
        let key = unhex(&case.credential.as_ref().unwrap_or(&vectors.credential).key);
        let key = RawKey::new(SecretBytes::init_with(|bytes| bytes.copy_from_slice(&key)));

        let refused = run(&vectors.root, case, &storage, &key, Rollback::Refuse);
        assert_eq!(refused.as_deref(), case.error.as_deref(), "{}", case.name);
        // Nobody can accept a header that is older than its records.
        let accepted = run(&vectors.root, case, &storage, &key, Rollback::Accept);
        let expected = case.error.as_deref().filter(|error| *error != "RecordsBehindHeader");
        assert_eq!(accepted.as_deref(), expected, "{}", case.name);
    }
}

/// Unlocks the copies, and compares the one that is used with the root. Returns what the vectors call the error.
fn run(
    facts: &RootFacts,
    case: &Case,
    storage: &MemoryStorage,
    key: &RawKey,
    rollback: Rollback,
) -> Option<String> {
    let copies = match VaultOptions::new().read_headers(storage) {
        Ok(copies) => copies,
        Err(error) => return named(&error),
    };
    let headers: Vec<&Header> = copies.iter().map(|(_, header)| header).collect();
    let (used, unlocked) = match unlock_first(&headers, &key.into()) {
        Ok(unlocked) => unlocked,
        Err(HeaderError::WrongCredential) => return Some("WrongCredential".into()),
        Err(error) => return named(&error.into()),
    };
    let used = if copies[used].0 == HeaderCopy::A { "a" } else { "b" };
    assert_eq!(Some(used), case.used.as_deref(), "{}", case.name);

    let mac = HeaderMac(unhex(&case.root.mac).try_into().unwrap());
    let bound = HeaderId { revision: case.root.revision, mac };
    let child = Child { id: ObjectId([0; 16]), tag: Tag::default() };
    let root = Root { commit: facts.commit, header: bound, ..Root::new(child, child) };
    let value = [vec![1], unhex(&facts.nonce), unhex(&facts.tag)].concat();
    let found = Mark::of(&root, facts.generation, &value);
    let mut anchor = Anchor::new(&unlocked, None);
    anchor.load(storage);
    let header = unlocked.header();
    match freshness::check(header, &bound, found.as_ref(), 0, &mut anchor, rollback) {
        Ok(unsettled) => {
            if let Some(outcome) = &case.outcome {
                assert_eq!(unsettled.header, outcome == "next", "{}", case.name);
            }
            None
        }
        Err(error) => named(&error),
    }
}

fn named(error: &StoreError) -> Option<String> {
    format!("{error:?}").split([' ', '(']).next().map(str::to_owned)
}
