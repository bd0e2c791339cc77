//! The journal in front of an engine, as a model: what a commit, a checkpoint, a clean end and an opening write, one write or sync at a
//! time, and what kills, power cuts and failed syncs leave of it.
//!
//! It has the rules of docs/FORMAT.md and no code of the journal. Contents are the numbers of commits: a commit is right if it is on top
//! of the one that it followed. An explorer goes through all states of it (`main.rs`), and a test of the journal compares each write of
//! real commits with it. Not in it: frontiers, forged or copied files, and a full disk. Does no I/O.

use std::collections::BTreeSet;

/// The number of a commit, in the order of their writing. 0 is the state before all of them.
pub(crate) type Commit = u8;

/// Blocks of a half.
pub(crate) const HALF: usize = 4;
pub(crate) const BLOCKS: usize = 2 + 2 * HALF;

/// A rule that can be left out, to see that the model notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// An entry is written when the one before it is synced.
    OneAtATime,
    /// The last entry found is written again before it is shown.
    WriteAgain,
    /// The slot found is written again before another one is.
    Settle,
    /// The engine is synced before a slot says what it has.
    SyncEngine,
    /// A half is used again when the slot is synced that says that the engine has it.
    SyncSlot,
    /// A slot is written to the place that does not have the newest durable one.
    OtherPlace,
    /// No entry is added to an epoch that the mark names.
    EndEpoch,
    /// Entries that the mark names are read if they are there: the mark may be of a sync that failed.
    SlotFirst,
}

pub(crate) const RULES: [Rule; 8] = [
    Rule::OneAtATime,
    Rule::WriteAgain,
    Rule::Settle,
    Rule::SyncEngine,
    Rule::SyncSlot,
    Rule::OtherPlace,
    Rule::EndEpoch,
    Rule::SlotFirst,
];

/// How far a model goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) commits: u8,
    /// The blocks that an entry may take.
    pub(crate) longest: u8,
    /// Processes that end without a clean end.
    pub(crate) ends: u8,
    /// Power cuts and failed syncs among them.
    pub(crate) faults: u8,
    /// Batches that go to the engine directly.
    pub(crate) bypasses: u8,
    pub(crate) without: Option<Rule>,
}

/// How far the engine is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Position {
    pub(crate) epoch: u8,
    pub(crate) number: u8,
    pub(crate) bypassed: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Block {
    Blank,
    /// One that was being written when the power was cut.
    Torn,
    Slot {
        stored: Position,
        revision: u8,
    },
    /// The first block of an entry, and the number of its blocks. If its end is torn, its number can still be read.
    First {
        at: Position,
        commit: Commit,
        blocks: u8,
        is_whole: bool,
    },
    /// A later block of an entry.
    Later {
        commit: Commit,
    },
}

pub(crate) type File = [Block; BLOCKS];

/// A file or an engine whose newest contents are in a cache.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Disk {
    pub(crate) cached: File,
    durable: File,
    /// What may be on the disk instead, because it was written and not synced.
    unsynced: BTreeSet<(usize, Block)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Records {
    pub(crate) mark: Position,
    pub(crate) commit: Commit,
    /// The last commit of which it has a part: of a checkpoint that is not at its end.
    part: Option<Commit>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Engine {
    pub(crate) cached: Records,
    durable: Records,
    is_unsynced: bool,
}

/// Where a checkpoint is, or a batch that bypasses the journal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Idle,
    /// Some batches are written.
    Begun,
    /// The last batch is written, with the mark.
    Marked,
    /// The engine is synced.
    Stored,
    /// The slot is written.
    Named,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Process {
    /// The epoch that entries are added to, and the last entry.
    position: Position,
    /// Blocks of its half that are in use.
    length: usize,
    /// What the engine has, as the last slot says.
    stored: Position,
    /// An ended epoch that the engine does not have yet: its last entry.
    frozen: Option<(Position, Commit)>,
    phase: Phase,
    /// The newest commit.
    commit: Commit,
    has_entries: bool,
    is_entry_unsynced: bool,
    next_place: usize,
    revision: u8,
    is_slot_unsynced: bool,
    is_slot_found: bool,
    /// The slot that was found is written again and not synced.
    is_settling: bool,
    is_closing: bool,
    /// The most blocks that each half has had since it was last overwritten, as far as the process has seen.
    used: [usize; 2],
    /// Halves that are overwritten.
    wiped: usize,
    is_ended: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) disk: Disk,
    pub(crate) engine: Engine,
    pub(crate) process: Option<Process>,
    /// For each commit the one before it.
    parents: Vec<Commit>,
    /// The newest commit that a caller knows of.
    pub(crate) acknowledged: Commit,
    ends: u8,
    faults: u8,
    bypasses: u8,
    pub(crate) violation: Option<&'static str>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    /// An entry of so many blocks is written.
    Write(u8),
    /// The file is synced for the entry.
    Sync,
    /// An epoch ends.
    Freeze,
    /// The slot that an opening has found is written again.
    Settle,
    /// A batch of a checkpoint, but not the last.
    Part,
    /// The last batch of a checkpoint.
    Mark,
    SyncEngine,
    WriteSlot,
    SyncSlot,
    /// A commit goes to the engine directly.
    Bypass,
    /// A clean end begins.
    Close,
    /// A half is overwritten.
    Wipe,
    /// The last slot is written to the other place too, and the process ends.
    End,
    Kill,
    /// A sync fails, or the system cannot write: what was written can be read, and no later sync writes it. The process ends.
    FailSync {
        is_engine: bool,
    },
    /// What is left on the disk of the file, and whether the engine has what was not synced.
    PowerCut {
        file: File,
        has_engine: bool,
    },
    Open,
    /// A process is killed after so many steps of an opening.
    DieOpening(u8),
}

