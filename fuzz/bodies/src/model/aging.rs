//! What time and room do to the naive history: which entries count, and what may be gone.
//!
//! The rules are those of docs/FORMAT.md ("Trimming") and docs/OPERATIONS.md ("Versions"). They say what may be dropped,
//! and in which order, but not how soon. So the naive history notes what may be gone, and learns from the store what is.

use std::collections::BTreeMap;

use super::past::{Change, Past, Took};

/// The clock, and the settings of a history.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// The time, in milliseconds since 1970.
    pub(crate) now: u64,
    /// How long a text is kept after the change that ended it, in milliseconds. 0 if no versions are kept.
    pub(crate) keep: u64,
    /// The most bytes of earlier texts.
    pub(crate) room: u64,
    /// The time that the history has seen pass.
    pub(crate) witness: Witness,
    /// Whether entries whose time is over count too.
    pub(crate) shows_all: bool,
    /// The entries up to this number may have lost what they held, because there was no room at some commit.
    pub(crate) may_drop: u64,
}

impl Limits {
    pub(crate) fn new(now: u64) -> Self {
        let witness = Witness::default();
        Self { now, keep: 0, room: ROOM, witness, shows_all: false, may_drop: 0 }
    }
}

/// Sees time pass by the clocks of the changes, as docs/FORMAT.md says under "Age".
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    age: u64,
    /// The latest time of the clock that is believed.
    believed: Option<u64>,
    /// The time of age 0 by the clock that was believed before.
    former: Option<u64>,
    doubted: Option<Doubted>,
}

/// A clock that went back or far ahead.
#[derive(Clone, Debug)]
struct Doubted {
    is_ahead: bool,
    first: u64,
    last: u64,
    went_on: u64,
}

impl Witness {
    /// Sees a change. Returns the age.
    pub(crate) fn see(&mut self, now: u64, keep: u64) -> u64 {
        let (now, step) = (now.max(1), step(keep));
        let Some(believed) = self.believed else {
            self.believed = Some(now);
            return self.age;
        };
        if believed <= now && now - believed <= step {
            self.age += now - believed;
            (self.believed, self.doubted) = (Some(now), None);
            return self.age;
        }
        let is_ahead = now > believed;
        let doubted = match self.doubted.take() {
            Some(doubted) if doubted.is_ahead == is_ahead && doubted.first <= now => doubted,
            _ => Doubted { is_ahead, first: now, last: now, went_on: 0 },
        };
        let (went_on, last) = (now.saturating_sub(doubted.last).min(step), doubted.last);
        let went_on = doubted.went_on.saturating_add(went_on);
        if went_on < step.saturating_mul(4) {
            self.doubted = Some(Doubted { went_on, last: last.max(now), ..doubted });
            return self.age;
        }
        let born = believed.saturating_sub(self.age);
        // Of a clock that is ahead, all that it shows: what nobody changed in, and once only.
        if is_ahead {
            let by_former = self.former.map_or(u64::MAX, |former| last.saturating_sub(former));
            self.age += (last - believed).min(by_former.saturating_sub(self.age));
        }
        (self.believed, self.former) = (Some(last), Some(born).filter(|born| *born > 0));
        self.see(now, keep)
    }
}

fn step(keep: u64) -> u64 {
    (keep / 8).max(1)
}

impl Past {
    /// The settings were changed. Entries whose time was over may have gone in the same commit.
    pub(crate) fn set(&mut self, keep: u64, room: u64) {
        self.mark_expired();
        if keep == 0 {
            self.end();
        }
        (self.limits.keep, self.limits.room, self.keeps) = (keep, room, keep > 0);
    }

    /// The history is dropped. The next one has seen nothing.
    pub(crate) fn end(&mut self) {
        self.changes.clear();
        self.limits.witness = Witness::default();
    }

    /// Whether an entry counts: the history has not seen more than the set time and a step pass since.
    pub(crate) fn is_listed(&self, change: &Change) -> bool {
        let Limits { now, keep, shows_all, .. } = self.limits;
        let age = self.limits.witness.clone().see(now, keep);
        shows_all || change.age.saturating_add(keep).saturating_add(step(keep)) >= age
    }

