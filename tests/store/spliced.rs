//! Stores spliced from copies of several moments: anchor, header copies, journal and the engine's file, each from any of them. A
//! spliced store is refused, or it is a complete state of one moment, and its freshness is known only if its anchor is of the
//! session that made that state.
//!
//! Each seed is one splice. `INMOST_SEEDS=0..2000 cargo test --test store spliced` runs the long form.

use std::fs;
use std::path::PathBuf;

use inmost::{
    AnchorStatus, NewSlot, Passphrase, Session, StorageEngine, StoreError, Vault, VaultOptions,
};
use inmost_testing::{CHEAP, Random, passphrase, seeds};

use super::golden;

pub(super) const GENERATION: &str = "gen-0000000000000001";
/// More than the journal keeps, so that some states are in the engine only.
const FILES: usize = 40;

/// A copy of the store.
struct Moment {
    folder: PathBuf,
    session: usize,
    files: Vec<(String, String)>,
    /// Whether the passphrase had been replaced.
    is_later: bool,
}

/// The copies that an attacker has, in the order of their making.
struct Copies {
    _place: tempfile::TempDir,
    moments: Vec<Moment>,
}

fn later() -> Passphrase {
    Passphrase::new("another one").unwrap()
}

fn files(session: &Session) -> Result<Vec<(String, String)>, inmost::FileError> {
    (0..FILES)
        .map(|file| {
            let path = format!("/memories/{file}");
            let text = session.files().read(&path)?.as_str().to_owned();
            Ok((path, text))
        })
        .collect()
}

impl Copies {
    fn make(engine: StorageEngine) -> Self {
        let place = tempfile::tempdir().unwrap();
        let store = place.path().join("store");
        let mut moments = Vec::new();
        let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
        let mut session = options.create(&store, &passphrase()).unwrap();
        let mut count = 0;
        let mut change = |session: &Session, files: std::ops::Range<usize>| {
            for file in files {
                count += 1;
                let text = format!("{count} ").repeat(300);
                session.files().write(&format!("/memories/{file}"), &text).unwrap();
            }
        };
        let mut keep = |number: usize, files: Vec<(String, String)>| {
            let folder = place.path().join(format!("copy-{}", moments.len()));
            golden::copy(&store, &folder);
            moments.push(Moment { folder, session: number, files, is_later: number > 1 });
        };
        change(&session, 0..FILES);
        for number in 0..4 {
            if number > 0 {
                let secret = if number > 1 { later() } else { passphrase() };
                session = Vault::open(&store).unwrap().unlock(&secret).unwrap();
            }
            if number == 1 {
                change(&session, 0..2);
                let passphrase = later();
                session.replace_slot(0, &NewSlot::new(&passphrase).kdf_cost(CHEAP)).unwrap();
            }
            change(&session, 0..3);
            keep(number, files(&session).unwrap());
            change(&session, 3..number * 20 + 5);
            let now = files(&session).unwrap();
            session.lock();
            keep(number, now);
        }
        Self { _place: place, moments }
    }

    /// Splices a store, or copies this moment, and looks at it. Returns its freshness; `None` if it is refused.
    fn splice(
        &self,
        random: &mut Random,
        engine: StorageEngine,
        whole: Option<&Moment>,
        context: &str,
    ) -> Option<AnchorStatus> {
        let place = tempfile::tempdir().unwrap();
        let store = place.path().join("store");
        let moments = &self.moments;
        let mut any = || &moments[random.below(moments.len())];
        let (base, anchor, others) = match whole {
            Some(moment) => (moment, moment, [moment; 3]),
            None => (any(), any(), [any(), any(), any()]),
        };
        golden::copy(&base.folder, &store);
        let db = if engine == StorageEngine::Sled { "db" } else { "redb" };
        let in_generation = |name: &str| format!("{GENERATION}/{name}");
        let parts = [
            vec!["header.a".to_owned(), "header.b".to_owned()],
            vec![in_generation("journal")],
            vec![in_generation(db)],
        ];
        fs::copy(anchor.folder.join("anchor"), store.join("anchor")).unwrap();
        let mut is_whole = base.folder == anchor.folder;
        for (part, from) in parts.iter().zip(others) {
            if random.below(2) == 0 {
                is_whole &= base.folder == from.folder;
                for name in part {
                    fs::copy(from.folder.join(name), store.join(name)).unwrap();
                }
            }
        }
        let mut shown = None;
        for (secret, is_old) in [(passphrase(), true), (later(), false)] {
            let Ok(session) = Vault::open(&store).unwrap().unlock(&secret) else { continue };
            let freshness = session.status().unwrap().anchor;
            // A record that is missing is an error when it is read.
            let Ok(found) = files(&session) else { continue };
            let states: Vec<&Moment> =
                moments.iter().filter(|moment| moment.files == found).collect();
            assert!(!states.is_empty(), "{context}: a state that never was");
            let is_before = states.iter().any(|state| !state.is_later || state.session == 1);
            assert!(!is_old || is_before, "{context}: a replaced passphrase opens a later state");
            if freshness == AnchorStatus::Known {
                let is_of_anchor = states.iter().any(|state| state.session == anchor.session);
                assert!(is_of_anchor, "{context}: known by the anchor of another session");
            }
            if is_whole {
                assert_eq!(freshness, AnchorStatus::Known, "{context}");
            }
            session.lock();
            shown = Some(freshness);
        }
        shown
    }
}