/// What an opening finds.
struct Found {
    stored: Position,
    frozen: Option<(Position, Vec<Commit>)>,
    position: Position,
    length: usize,
    entries: Vec<Commit>,
    /// The blocks of the last entry.
    last: Option<(usize, usize)>,
    place: usize,
    revision: u8,
    slot: Position,
}

/// Entries of one epoch.
#[derive(Default)]
struct Epoch {
    commits: Vec<Commit>,
    length: usize,
    last: Option<(usize, usize)>,
}

fn half_of(epoch: u8) -> usize {
    2 + usize::from(epoch % 2) * HALF
}

/// The blocks of a half up to the last one that is not blank.
fn used(file: &File, half: usize) -> usize {
    let blocks = &file[2 + half * HALF..2 + (half + 1) * HALF];
    blocks.iter().rposition(|block| *block != Block::Blank).map_or(0, |last| last + 1)
}

impl Disk {
    fn write(&mut self, at: usize, block: Block) {
        self.cached[at] = block;
        self.unsynced.insert((at, block));
    }

    fn sync(&mut self) {
        for (at, _) in std::mem::take(&mut self.unsynced) {
            self.durable[at] = self.cached[at];
        }
    }

    /// What a power cut may leave.
    pub(crate) fn cuts(&self) -> BTreeSet<File> {
        let mut cuts = BTreeSet::from([self.durable]);
        // The same bytes cannot be torn.
        for (at, block) in self.unsynced.iter().filter(|(at, block)| self.durable[*at] != *block) {
            for file in cuts.clone() {
                let heads = [torn_head(*block), torn_head(self.durable[*at])];
                for left in [*block, Block::Torn].into_iter().chain(heads.into_iter().flatten()) {
                    let mut file = file;
                    file[*at] = left;
                    cuts.insert(file);
                }
            }
        }
        cuts
    }
}

fn torn_head(block: Block) -> Option<Block> {
    match block {
        Block::First { at, commit, blocks, .. } => {
            Some(Block::First { at, commit, blocks, is_whole: false })
        }
        _ => None,
    }
}

/// Reads the entries of one epoch behind a position. `None` if an acknowledged one is lost, or the engine is another one.
fn read_epoch(file: &File, before: Position, epoch: u8) -> Option<(Epoch, Position)> {
    let half = &file[half_of(epoch)..half_of(epoch) + HALF];
    let mut found = Epoch::default();
    let mut position = Position { epoch, ..before };
    while let Some(Block::First { at, commit, blocks, is_whole: true }) = half.get(found.length) {
        let end = found.length + usize::from(*blocks);
        let rest = half.get(found.length + 1..end);
        let is_next = at.epoch == epoch && at.number == position.number + 1;
        if !is_next
            || rest.is_none_or(|rest| {
                rest.iter().any(|later| *later != Block::Later { commit: *commit })
            })
        {
            break;
        }
        if at.bypassed != position.bypassed {
            return None;
        }
        found.commits.push(*commit);
        found.last = Some((half_of(epoch) + found.length, half_of(epoch) + end));
        found.length = end;
        position.number = at.number;
    }
    let is_lost = half.iter().enumerate().skip(found.length).any(|(block, first)| {
        matches!(first, Block::First { at, .. } if at.epoch == epoch
            && (block != found.length || at.number != position.number + 1))
    });
    (!is_lost).then_some((found, position))
}

