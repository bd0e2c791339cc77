//! Stores, states and places in memory, which fail where a schedule says so.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

use inmost_format::secret::Wiped;

use crate::chains::Dot;
use crate::error::SyncError;
use crate::names::folders;
use crate::place::Place;
use crate::pool::text;
use crate::rules::{Rule, holds};
use crate::state_file::StateStore;
use crate::store::{Entry, Refused, Store};
use crate::tree::Text;

/// Burns down with every step that changes something; at 0 the device crashes before or after that step.
#[derive(Clone, Default)]
pub(super) struct Fuse(Rc<Cell<Option<(u32, bool)>>>);

impl Fuse {
    pub(super) fn set(&self, steps: Option<(u32, bool)>) {
        self.0.set(steps);
    }

    /// Runs a step, unless the crash comes before it.
    fn step<T>(&self, step: impl FnOnce() -> T) -> Result<T, SyncError> {
        match self.0.get() {
            Some((0, is_after)) => {
                if is_after {
                    let _ = step();
                }
                Err(crashed())
            }
            Some((left, is_after)) => {
                self.0.set(Some((left - 1, is_after)));
                Ok(step())
            }
            None => Ok(step()),
        }
    }
}

fn crashed() -> SyncError {
    SyncError::PlaceUnavailable(io::Error::other("crashed"))
}

#[derive(Clone, Default)]
pub(super) struct MemoryState(pub(super) Fuse, RefCell<Option<Vec<u8>>>);

impl MemoryState {
    pub(super) fn set(&self, bytes: &[u8]) {
        *self.1.borrow_mut() = Some(bytes.to_vec());
    }

    pub(super) fn get(&self) -> Vec<u8> {
        self.1.borrow().clone().unwrap()
    }

    pub(super) fn with(fuse: Fuse) -> Self {
        Self(fuse, RefCell::default())
    }
}

impl StateStore for MemoryState {
    fn load(&self) -> Result<Option<Wiped<Vec<u8>>>, SyncError> {
        Ok(self.1.borrow().clone().map(Wiped::new))
    }

    fn save(&self, state: Wiped<Vec<u8>>) -> Result<(), SyncError> {
        self.0.step(|| self.set(state.as_slice()))
    }
}

/// A store: path, text and version by number.
#[derive(Clone, Default)]
pub(super) struct ModelStore {
    pub(super) fuse: Fuse,
    pub(super) files: RefCell<BTreeMap<u64, (String, String, u64)>>,
    pub(super) commits: Cell<u64>,
    /// When files were made that a round has made, by number.
    pub(super) created: RefCell<BTreeMap<u64, u64>>,
    /// The most bytes of a text, if the store is small. It takes no long path then either.
    pub(super) most: Cell<Option<usize>>,
    pub(super) is_full: Cell<bool>,
    /// The versions and texts of files by number, as far as a round has seen them.
    pub(super) past: RefCell<BTreeMap<u64, Vec<(u64, String)>>>,
    /// What was forgotten and not taken over.
    pub(super) forgets: RefCell<BTreeMap<u64, u64>>,
    /// After so many steps, somebody appends a line to the file that is to be changed next, or makes it.
    pub(super) meddler: Rc<RefCell<Option<(u32, String)>>>,
}

impl ModelStore {
    /// Somebody else changes a file, if it is time.
    fn meddle(&self, path: &str) {
        let mut meddler = self.meddler.borrow_mut();
        match meddler.as_mut() {
            Some((0, _)) => {}
            Some((left, _)) => {
                *left -= 1;
                return;
            }
            None => return,
        }
        let number = self.number_of(path);
        if number.is_none() && !self.is_free(path, &BTreeSet::new()) {
            return;
        }
        let Some((_, line)) = meddler.take() else { return };
        let version = self.next();
        let mut files = self.files.borrow_mut();
        let file = files.entry(number.unwrap_or(version)).or_default();
        let text = format!("{}{line}\n", file.1);
        *file = (path.to_owned(), text, version);
    }

    /// Forgets a file up to a version. The current text stays.
    pub(super) fn forget_file(&self, number: u64, until: u64) {
        let current = self.files.borrow().get(&number).map(|file| file.2);
        if let Some(past) = self.past.borrow_mut().get_mut(&number) {
            past.retain(|(version, _)| *version > until || Some(*version) == current);
        }
    }

