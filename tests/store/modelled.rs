//! Paths of the model of freshness (docs/PROOFS.md), as operations on real stores: each unlock must find what the model says.
//!
//! Each seed is one path. `INMOST_SEEDS=0..2000 cargo test --test store modelled` runs the long form.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inmost::{
    AnchorStatus, FileAnchor, FileError, NewSlot, Passphrase, Session, StoreError, VaultOptions,
};
use inmost_testing::{CHEAP, Random, seeds};

use super::freshness::{STRIDE, cut_the_journal, runs_in_a_child};
use super::golden;
use super::spliced::GENERATION;
#[allow(
    clippy::struct_excessive_bools,
    clippy::trivially_copy_pass_by_ref,
    reason = "a model has flags, and borrows like the store"
)]
#[path = "../model/src/freshness.rs"]
mod freshness;
use freshness::{Action, Bounds, External, Files, Freshness, Id, Outcome, State};

const BOUNDS: Bounds = Bounds {
    roots: 9,
    sessions: 7,
    headers: 3,
    attacks: 2,
    power_cuts: 1,
    sync_every: 64,
    external: External::Sometimes,
    single_slots: true,
    // They happen in the background, or at a lock.
    checkpoints: false,
};
const STEPS: usize = 14;

/// A store, and copies of it from each moment.
struct Store {
    place: tempfile::TempDir,
    folder: PathBuf,
    session: Option<Session>,
    copies: Vec<(Files, PathBuf)>,
    folders: usize,
}

fn secret(header: Id) -> Passphrase {
    Passphrase::new(&format!("the passphrase of header {header}")).unwrap()
}

impl Store {
    fn create(state: &State) -> Self {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("store");
        let mut store = Self { place, folder, session: None, copies: Vec::new(), folders: 0 };
        store.session = Some(store.options(true).create(&store.folder, &secret(0)).unwrap());
        store.keep(state);
        store
    }

    fn options(&self, has_external: bool) -> VaultOptions {
        let options = VaultOptions::new().kdf_cost(CHEAP);
        let anchor = Arc::new(FileAnchor::new(self.external()));
        if has_external { options.freshness_anchor(anchor) } else { options }
    }

    fn external(&self) -> PathBuf {
        self.place.path().join("external")
    }

    fn new_folder(&mut self) -> PathBuf {
        self.folders += 1;
        self.place.path().join(format!("folder-{}", self.folders))
    }

    /// Takes a copy of this moment.
    fn keep(&mut self, state: &State) {
        let copy = self.new_folder();
        golden::copy(&self.folder, &copy);
        self.copies.push((state.files.clone(), copy));
    }

    /// The newest copy of which this is true.
    fn copy_of(&self, is_it: impl Fn(&Files) -> bool) -> &Path {
        &self.copies.iter().rev().find(|(files, _)| is_it(files)).unwrap().1
    }

    /// Leaves the files as they are, as a killed process does.
    fn kill(&mut self) {
        let folder = self.new_folder();
        golden::copy(&self.folder, &folder);
        self.folder = folder;
        let external = fs::read(self.external()).unwrap();
        if let Some(session) = self.session.take() {
            session.lock();
        }
        fs::write(self.external(), external).unwrap();
    }

    fn write(&self, text: usize) {
        let session = self.session.as_ref().unwrap();
        session.files().write("/memories/a", &text.to_string()).unwrap();
    }

    fn step(&mut self, before: &State, action: &Action, after: &State) -> Result<(), String> {
        match action {
            Action::Commit => self.write(before.roots.len()),
            Action::DieInCommit => {
                let kept = [self.folder.join("anchor"), self.external()]
                    .map(|path| fs::read(path).unwrap());
                self.write(before.roots.len());
                self.kill();
                let paths = [self.folder.join("anchor"), self.external()];
                paths.iter().zip(kept).for_each(|(path, kept)| fs::write(path, kept).unwrap());
            }
            Action::ChangeHeader => {
                let passphrase = secret(u8::try_from(before.headers.len()).unwrap());
                let slot = NewSlot::new(&passphrase).kdf_cost(CHEAP);
                self.session.as_ref().unwrap().replace_slot(0, &slot).unwrap();
            }
            Action::Lock => self.session.take().unwrap().lock(),
            Action::Kill => self.kill(),
            Action::PowerCut { anchor, loses_entry } => {
                self.kill();
                let copy = self.copy_of(|files| files.anchor == *anchor).join("anchor");
                fs::copy(copy, self.folder.join("anchor")).unwrap();
                if *loses_entry {
                    cut_the_journal(&self.folder);
                }
            }
            Action::Unlock { header, has_external, accepts } => {
                return self.unlock(after, *header, *has_external, *accepts);
            }
            Action::Attack { files, header, has_external, accepts } => {
                self.splice(files);
                return self.unlock(after, *header, *has_external, *accepts);
            }
            Action::DieInHeader { .. } | Action::Checkpoint | Action::EndCheckpoint => {
                unreachable!()
            }
        }
        Ok(())
    }