/// The newest epoch that a half has anything of.
fn newest_in(file: &File, epoch: u8) -> u8 {
    let blocks = &file[half_of(epoch)..half_of(epoch) + HALF];
    let epochs = blocks.iter().map(|block| match block {
        Block::First { at, .. } => at.epoch,
        _ => 0,
    });
    epochs.max().unwrap_or_default()
}

type Replayed = (Option<(Position, Epoch)>, Position, Epoch);

/// Reads the entries behind a position: of an ended epoch, if the next one has begun, and of the one that entries are added to.
fn replay(file: &File, stored: Position) -> Option<Replayed> {
    let [first, second] = [stored.epoch + 1, stored.epoch + 2];
    if newest_in(file, first).max(newest_in(file, second)) > second {
        return None;
    }
    let (older, position) = read_epoch(file, stored, first)?;
    let has_begun = file[half_of(second)..half_of(second) + HALF]
        .iter()
        .any(|block| matches!(block, Block::First { at, .. } if at.epoch == second));
    if !has_begun {
        return Some((None, position, older));
    }
    let (active, newest) = read_epoch(file, position, second)?;
    Some((Some((position, older)), newest, active))
}

impl State {
    pub(crate) fn new() -> Self {
        let mut file = [Block::Blank; BLOCKS];
        file[..2].fill(Block::Slot { stored: Position::default(), revision: 0 });
        let process = Process {
            position: Position { epoch: 1, ..Position::default() },
            length: 0,
            stored: Position::default(),
            frozen: None,
            phase: Phase::Idle,
            commit: 0,
            has_entries: false,
            is_entry_unsynced: false,
            next_place: 1,
            revision: 0,
            is_slot_unsynced: false,
            is_slot_found: false,
            is_settling: false,
            is_closing: false,
            used: [0; 2],
            wiped: 0,
            is_ended: false,
        };
        Self {
            disk: Disk { cached: file, durable: file, unsynced: BTreeSet::new() },
            engine: Engine::default(),
            process: Some(process),
            parents: vec![0],
            acknowledged: 0,
            ends: 0,
            faults: 0,
            bypasses: 0,
            violation: None,
        }
    }

    /// The newest commit that was ever written.
    pub(crate) fn newest(&self) -> Commit {
        u8::try_from(self.parents.len() - 1).unwrap_or(u8::MAX)
    }

    /// What can happen next.
    pub(crate) fn actions(&self, bounds: &Bounds) -> Vec<Action> {
        let mut actions = Vec::new();
        let may_end = self.ends < bounds.ends;
        if let Some(process) = &self.process {
            actions.extend(self.work(process, bounds));
            if may_end {
                actions.push(Action::Kill);
            }
            // A batch that bypasses is in the engine only, which does not write it again.
            let is_stored_again = self.engine.is_unsynced && process.frozen.is_some();
            if may_end && self.faults < bounds.faults && is_stored_again {
                actions.push(Action::FailSync { is_engine: true });
            }
        } else {
            actions.push(Action::Open);
            if may_end {
                actions.extend((0..4).map(Action::DieOpening));
            }
        }
        // With a process that runs, and after one that was killed.
        if self.faults < bounds.faults && (may_end || self.process.is_none()) {
            if !self.disk.unsynced.is_empty() {
                actions.push(Action::FailSync { is_engine: false });
            }
            for file in self.disk.cuts() {
                let engines: &[bool] =
                    if self.engine.is_unsynced { &[false, true] } else { &[false] };
                let cut = |has_engine: &bool| Action::PowerCut { file, has_engine: *has_engine };
                actions.extend(engines.iter().map(cut));
            }
        }
        actions
    }