    fn remember(&self) {
        for (number, (_, text, version)) in &*self.files.borrow() {
            let mut past = self.past.borrow_mut();
            let past = past.entry(*number).or_default();
            if past.last().is_none_or(|(last, _)| last != version) {
                past.push((*version, text.clone()));
            }
        }
    }

    pub(super) fn next(&self) -> u64 {
        self.commits.set(self.commits.get() + 1);
        self.commits.get()
    }

    pub(super) fn number_of(&self, path: &str) -> Option<u64> {
        let files = self.files.borrow();
        files.iter().find(|(_, (at, ..))| at == path).map(|(number, _)| *number)
    }

    /// Whether a file could be made here or moved here, if those were not there.
    pub(super) fn is_free(&self, path: &str, but: &BTreeSet<u64>) -> bool {
        let files = self.files.borrow();
        let mut others = files.iter().filter(|(number, _)| !but.contains(number));
        !others.any(|(_, (at, ..))| {
            at == path
                || folders(path).any(|folder| folder == at)
                || folders(at).any(|folder| folder == path)
        })
    }

    fn at_version(&self, path: &str, version: u64) -> Result<u64, Refused> {
        let number = self.number_of(path).ok_or(Refused::Changed)?;
        let is_it = self.files.borrow()[&number].2 == version || !holds(Rule::Preconditions);
        if is_it { Ok(number) } else { Err(Refused::Changed) }
    }

    /// Whether the store takes a file.
    fn admit(&self, path: &str, text: &str) -> Result<(), Refused> {
        if self.is_full.get() {
            return Err(Refused::Failed(SyncError::StateUnavailable(
                io::ErrorKind::StorageFull.into(),
            )));
        }
        let is_held = self.most.get().is_some_and(|most| text.len() > most || path.len() > 5);
        if is_held { Err(Refused::Held) } else { Ok(()) }
    }

    fn step<T>(&self, step: impl FnOnce() -> T) -> Result<T, Refused> {
        self.fuse.step(step).map_err(Refused::Failed)
    }
}

impl ModelStore {
    /// Puts a text into the file of this number, or into a new one that says that it was made at this time.
    fn put(&self, path: &str, text: &str, to: Result<u64, u64>) -> Result<u64, Refused> {
        self.admit(path, text)?;
        self.step(|| {
            let version = self.next();
            if let Err(time) = to {
                self.created.borrow_mut().insert(version, time);
            }
            let number = to.unwrap_or(version);
            self.files.borrow_mut().insert(number, (path.to_owned(), text.to_owned(), version));
            version
        })
    }
}

impl Store for ModelStore {
    fn files(&self) -> Result<BTreeMap<u64, Entry>, SyncError> {
        self.remember();
        let (files, created) = (self.files.borrow(), self.created.borrow());
        let entry = |(number, (path, _, version)): (&u64, &(String, String, u64))| {
            let created = created.get(number).copied().unwrap_or(u64::MAX);
            (*number, Entry { path: path.clone(), version: *version, created })
        };
        Ok(files.iter().map(entry).collect())
    }

    fn read(&self, path: &str) -> Result<Option<Text>, SyncError> {
        let number = self.number_of(path);
        Ok(number.map(|number| text(&self.files.borrow()[&number].1)))
    }

    fn write(&self, path: &str, text: &str, version: u64) -> Result<u64, Refused> {
        self.meddle(path);
        let number = self.at_version(path, version)?;
        self.put(path, text, Ok(number))
    }

    fn create(
        &self,
        files: &[(&str, &str)],
        time: u64,
    ) -> Result<Vec<Result<u64, Refused>>, SyncError> {
        let mut created = Vec::new();
        for (path, text) in files {
            self.meddle(path);
            let is_free = self.is_free(path, &BTreeSet::new());
            match if is_free { self.put(path, text, Err(time)) } else { Err(Refused::Changed) } {
                Err(Refused::Failed(error)) => return Err(error),
                result => created.push(result),
            }
        }
        Ok(created)
    }

    fn rename(&self, old: &str, new: &str, version: u64) -> Result<u64, Refused> {
        self.meddle(old);
        let number = self.at_version(old, version)?;
        if !self.is_free(new, &BTreeSet::from([number])) {
            return Err(Refused::Changed);
        }
        self.admit(new, "")?;
        self.step(|| {
            let version = self.next();
            if let Some(file) = self.files.borrow_mut().get_mut(&number) {
                (file.0, file.2) = (new.to_owned(), version);
            }
            version
        })
    }

