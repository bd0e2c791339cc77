//! The anchors of tests/vectors, which are computed from docs/FORMAT.md without this code.

use std::error::Error;
use std::sync::Arc;

use inmost_engines::memory::MemoryStorage;
use inmost_format::crypto::cost::KdfLimits;
use inmost_format::crypto::keys::RawKey;
use inmost_format::crypto::unhex;
use inmost_format::header::Header;
use inmost_format::record::node::{Child, Root};
use inmost_format::record::{ObjectId, Tag};
use inmost_format::secret::SecretBytes;
use inmost_storage::Storage;
use serde::Deserialize;

use super::freshness::{self, Rollback};
use super::{Anchor, FreshnessAnchor, Mark};

#[derive(Deserialize)]
struct Vectors {
    header: String,
    credential: Credential,
    root: RootFacts,
    anchor: String,
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
    revision: u64,
    nonce: String,
    tag: String,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    anchored: u64,
    length: usize,
    patches: Vec<(usize, String)>,
    external: Option<String>,
    freshness: Option<String>,
    error: Option<String>,
}

/// The value that an application keeps.
struct Elsewhere(Vec<u8>);

impl FreshnessAnchor for Elsewhere {
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        Ok(Some(self.0.clone()))
    }

    fn save(&self, _: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        unreachable!("nothing is committed")
    }
}

#[test]
fn an_anchor_says_what_the_vectors_say() {
    let vectors: Vectors =
        serde_json::from_str(include_str!("../../../tests/vectors/anchors.json")).unwrap();
    let key = unhex(&vectors.credential.key);
    let key = RawKey::new(SecretBytes::init_with(|bytes| bytes.copy_from_slice(&key)));
    let header = Header::parse(&unhex(&vectors.header), &KdfLimits::default()).unwrap();
    let unlocked = header.unlock(&(&key).into()).unwrap();
    let header = unlocked.header();

    let RootFacts { commit, generation, revision, nonce, tag } = vectors.root;
    let child = Child { id: ObjectId([0; 16]), tag: Tag::default() };
    let bound = header.id();
    assert_eq!((bound.revision, header.generation()), (revision, generation));
    let root = Root { commit, header: bound, ..Root::new(child, child) };
    let value = [vec![1], unhex(&nonce), vec![0; 512], unhex(&tag)].concat();
    let found = Mark::of(&root, generation, &value).unwrap();

    assert!(vectors.cases.len() > 80);
    for case in vectors.cases {
        let mut bytes = unhex(&vectors.anchor);
        bytes.resize(case.length, 0);
        for (at, patch) in case.patches {
            let patch = unhex(&patch);
            bytes[at..at + patch.len()].copy_from_slice(&patch);
        }
        let storage = MemoryStorage::default();
        storage.write_anchor(&bytes).unwrap();
        let external = case
            .external
            .map(|value| -> Arc<dyn FreshnessAnchor> { Arc::new(Elsewhere(unhex(&value))) });
        let mut anchor = Anchor::new(&unlocked, external);
        anchor.load(&storage);
        anchor.load_external();
        let (by, refuse) = (case.anchored, Rollback::Refuse);
        let outcome = freshness::check(header, &bound, Some(&found), by, &mut anchor, refuse);
        let error = outcome.err().map(|error| format!("{error:?}"));
        let error = error.as_deref().and_then(|error| error.split([' ', '(']).next());
        assert_eq!(error, case.error.as_deref(), "{}", case.name);
        if let Some(expected) = case.freshness {
            assert_eq!(anchor.status().name(), expected, "{}", case.name);
        }
    }
}