    /// What a process does next.
    fn work(&self, process: &Process, bounds: &Bounds) -> Vec<Action> {
        let holds = |rule| bounds.without != Some(rule);
        if process.is_settling {
            return vec![Action::SyncSlot];
        }
        let mut actions = Vec::new();
        let is_bypassing = process.frozen.is_none() && process.phase != Phase::Idle;
        if process.frozen.is_some() || is_bypassing {
            let is_due = process.is_slot_found && holds(Rule::Settle);
            actions.extend(match process.phase {
                Phase::Idle | Phase::Stored if is_due => vec![Action::Settle],
                Phase::Idle | Phase::Begun => vec![Action::Part, Action::Mark],
                Phase::Marked if holds(Rule::SyncEngine) => vec![Action::SyncEngine],
                Phase::Marked | Phase::Stored => vec![Action::WriteSlot],
                Phase::Named => vec![Action::SyncSlot],
            });
        }
        if is_bypassing {
            return actions;
        }
        if process.is_entry_unsynced {
            actions.push(Action::Sync);
        }
        if process.is_closing && process.frozen.is_none() && !process.has_entries {
            let is_blank = process.used == [0; 2];
            let is_synced = !process.is_slot_unsynced;
            actions.push(match process.wiped {
                0 if is_blank && is_synced => Action::End,
                0 | 1 => Action::Wipe,
                _ if process.is_ended => Action::End,
                _ => Action::SyncSlot,
            });
        }
        let is_free = !process.is_entry_unsynced || !holds(Rule::OneAtATime);
        if is_free && !process.is_closing {
            let may_commit = self.parents.len() <= usize::from(bounds.commits);
            let room = HALF.saturating_sub(process.length);
            let fits = |blocks: &u8| usize::from(*blocks) <= room;
            let is_drained = process.frozen.is_none() && !process.has_entries;
            if may_commit {
                actions.extend((1..=bounds.longest).filter(fits).map(Action::Write));
            }
            if may_commit && is_drained && self.bypasses < bounds.bypasses {
                actions.push(Action::Bypass);
            }
            if process.frozen.is_none() && !process.is_entry_unsynced {
                actions.push(Action::Close);
            }
        }
        if process.frozen.is_none() && process.has_entries && !process.is_entry_unsynced {
            actions.push(Action::Freeze);
        }
        actions
    }

    /// The state after an action.
    pub(crate) fn next(&self, bounds: &Bounds, action: &Action) -> Self {
        let mut next = self.clone();
        next.act(bounds, action);
        next
    }