    /// Makes these files from copies.
    fn splice(&mut self, files: &Files) {
        let folder = self.new_folder();
        golden::copy(self.copy_of(|copy| copy.engine == files.engine), &folder);
        for name in ["header.a", "header.b"] {
            let copy = self.copy_of(|copy| copy.headers == files.headers);
            fs::copy(copy.join(name), folder.join(name)).unwrap();
        }
        let mut anchor = fs::read(folder.join("anchor")).unwrap();
        for place in 0..2 {
            let of_slot = |copy: &Files| copy.anchor[place] == files.anchor[place];
            let slot = place * STRIDE..(place + 1) * STRIDE;
            match files.anchor[place] {
                Some(_) => {
                    let copy = fs::read(self.copy_of(of_slot).join("anchor")).unwrap();
                    anchor[slot.clone()].copy_from_slice(&copy[slot]);
                }
                None => anchor[slot].fill(0),
            }
        }
        fs::write(folder.join("anchor"), anchor).unwrap();
        let shorter = |copy: &Files| {
            copy.journal.with_fewer_entries().iter().position(|it| *it == files.journal)
        };
        let whole = self.copies.iter().rev().find_map(|(copy, path)| Some((path, shorter(copy)?)));
        let (copy, fewer) = whole.unwrap();
        let journal = Path::new(GENERATION).join("journal");
        fs::copy(copy.join(&journal), folder.join(&journal)).unwrap();
        for _ in 0..fewer {
            cut_the_journal(&folder);
        }
        self.folder = folder;
    }

    /// Unlocks the store, and compares what that finds with the model.
    fn unlock(
        &mut self,
        state: &State,
        header: Id,
        has_external: bool,
        accepts: bool,
    ) -> Result<(), String> {
        let mut vault =
            self.options(has_external).open(&self.folder).map_err(|error| error.to_string())?;
        let unlocked = if accepts {
            vault.unlock_accepting_rollback(&secret(header))
        } else {
            vault.unlock(&secret(header))
        };
        let expected = state.outcome.unwrap();
        let is_same = match (&unlocked, expected) {
            (Err(StoreError::Damaged(_)), Outcome::Damaged)
            | (Err(StoreError::RolledBack { .. }), Outcome::RolledBack)
            | (Err(StoreError::HeaderRolledBack { .. }), Outcome::HeaderRolledBack)
            | (Err(StoreError::RecordsBehindHeader { .. }), Outcome::RecordsBehindHeader) => true,
            (Ok(session), Outcome::Opened { root, freshness, is_mixed }) => {
                let expected = match freshness {
                    Freshness::Known => AnchorStatus::Known,
                    Freshness::Unknown => AnchorStatus::Unknown,
                    Freshness::WasMissing => AnchorStatus::WasMissing,
                };
                let status = session.status().unwrap();
                let text = match session.files().read("/memories/a") {
                    Ok(text) => Some(text.as_str().to_owned()),
                    Err(FileError::NotFound) => Some("0".to_owned()),
                    // What a mixture lacks is an error.
                    Err(_) => None,
                };
                let made = state.roots[usize::from(root)].text.to_string();
                let has_text = text.as_ref().map_or(is_mixed, |text| *text == made);
                status.anchor == expected && has_text
            }
            _ => false,
        };
        if !is_same {
            let found = unlocked.map(|session| {
                (
                    session.status().unwrap().anchor,
                    session.files().read("/memories/a").map(|text| text.as_str().to_owned()),
                )
            });
            return Err(format!("found {found:?}, and the model {expected:?}"));
        }
        self.session = unlocked.ok();
        Ok(())
    }
}

/// One of the actions, each kind as often as any other.
fn choose(store: &Store, state: &State, random: &mut Random) -> Option<Action> {
    let mut actions = state.actions(&BOUNDS);
    actions.retain(|action| match action {
        Action::DieInHeader { .. } => false,
        // No copy was taken between the two commits of a new passphrase.
        Action::PowerCut { anchor, .. } => {
            store.copies.iter().any(|(files, _)| files.anchor == *anchor)
        }
        _ => true,
    });
    let mut kinds: Vec<_> = actions.iter().map(std::mem::discriminant).collect();
    kinds.dedup();
    if kinds.is_empty() {
        return None;
    }
    let kind = kinds[random.below(kinds.len())];
    actions.retain(|action| std::mem::discriminant(action) == kind);
    let opens = |action: &Action| {
        matches!(state.next(&BOUNDS, action).outcome, Some(Outcome::Opened { .. }))
    };
    // Most splices are refused.
    for _ in 0..TRIES {
        let action = &actions[random.below(actions.len())];
        if !matches!(action, Action::Attack { .. }) || opens(action) {
            return Some(action.clone());
        }
    }
    Some(actions[random.below(actions.len())].clone())
}

const TRIES: usize = 10;

#[test]
fn unlocks_find_what_the_model_says() {
    if runs_in_a_child("modelled::unlocks_find_what_the_model_says") {
        return;
    }
    let mut unlocks = 0;
    for seed in seeds(0..15) {
        let mut random = Random(seed);
        let mut state = State::new(&BOUNDS);
        let mut store = Store::create(&state);
        let mut path = Vec::new();
        for _ in 0..STEPS {
            let Some(action) = choose(&store, &state, &mut random) else { break };
            let next = state.next(&BOUNDS, &action);
            path.push(action.clone());
            let stepped = store.step(&state, &action, &next);
            assert!(stepped.is_ok(), "seed {seed}: {stepped:?}\n{path:#?}\n{next:#?}");
            unlocks += usize::from(next.outcome.is_some());
            state = next;
            store.keep(&state);
        }
        if let Some(session) = store.session.take() {
            session.lock();
        }
    }
    println!("{unlocks} unlocks");
}
