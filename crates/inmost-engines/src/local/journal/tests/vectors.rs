//! The journals of tests/vectors, which are computed from docs/FORMAT.md without this code.

use inmost_format::crypto::cost::KdfLimits;
use inmost_format::crypto::keys::RawKey;
use inmost_format::crypto::unhex;
use inmost_format::header::Header;
use inmost_format::secret::SecretBytes;
use inmost_storage::JournalMac;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Vectors {
    header: String,
    credential: Credential,
    engine: Vec<(String, String)>,
    journal: Patched,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Credential {
    key: String,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(flatten)]
    journal: Patched,
    mark: Option<String>,
    records: Option<Vec<(String, String)>>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Patched {
    length: usize,
    patches: Vec<(usize, String)>,
}

impl Patched {
    fn apply(&self, to: &[u8]) -> Vec<u8> {
        let mut bytes = to.to_vec();
        bytes.resize(self.length, 0);
        for (at, patch) in &self.patches {
            let patch = unhex(patch);
            bytes[*at..at + patch.len()].copy_from_slice(&patch);
        }
        bytes
    }
}

fn records(list: &[(String, String)]) -> Records {
    list.iter().map(|(address, value)| (address_of(address), unhex(value))).collect()
}

fn address_of(hex: &str) -> Address {
    Address(unhex(hex).try_into().unwrap())
}

/// The MAC of slots under the keys of the header.
fn mac(vectors: &Vectors) -> Arc<dyn JournalMac> {
    let key = unhex(&vectors.credential.key);
    let key = RawKey::new(SecretBytes::init_with(|bytes| bytes.copy_from_slice(&key)));
    let header = Header::parse(&unhex(&vectors.header), &KdfLimits::default()).unwrap();
    header.unlock(&(&key).into()).unwrap().record_keys().journal()
}

/// What the vectors call the reason why a journal is refused.
fn named(error: StorageError) -> &'static str {
    let (StorageError::Damaged(what) | StorageError::Corrupt(what)) = error else {
        panic!("{error}")
    };
    match what.as_str() {
        replay::OLDER_ENGINE | replay::OLDER_JOURNAL => "Apart",
        "both slots of the journal are damaged" => "SlotsDamaged",
        "a slot of the journal was written without the keys of the store" => "SlotForged",
        "the slots of the journal are of different journals" => "TwoJournals",
        "the journal has the wrong length" => "WrongLength",
        "the engine's records belong to another journal" => "OtherJournal",
        "an entry of the journal is damaged" => "EntryLost",
        other => panic!("{other}"),
    }
}

#[test]
fn a_journal_is_replayed_or_refused_as_in_the_vectors() {
    let vectors: Vectors =
        serde_json::from_str(include_str!("../../../../../../tests/vectors/journals.json"))
            .unwrap();
    let (mac, usual) = (mac(&vectors), vectors.journal.apply(&[]));
    let in_engine = records(&vectors.engine);
    let addresses: Vec<Address> = (1..8).map(|byte| Address([byte; 32])).collect();
    assert!(vectors.cases.len() > 80);
    for case in vectors.cases {
        let world = World::new();
        let mut puts: Vec<_> = in_engine.clone().into_iter().collect();
        puts.extend(case.mark.map(|mark| (MARK, unhex(&mark))));
        let engine = world.create_engine().unwrap();
        engine.apply(&Batch { puts, ..Batch::default() }).unwrap();
        engine.sync().unwrap();
        drop(engine);

        let disk = Disk::new(case.journal.apply(&usual), &world.faults);
        let around = Surroundings { mac: Arc::clone(&mac), ..world.around(world.opener()) };
        let opened = JournaledEngine::resume(Box::new(disk), around);
        let found = opened.map(|engine| {
            let values = engine.get_many(&addresses).unwrap();
            let found = addresses.iter().copied().zip(values);
            found.filter_map(|(address, value)| Some((address, value?))).collect::<Records>()
        });
        let expected = case.records.map(|list| records(&list));
        match (found, expected, case.error) {
            (Ok(found), Some(expected), None) => assert!(found == expected, "{}", case.name),
            (Err(error), None, Some(expected)) => {
                assert_eq!(named(error), expected, "{}", case.name);
            }
            (found, ..) => panic!("{}: {:?}", case.name, found.map(|_| "opened")),
        }
    }
}