#[test]
fn a_spliced_store_is_one_state_and_known_only_by_an_anchor_of_its_session() {
    let engines = [StorageEngine::Sled, StorageEngine::Redb];
    for engine in &engines[..if cfg!(feature = "redb") { 2 } else { 1 }] {
        let copies = Copies::make(*engine);
        for moment in &copies.moments {
            let shown = copies.splice(&mut Random(0), *engine, Some(moment), "no splice");
            assert_eq!(shown, Some(AnchorStatus::Known));
        }
        let splice = |seed| {
            let context = format!("seed {seed} on {engine:?}");
            copies.splice(&mut Random(seed), *engine, None, &context)
        };
        let shown: Vec<_> = seeds(0..60).map(splice).collect();
        let must_be = [None, Some(AnchorStatus::Unknown)];
        let is_usual = std::env::var_os("INMOST_SEEDS").is_none();
        assert!(!is_usual || must_be.iter().all(|it| shown.contains(it)), "{shown:?}");
    }
}

/// The position and the frontier in the slots are what an older end of sled's log is compared with. Who could write slots would need
/// no copy of an older state: the log still has it, and the journal's id and the marks are in the clear.
#[test]
fn forged_slots_do_not_make_an_older_end_of_the_log_known() {
    let place = tempfile::tempdir().unwrap();
    let (store, old) = (place.path().join("store"), place.path().join("old"));
    let session = VaultOptions::new().kdf_cost(CHEAP).create(&store, &passphrase()).unwrap();
    session.files().write("/memories/policy.md", "old").unwrap();
    session.lock();
    golden::copy(&store, &old);
    let session = Vault::open(&store).unwrap().unlock(&passphrase()).unwrap();
    session.files().write("/memories/policy.md", "new").unwrap();
    session.lock();

    let generation = store.join(GENERATION);
    fs::copy(old.join("anchor"), store.join("anchor")).unwrap();
    // What cutting the log gives, and its index.
    for entry in fs::read_dir(&generation).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with("snap.") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    fs::copy(old.join(GENERATION).join("db"), generation.join("db")).unwrap();
    let mut journal = fs::read(generation.join("journal")).unwrap();
    let mark = fs::read(old.join(GENERATION).join("journal")).unwrap()[32..56].to_vec();
    for slot in [0, 4_096] {
        journal[slot + 32..][..24].copy_from_slice(&mark);
        // No frontier.
        journal[slot + 56..][..32].fill(0);
        let checksum = crc32fast::hash(&journal[slot..][..4_092]);
        journal[slot + 4_092..][..4].copy_from_slice(&checksum.to_le_bytes());
    }
    fs::write(generation.join("journal"), journal).unwrap();

    let opened = Vault::open(&store).unwrap().unlock(&passphrase());
    let Err(StoreError::Damaged(what)) = opened else { panic!("{:?}", opened.err()) };
    assert_eq!(what, "a slot of the journal was written without the keys of the store");
    // The records are still found, without the journal's word for anything.
    let mut found = Vec::new();
    let save = |path: &str, text: &str| {
        found.push((path.to_owned(), text.to_owned()));
        Ok::<_, StoreError>(())
    };
    Vault::open(&store).unwrap().salvage(&passphrase(), save).unwrap();
    assert_eq!(found, [("/memories/policy.md".to_owned(), "old".to_owned())]);
}