    /// The entries that count, the oldest first.
    pub(crate) fn listed(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.changes.iter().filter(|change| self.is_listed(change))
    }

    /// A commit may remove the first entries, if they are expired.
    pub(crate) fn mark_expired(&mut self) {
        let is_over = |change: &&Change| !self.is_listed(change);
        let count = self.changes.iter().take_while(is_over).count();
        self.changes.iter_mut().take(count).for_each(|change| change.may_go = true);
    }

    /// Whether the first entry is expired, so that further commits remove it.
    pub(crate) fn has_expired(&self) -> bool {
        self.changes.first().is_some_and(|first| !self.is_listed(first))
    }

    /// The most bytes that each entry holds.
    pub(crate) fn holdings(&self) -> BTreeMap<usize, u64> {
        self.changes.iter().map(|change| (change.id, change.held.1)).collect()
    }

    /// A commit may drop what the first entries hold, while all of them hold more than the room. `before` is what was held
    /// before the commits of this step.
    pub(crate) fn mark_room(&mut self, before: &BTreeMap<usize, u64>) {
        let mut held = self.holdings();
        for (id, bytes) in before {
            let held = held.entry(*id).or_default();
            *held = (*held).max(*bytes);
        }
        let mut sum = 0_u64;
        // What the entries from this one on hold does not fit, so this one and those before it may lose what they hold.
        let is_over = |(_, bytes): &(&usize, &u64)| {
            sum = sum.saturating_add(**bytes);
            sum > self.limits.room
        };
        let found = held.iter().rev().find(is_over).map(|(id, _)| *id);
        if let Some(number) = found.and_then(|id| self.numbers.get(&id)) {
            self.limits.may_drop = self.limits.may_drop.max(*number);
        }
    }

    /// The entries up to this number hold nothing any more.
    pub(crate) fn drop_up_to(&mut self, number: u64) {
        let dropped = |change: &&mut Change| self.numbers[&change.id] <= number;
        for change in self.changes.iter_mut().filter(dropped) {
            if matches!(change.took, Took::File(_) | Took::Folder(_)) {
                change.took = Took::Nothing;
            }
            (change.held, change.unsure) = ((0, 0), false);
        }
    }

    /// The least and the most bytes that the entries hold.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let sure = self.changes.iter().filter(|change| !change.unsure);
        let least = sure.map(|change| change.held.0).sum();
        (least, self.changes.iter().map(|change| change.held.1).sum())
    }

    /// The number of a version whose text is the one that an entry holds, if there is one that may be shown.
    pub(crate) fn shows(&self, holder: &Change) -> Option<u64> {
        let is_shown = |number: &u64| self.listed().any(|change| self.number(change) == *number);
        match &holder.took {
            Took::File(_) => holder.previous,
            Took::Folder(took) => {
                let sure = took.values().filter(|ident| !ident.maybe);
                sure.filter_map(|ident| self.last_number(ident)).find(is_shown)
            }
            _ => None,
        }
    }
}

impl Change {
    /// Counts what is left of a folder, unless it was dropped because there was no room.
    pub(super) fn count_folder(&mut self) {
        if self.held != (0, 0) {
            self.held = held(&self.took);
        }
    }
}

/// The least and the most bytes that count for what a change took out of use. An old head counts less than its text if it
/// shares records with the new one: at most 4,096 for itself and for each record that it does not share.
pub(super) fn held(took: &Took) -> (u64, u64) {
    let size = |bytes: usize| u64::try_from(bytes).unwrap();
    match took {
        Took::File(text) => (size(text.text.len()).min(4_096), size(text.text.len())),
        Took::Folder(took) => {
            let sum = |most: bool| {
                let counted = took.values().filter(|ident| most || !ident.maybe);
                size(counted.map(|ident| ident.text.text.len()).sum())
            };
            (sum(false), sum(true))
        }
        Took::Nothing | Took::Back(_) => (0, 0),
    }
}

/// The room of a history unless it is set.
pub(crate) const ROOM: u64 = 256 << 20;