    fn act(&mut self, bounds: &Bounds, action: &Action) {
        let holds = |rule| bounds.without != Some(rule);
        match action {
            Action::Open => return self.open(bounds, u8::MAX),
            Action::DieOpening(steps) => {
                self.ends += 1;
                self.open(bounds, *steps);
                self.process = None;
                return;
            }
            Action::FailSync { is_engine } => {
                self.end_by_fault();
                if *is_engine {
                    self.engine.is_unsynced = false;
                } else {
                    self.disk.unsynced.clear();
                }
                return;
            }
            Action::PowerCut { file, has_engine } => {
                self.end_by_fault();
                (self.disk.cached, self.disk.durable) = (*file, *file);
                self.disk.unsynced.clear();
                if *has_engine {
                    self.engine.durable = self.engine.cached;
                }
                self.engine.cached = self.engine.durable;
                self.engine.is_unsynced = false;
                return;
            }
            _ => {}
        }
        let Some(mut process) = self.process.take() else { return };
        match action {
            Action::Write(blocks) => {
                let commit = self.commit_on(process.commit);
                process.position.number += 1;
                let at = half_of(process.position.epoch) + process.length;
                let first =
                    Block::First { at: process.position, commit, blocks: *blocks, is_whole: true };
                self.disk.write(at, first);
                for later in 1..usize::from(*blocks) {
                    self.disk.write(at + later, Block::Later { commit });
                }
                process.length += usize::from(*blocks);
                let used = &mut process.used[usize::from(process.position.epoch % 2)];
                *used = process.length.max(*used);
                process.commit = commit;
                (process.is_entry_unsynced, process.has_entries) = (true, true);
            }
            Action::Sync => {
                self.disk.sync();
                process.is_entry_unsynced = false;
                self.acknowledged = process.commit;
            }
            Action::Freeze => {
                process.frozen = Some((process.position, process.commit));
                process.position.epoch += 1;
                (process.length, process.has_entries) = (0, false);
            }
            Action::Settle => {
                let place = 1 - process.next_place;
                self.disk.write(place, self.disk.cached[place]);
                process.is_settling = true;
            }
            Action::Part => {
                self.engine.cached.part = process.frozen.map(|(_, commit)| commit);
                self.engine.is_unsynced = true;
                process.phase = Phase::Begun;
            }
            Action::Mark => {
                if let Some((mark, commit)) = process.frozen {
                    self.engine.cached = Records { mark, commit, part: None };
                    self.engine.is_unsynced = true;
                }
                process.phase = Phase::Marked;
            }
            Action::SyncEngine => {
                self.sync_engine();
                process.phase = Phase::Stored;
                if process.frozen.is_none() {
                    self.acknowledged = process.commit;
                }
            }
            Action::WriteSlot => {
                let is_bypassing = process.frozen.is_none();
                if let Some((position, _)) = process.frozen {
                    process.stored = position;
                }
                self.write_slot(&mut process, holds(Rule::OtherPlace));
                process.phase = Phase::Named;
                if is_bypassing || process.is_closing || !holds(Rule::SyncSlot) {
                    (process.frozen, process.phase) = (None, Phase::Idle);
                }
            }
            Action::SyncSlot => {
                self.disk.sync();
                if std::mem::take(&mut process.is_settling) {
                    process.is_slot_found = false;
                } else {
                    if std::mem::take(&mut process.is_slot_unsynced) {
                        process.next_place = 1 - process.next_place;
                    }
                    if process.phase == Phase::Named {
                        (process.frozen, process.phase) = (None, Phase::Idle);
                    }
                    process.is_ended = process.wiped == 2;
                }
            }
            Action::Bypass => {
                self.bypasses += 1;
                let commit = self.commit_on(process.commit);
                process.commit = commit;
                process.stored.bypassed += 1;
                process.position.bypassed += 1;
                self.engine.cached = Records { mark: process.stored, commit, part: None };
                self.engine.is_unsynced = true;
                process.phase = Phase::Marked;
            }
            Action::Close => process.is_closing = true,
            Action::Wipe => {
                let half = 2 + process.wiped * HALF;
                let used = std::mem::take(&mut process.used[process.wiped]);
                (half..half + used).for_each(|at| self.disk.write(at, Block::Blank));
                process.wiped += 1;
            }
            Action::End => {
                if !process.is_slot_found && process.revision > 0 {
                    self.write_slot(&mut process, true);
                }
                return;
            }
            Action::Kill => {
                self.ends += 1;
                return;
            }
            Action::Open
            | Action::DieOpening(_)
            | Action::PowerCut { .. }
            | Action::FailSync { .. } => {}
        }
        self.process = Some(process);
    }

    /// The same state, of which a test does not count what has happened.
    pub(crate) fn uncounted(self) -> Self {
        Self { ends: 0, faults: 0, bypasses: 0, ..self }
    }

    fn end_by_fault(&mut self) {
        self.ends += u8::from(self.process.take().is_some());
        self.faults += 1;
    }

    fn commit_on(&mut self, parent: Commit) -> Commit {
        self.parents.push(parent);
        self.newest()
    }

    fn sync_engine(&mut self) {
        if std::mem::take(&mut self.engine.is_unsynced) {
            self.engine.durable = self.engine.cached;
        }
    }

    fn write_slot(&mut self, process: &mut Process, is_other: bool) {
        if process.is_slot_found {
            let place = 1 - process.next_place;
            self.disk.write(place, self.disk.cached[place]);
            self.disk.sync();
            process.is_slot_found = false;
        }
        process.revision += 1;
        let place = if is_other { process.next_place } else { 1 - process.next_place };
        let slot = Block::Slot { stored: process.stored, revision: process.revision };
        self.disk.write(place, slot);
        process.is_slot_unsynced = true;
    }