    fn remove(&self, path: &str, version: u64) -> Result<(), Refused> {
        self.meddle(path);
        let number = self.at_version(path, version)?;
        self.step(|| {
            self.next();
            self.files.borrow_mut().remove(&number);
        })
    }

    fn commit(&self) -> Result<u64, SyncError> {
        Ok(self.commits.get())
    }

    fn noted_forgets(&self) -> Result<BTreeMap<u64, u64>, SyncError> {
        Ok(self.forgets.borrow().clone())
    }

    fn drop_noted(&self, _: &BTreeMap<u64, u64>) -> Result<(), SyncError> {
        self.fuse.step(|| self.forgets.borrow_mut().clear())
    }

    fn forget(&self, numbers: &BTreeSet<u64>, until: u64) -> Result<(), SyncError> {
        self.fuse.step(|| numbers.iter().for_each(|number| self.forget_file(*number, until)))
    }
}

/// What each device sees of the objects that were put.
#[derive(Clone, Default)]
pub(super) struct MemoryPlace(pub(super) Rc<RefCell<Objects>>);

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own")]
pub(super) struct Objects {
    pub(super) truth: BTreeMap<Dot, Vec<u8>>,
    /// Bytes by viewer.
    pub(super) views: BTreeMap<usize, BTreeMap<Dot, Vec<u8>>>,
    pub(super) is_delayed: bool,
    /// Objects at which the place fails.
    pub(super) unreadable: BTreeSet<Dot>,
    /// Objects that were removed.
    pub(super) collected: BTreeSet<Dot>,
    pub(super) is_full: bool,
    pub(super) is_absent: bool,
    /// Whether what it has under a name may be anything.
    pub(super) is_hostile: bool,
    /// How often an object was read.
    pub(super) gets: usize,
}

/// A place as one device sees it.
pub(super) struct View {
    place: MemoryPlace,
    device: usize,
    fuse: Fuse,
}

impl MemoryPlace {
    pub(super) fn of(&self, device: usize) -> View {
        self.seen_by(device, Fuse::default())
    }

    pub(super) fn seen_by(&self, device: usize, fuse: Fuse) -> View {
        View { place: self.clone(), device, fuse }
    }

    pub(super) fn settle(&self) {
        let mut objects = self.0.borrow_mut();
        let truth = objects.truth.clone();
        objects.views.values_mut().for_each(|view| view.clone_from(&truth));
    }
}

impl Place for View {
    fn list(&self) -> io::Result<BTreeSet<Dot>> {
        let mut objects = self.place.0.borrow_mut();
        if objects.is_absent {
            return Err(io::ErrorKind::NotFound.into());
        }
        if !objects.is_delayed {
            return Ok(objects.truth.keys().copied().collect());
        }
        Ok(objects.views.entry(self.device).or_default().keys().copied().collect())
    }

    fn get(&self, dot: &Dot) -> io::Result<Option<Vec<u8>>> {
        let mut objects = self.place.0.borrow_mut();
        objects.gets += 1;
        if objects.unreadable.contains(dot) {
            return Err(io::Error::other("unreadable"));
        }
        let view = objects.views.get(&self.device).filter(|_| objects.is_delayed);
        Ok(view.unwrap_or(&objects.truth).get(dot).cloned())
    }

    fn put(&self, dot: &Dot, bytes: &[u8]) -> io::Result<()> {
        if self.place.0.borrow().is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let put = || {
            let mut objects = self.place.0.borrow_mut();
            let known = objects.truth.insert(*dot, bytes.to_vec());
            let is_same = known.is_none_or(|known| objects.is_hostile || bytes.starts_with(&known));
            assert!(is_same, "other bytes under one name");
            objects.views.entry(self.device).or_default().insert(*dot, bytes.to_vec());
        };
        self.fuse.step(put).map_err(|_| io::Error::other("crashed"))
    }

    fn remove(&self, dot: &Dot) -> io::Result<()> {
        let remove = || {
            let mut objects = self.place.0.borrow_mut();
            objects.truth.remove(dot);
            objects.collected.insert(*dot);
            objects.views.entry(self.device).or_default().remove(dot);
        };
        self.fuse.step(remove).map_err(|_| io::Error::other("crashed"))
    }
}
