//! Forgetting: what is forgotten in the history of one store leaves the other stores, the states of the devices, and the place.
//!
//! A device that forgets notes for each file up to which states its base texts do not count any more, and publishes all that it knows
//! anew, as a snapshot. A device that reads it does the same. So the earlier objects of all devices can be removed.

use std::collections::{BTreeMap, BTreeSet};

use crate::chains::{Dot, Vector};
use crate::device::{Device, STEPS, Shown};
use crate::error::SyncError;
use crate::rules::{Rule, holds};
use crate::store::Store;
use crate::tree::FileId;

impl Device {
    /// The files that have these numbers in the store, or had them.
    pub(crate) fn numbered(&self) -> BTreeMap<u64, FileId> {
        let shown = self.shown.iter().map(|(id, shown)| (shown.number, *id));
        self.former.iter().map(|(number, id)| (*number, *id)).chain(shown).collect()
    }

    /// The files of which a text was forgotten that is a head, because only what was merged from it is shown.
    pub(crate) fn unsettled(&self, forgets: &BTreeMap<u64, u64>) -> BTreeSet<FileId> {
        let numbered = self.numbered();
        let files = forgets.keys().filter_map(|number| numbered.get(number)).copied();
        let is_merged = |id: &FileId| {
            let heads = self.heads.get(id).map_or(&[][..], |heads| &heads.texts);
            holds(Rule::SettleForgotten) && heads.len() > 1 && self.shown.contains_key(id)
        };
        files.filter(is_merged).collect()
    }

    /// Forgets the texts of files up to the changes that stand beside their numbers.
    pub(crate) fn forget(&mut self, forgets: &BTreeMap<u64, u64>) {
        if forgets.is_empty() {
            return;
        }
        let numbered = self.numbered();
        for (number, until) in forgets {
            let Some(id) = numbered.get(number) else { continue };
            let shown = self.shown.get(id).filter(|shown| shown.number == *number);
            let file = self.heads.entry(*id).or_default();
            let earlier = shown.and_then(|shown| shown.earlier(*until));
            let replaced: Vec<&Vector> = match earlier {
                Some(steps) => steps.iter().map(|(_, merged)| merged).collect(),
                // The text that is there now stays a base text.
                None if !file.texts.is_empty() => {
                    file.texts.iter().map(|head| &head.over).collect()
                }
                None => vec![&self.vector],
            };
            let replaced = self.chains.join(replaced);
            file.forgotten = self.chains.join([&file.forgotten, &replaced]);
            if holds(Rule::DropForgotten) {
                file.drop_forgotten(&self.chains);
            }
        }
        self.forgot = self.vector.clone();
        self.must_renew = true;
    }

    /// Forgets in the history of the store what other devices have forgotten. Returns the paths of the files that were changed meanwhile
    /// by a device that did not know of it, so that they may have it in their texts.
    pub(crate) fn forget_here(&mut self, store: &impl Store) -> Result<Vec<String>, SyncError> {
        let mut forgets: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let former = self.former.iter().filter(|(_, id)| self.remembered.contains(id));
        forgets.entry(u64::MAX).or_default().extend(former.map(|(number, _)| *number));
        let mut kept = Vec::new();
        for id in &self.remembered {
            let (Some(file), Some(shown)) = (self.heads.get(id), self.shown.get(id)) else {
                continue;
            };
            let is_forgotten =
                |step: &&(u64, Vector)| self.chains.is_within(&step.1, &file.forgotten);
            let last = shown.steps.iter().rev().find(is_forgotten).map_or(0, |step| step.0);
            let later = shown.steps.iter().find(|step| step.0 > last);
            let until = later.map_or(u64::MAX, |(version, _)| version.saturating_sub(1));
            forgets.entry(until).or_default().insert(shown.number);
            let mut heads = file.texts.iter();
            if heads.any(|head| !self.chains.is_within(&file.forgotten, &head.over)) {
                kept.push(shown.path.clone());
            }
        }
        for (until, numbers) in forgets {
            if !numbers.is_empty() {
                store.forget(&numbers, until)?;
            }
        }
        self.remembered.clear();
        Ok(kept)
    }

    /// The listed objects from before the last forgetting.
    pub(crate) fn unforgotten(&self, listed: &BTreeSet<Dot>) -> usize {
        listed.iter().filter(|dot| self.chains.covers(&self.forgot, dot)).count()
    }
}

impl Shown {
    /// The texts up to a change in the store. `None` if they are all but the one that is shown.
    fn earlier(&self, version: u64) -> Option<&[(u64, Vector)]> {
        let later = self.steps.iter().position(|(step, _)| *step > version)?;
        // What came before the first one that is known is forgotten with it.
        let is_unknown = later == 0 && self.steps.len() == STEPS;
        self.steps.get(..later.max(usize::from(is_unknown)))
    }
}