    /// What an opening reads, before it writes anything. `None` if it refuses the journal.
    fn read(&self, bounds: &Bounds) -> Option<Found> {
        let file = &self.disk.cached;
        let slots = file[..2].iter().enumerate().filter_map(|(place, block)| match block {
            Block::Slot { stored, revision } => Some((*revision, 1 - place, *stored)),
            _ => None,
        });
        let (revision, other, slot) =
            slots.max_by_key(|(revision, other, _)| (*revision, *other))?;
        let mark = self.engine.cached.mark;
        if mark.epoch < slot.epoch
            || mark.epoch > slot.epoch + 1
            || mark.bypassed < slot.bypassed
            || mark.epoch == slot.epoch && mark.number != slot.number
        {
            return None;
        }
        let stored = Position { bypassed: mark.bypassed, ..slot };
        let found = |stored: Position, (frozen, position, active): Replayed| {
            let last = active.last.or(frozen.as_ref().and_then(|(_, epoch)| epoch.last));
            Found {
                stored,
                frozen: frozen.map(|(position, epoch)| (position, epoch.commits)),
                position,
                length: active.length,
                entries: active.commits,
                last,
                place: 1 - other,
                revision,
                slot,
            }
        };
        if mark.epoch == stored.epoch {
            return Some(found(stored, replay(file, stored)?));
        }
        let holds = |rule| bounds.without != Some(rule);
        if let Some((frozen, position, active)) = replay(file, stored)
            && holds(Rule::SlotFirst)
        {
            let is_ended = frozen.is_some();
            let end = frozen.as_ref().map_or(position, |(end, _)| *end);
            if end.number == mark.number {
                let ended = if is_ended || !holds(Rule::EndEpoch) {
                    (frozen, position, active)
                } else {
                    let next = Position { epoch: position.epoch + 1, ..position };
                    (Some((position, active)), next, Epoch::default())
                };
                return Some(found(stored, ended));
            }
        }
        Some(found(mark, replay(file, mark)?))
    }

    /// Opens the journal. The process is killed after so many steps.
    fn open(&mut self, bounds: &Bounds, steps: u8) {
        let Some(found) = self.read(bounds) else {
            self.violation = Some("a journal that nobody has damaged is refused");
            return;
        };
        if steps == 0 {
            return;
        }
        self.sync_engine();
        if let Some((from, to)) = found.last.filter(|_| bounds.without != Some(Rule::WriteAgain)) {
            (from..to).for_each(|at| self.disk.write(at, self.disk.cached[at]));
            if steps == 1 {
                return;
            }
            self.disk.sync();
        }
        if steps <= 2 {
            return;
        }
        let frozen = found.frozen.as_ref().map_or(&[][..], |(_, commits)| commits);
        let entries: Vec<Commit> = frozen.iter().chain(&found.entries).copied().collect();
        let newest = entries.last().copied().unwrap_or(self.engine.cached.commit);
        let mut process = Process {
            position: Position { bypassed: found.stored.bypassed, ..found.position },
            length: found.length,
            stored: found.stored,
            frozen: found.frozen.as_ref().map(|(position, commits)| {
                (*position, commits.last().copied().unwrap_or(self.engine.cached.commit))
            }),
            phase: Phase::Idle,
            commit: newest,
            has_entries: !found.entries.is_empty(),
            is_entry_unsynced: false,
            next_place: 1 - found.place,
            revision: found.revision,
            is_slot_unsynced: false,
            is_slot_found: bounds.without != Some(Rule::Settle),
            is_settling: false,
            is_closing: false,
            used: [0, 1].map(|half| used(&self.disk.cached, half)),
            wiped: 0,
            is_ended: false,
        };
        if found.stored.epoch != found.slot.epoch {
            self.write_slot(&mut process, bounds.without != Some(Rule::OtherPlace));
            if steps == 3 {
                return;
            }
            self.disk.sync();
            process.is_slot_unsynced = false;
            process.next_place = 1 - process.next_place;
        }
        self.check(&entries, newest);
        self.acknowledged = newest;
        self.process = Some(process);
    }

    /// Whether what is shown is a state that was, with all that anybody knows of.
    fn check(&mut self, entries: &[Commit], newest: Commit) {
        let Records { commit, part, .. } = self.engine.cached;
        let parent = |commit: Commit| self.parents[usize::from(commit)];
        let is_chain = entries.windows(2).all(|pair| parent(pair[1]) == pair[0]);
        let is_on_top = entries
            .first()
            .is_none_or(|first| parent(*first) == commit || entries.contains(&commit));
        let is_covered = part.is_none_or(|part| entries.contains(&part));
        if !is_chain || !is_on_top || !is_covered {
            self.violation = Some("what is shown is no state that ever was");
            return;
        }
        let mut before = newest;
        while before > self.acknowledged {
            before = parent(before);
        }
        if before != self.acknowledged {
            self.violation = Some("a commit is lost that somebody knows of");
        }
    }
}
