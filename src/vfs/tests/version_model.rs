//! Random changes, restores, undos and rewrites against a naive history: a text is there unless its
//! entry was forgotten.

use std::collections::{BTreeSet, HashMap};

use super::versions::{assert_whole, change, keeps, log, newest};
use crate::session::Session;
use crate::session::tests::store::TestStore;
use crate::vfs::error::FileError;
use crate::vfs::{VersionKind, VersionQuery};
use inmost_format::record::plain::Random;

const FORGOTTEN: [&str; 4] = ["/memories/b", "/memories/b/d", "/memories/a.md", "/memories/r1.md"];

struct Model {
    store: TestStore,
    session: Session,
    /// The texts of all versions.
    texts: HashMap<u64, String>,
    /// Versions whose text may be gone.
    gone: BTreeSet<u64>,
}

impl Model {
    /// Adds the version that the last change made, if it is new.
    fn remember(&mut self) {
        let Some(version) = log(&self.session).into_iter().next() else { return };
        let Some(path) = version.path.filter(|_| version.file.is_some()) else { return };
        if version.kind != VersionKind::Deleted && !self.texts.contains_key(&version.number) {
            let text = self.session.files().read(path.as_str()).unwrap().into_string();
            self.texts.insert(version.number, text);
        }
    }

    fn step(&mut self, random: &mut Random, step: usize) {
        let all = log(&self.session);
        let picked = all.get(random.below(all.len().max(1))).map_or(0, |version| version.number);
        let history = self.session.history();
        let done = match random.below(18) {
            0..12 => {
                if change(&self.session, random, step) {
                    self.remember();
                }
                return;
            }
            12 | 13 => {
                let other = format!("/memories/r{}.md", random.below(3));
                history.restore(picked, (random.below(3) == 0).then_some(other.as_str()))
            }
            14 | 15 => {
                let until = (random.below(2) == 0).then_some(picked);
                let done = history.forget(FORGOTTEN[random.below(FORGOTTEN.len())], until, |_| {});
                let left: BTreeSet<u64> =
                    log(&self.session).iter().map(|version| version.number).collect();
                let gone = all.iter().map(|version| version.number);
                self.gone.extend(gone.filter(|number| !left.contains(number)));
                done
            }
            16 => {
                let since =
                    VersionQuery::all().file(all.first().and_then(|it| it.file).unwrap_or(1));
                let plan = history.plan_undo(&since).unwrap();
                let undone = history.undo(&plan, |_| {}).unwrap();
                match undone.first().map(|undone| format!("{undone:?}")) {
                    Some(done) if done.starts_with("Done") => Ok(newest(&self.session).number),
                    _ => Ok(0),
                }
            }
            _ => {
                self.session.compact().unwrap();
                self.session.lock();
                self.session = self.store.unlock().unwrap();
                return;
            }
        };
        match done {
            Ok(made) if log(&self.session).first().is_some_and(|it| it.number == made) => {
                self.remember();
            }
            Err(FileError::Store(error)) => panic!("{error}"),
            _ => {}
        }
    }

    fn check(&self, context: &str) {
        for (number, text) in &self.texts {
            match self.session.history().text(*number) {
                Ok(found) => assert_eq!(found.as_str(), text, "{context}: {number}"),
                Err(FileError::Store(error)) => panic!("{context}: {number}: {error}"),
                Err(error) => assert!(self.gone.contains(number), "{context}: {number}: {error}"),
            }
        }
    }
}

/// A store with a random history.
pub(super) fn random_store(random: &mut Random, steps: usize) -> TestStore {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let (texts, gone) = (HashMap::new(), BTreeSet::new());
    let mut model = Model { store, session, texts, gone };
    for step in 0..steps {
        model.step(random, step);
    }
    let Model { store, session, .. } = model;
    session.lock();
    store
}

#[test]
fn texts_are_there_until_they_are_forgotten() {
    for seed in 0..12 {
        let store = TestStore::create();
        let session = keeps(store.unlock().unwrap());
        let (texts, gone) = (HashMap::new(), BTreeSet::new());
        let mut model = Model { store, session, texts, gone };
        let mut random = Random(seed + 1_000);
        for step in 0..120 {
            let context = format!("seed {seed}, step {step}");
            model.step(&mut random, step);
            model.check(&context);
            if step % 10 == 9 {
                assert_whole(&model.session, &context);
            }
        }
        model.session.history().forget("/memories", None, |_| {}).unwrap();
        assert_whole(&model.session, "everything was forgotten");
        assert_eq!(model.session.history().status().unwrap().bytes, 0);
    }
}
