//! What an unlock of a store says about its freshness, as a model: the header copies, the anchor, the journal and the engine, what of
//! them is on the disk, and an attacker who puts copies back. It has the rules of docs/FORMAT.md and no code of the store.
//!
//! An explorer goes through all states of it (`main.rs`), and a test runs paths of it on real stores (`tests/store/modelled.rs`). Not in
//! it: rewrites, rotations, and batches that bypass the journal. Does no I/O.

use std::collections::BTreeSet;

/// The number of a root or a header, in the order of their making.
pub(crate) type Id = u8;

/// How far a model goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) roots: u8,
    pub(crate) sessions: u8,
    pub(crate) headers: u8,
    pub(crate) attacks: u8,
    pub(crate) power_cuts: u8,
    /// The anchor is synced after so many commits.
    pub(crate) sync_every: u8,
    pub(crate) external: External,
    /// Whether an attacker puts single slots of the anchor back, and not only the whole file.
    pub(crate) single_slots: bool,
    /// Whether checkpoints happen in the middle of a session.
    pub(crate) checkpoints: bool,
}

/// Which sessions have the anchor of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum External {
    Never,
    Sometimes,
    Always,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Root {
    pub(crate) commit: u8,
    /// The least sequence of an anchor that was on the disk before.
    pub(crate) anchored: u8,
    pub(crate) header: Id,
    pub(crate) parent: Id,
    /// The root that changed the text last.
    pub(crate) text: Id,
    pub(crate) session: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Header {
    pub(crate) revision: u8,
    pub(crate) follows: Id,
}

/// A slot of the anchor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Slot {
    pub(crate) sequence: u8,
    pub(crate) is_known: bool,
    /// The root whose mark it is.
    pub(crate) root: Id,
    /// The session that wrote it. The store does not see this.
    pub(crate) session: u8,
}

pub(crate) type Anchor = [Option<Slot>; 2];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Position {
    pub(crate) epoch: u8,
    pub(crate) sequence: u8,
}

/// The entries of one epoch: the number of the first one, and the root of each.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Half {
    pub(crate) epoch: u8,
    pub(crate) first: u8,
    pub(crate) roots: Vec<Id>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Journal {
    pub(crate) slot: Position,
    pub(crate) halves: [Half; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Engine {
    pub(crate) mark: Position,
    pub(crate) root: Id,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Files {
    pub(crate) headers: [Id; 2],
    pub(crate) anchor: Anchor,
    pub(crate) journal: Journal,
    pub(crate) engine: Engine,
}

/// What the disk may have instead of the newest contents, which are in the page cache.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Unsynced {
    pub(crate) anchors: BTreeSet<Anchor>,
    pub(crate) last_entry: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Session {
    number: u8,
    header: Id,
    root: Id,
    has_external: bool,
    sequence: u8,
    is_paired: bool,
    pub(crate) is_known: bool,
    synced: u8,
    has_synced: bool,
    writes: u8,
    position: Position,
    /// The epoch before that of `position` is in the journal and not in the engine.
    is_frozen: bool,
    /// The engine is ahead of the journal's slot.
    is_slot_due: bool,
}

/// Everything that was ever in a file: what an attacker may put back.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Copies {
    pub(crate) anchors: BTreeSet<Anchor>,
    pub(crate) headers: BTreeSet<[Id; 2]>,
    pub(crate) records: BTreeSet<(Journal, Engine)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) files: Files,
    pub(crate) unsynced: Unsynced,
    pub(crate) external: Option<Slot>,
    pub(crate) session: Option<Session>,
    pub(crate) roots: Vec<Root>,
    pub(crate) headers: Vec<Header>,
    /// The newest root that a caller knows to be stored.
    pub(crate) acknowledged: Id,
    pub(crate) sessions: u8,
    pub(crate) attacks: u8,
    pub(crate) power_cuts: u8,
    /// A power cut has left an anchor that is not the newest, and none was synced since.
    is_behind: bool,
    pub(crate) copies: Copies,
    /// What the last unlock has found.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) violation: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Outcome {
    Damaged,
    RolledBack,
    HeaderRolledBack,
    RecordsBehindHeader,
    Opened { root: Id, freshness: Freshness, is_mixed: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Freshness {
    Known,
    Unknown,
    WasMissing,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    Commit,
    /// The process is killed when the entry is written, before it is synced.
    DieInCommit,
    /// Changes the passphrase.
    ChangeHeader,
    /// The process is killed after one copy of the next header, or after both.
    DieInHeader {
        copies: usize,
    },
    /// The engine gets what the journal has.
    Checkpoint,
    /// The journal's slot says so.
    EndCheckpoint,
    Lock,
    Kill,
    PowerCut {
        anchor: Anchor,
        loses_entry: bool,
    },
    Unlock {
        header: Id,
        has_external: bool,
        accepts: bool,
    },
    /// Files of other moments are put in the place of those of a closed store, which is unlocked then.
    Attack {
        files: Files,
        header: Id,
        has_external: bool,
        accepts: bool,
    },
}

impl State {
    /// A store that was just created, in its first session.
    pub(crate) fn new(bounds: &Bounds) -> Self {
        let slot = |sequence| Some(Slot { sequence, is_known: true, root: 0, session: 0 });
        let has_external = bounds.external != External::Never;
        let first = Root { commit: 0, anchored: 0, header: 0, parent: 0, text: 0, session: 0 };
        let mut state = Self {
            files: Files {
                headers: [0, 0],
                anchor: [slot(2), slot(1)],
                journal: Journal::default(),
                engine: Engine::default(),
            },
            unsynced: Unsynced::default(),
            external: slot(2).filter(|_| has_external),
            session: Some(Session {
                number: 0,
                header: 0,
                root: 0,
                has_external,
                sequence: 3,
                is_paired: true,
                is_known: true,
                synced: 2,
                has_synced: true,
                writes: 1,
                position: Position { epoch: 1, sequence: 0 },
                is_frozen: false,
                is_slot_due: false,
            }),
            roots: vec![first],
            headers: vec![Header { revision: 1, follows: 0 }],
            acknowledged: 0,
            sessions: 1,
            attacks: 0,
            power_cuts: 0,
            is_behind: false,
            copies: Copies::default(),
            outcome: None,
            violation: None,
        };
        state.keep_copies(bounds);
        state
    }

    /// What can happen next.
    pub(crate) fn actions(&self, bounds: &Bounds) -> Vec<Action> {
        let mut actions = Vec::new();
        let roots = u8::try_from(self.roots.len()).unwrap_or(u8::MAX);
        if let Some(session) = &self.session {
            actions.extend([Action::Lock, Action::Kill]);
            if roots < bounds.roots {
                actions.extend([Action::Commit, Action::DieInCommit]);
            }
            let headers = u8::try_from(self.headers.len()).unwrap_or(u8::MAX);
            if headers < bounds.headers && roots + 1 < bounds.roots {
                let died = [1, 2].map(|copies| Action::DieInHeader { copies });
                actions.push(Action::ChangeHeader);
                actions.extend(died);
            }
            if bounds.checkpoints && session.is_slot_due {
                actions.push(Action::EndCheckpoint);
            } else if bounds.checkpoints && self.has_entries() {
                actions.push(Action::Checkpoint);
            }
        } else if self.sessions < bounds.sessions {
            let with_external: &[bool] = match bounds.external {
                External::Never => &[false],
                External::Sometimes => &[false, true],
                External::Always => &[true],
            };
            let unlocks = |headers: [Id; 2]| {
                let copies = BTreeSet::from(headers).into_iter();
                copies.flat_map(|header| {
                    with_external.iter().map(move |external| (header, *external))
                })
            };
            for (header, has_external) in unlocks(self.files.headers) {
                for accepts in [false, true] {
                    // A person accepts what was refused or is unknown.
                    if !accepts || self.attacks > 0 {
                        actions.push(Action::Unlock { header, has_external, accepts });
                    }
                }
            }
            if self.attacks < bounds.attacks {
                for files in self.splices(bounds) {
                    for (header, has_external) in unlocks(files.headers) {
                        for accepts in [false, true] {
                            let files = files.clone();
                            actions.push(Action::Attack { files, header, has_external, accepts });
                        }
                    }
                }
            }
        }
        if self.power_cuts < bounds.power_cuts {
            let Unsynced { anchors, last_entry } = &self.unsynced;
            for anchor in anchors.iter().copied().chain([self.files.anchor]) {
                actions.push(Action::PowerCut { anchor, loses_entry: false });
                if *last_entry {
                    actions.push(Action::PowerCut { anchor, loses_entry: true });
                }
            }
        }
        actions
    }

    /// The files that an attacker can make from the copies.
    fn splices(&self, bounds: &Bounds) -> Vec<Files> {
        let Copies { anchors, headers, records } = &self.copies;
        let mut spliced = BTreeSet::new();
        if bounds.single_slots {
            let slots = |place: usize| {
                let slots = anchors.iter().map(move |anchor| anchor[place]);
                slots.chain([None]).collect::<BTreeSet<_>>()
            };
            for even in slots(0) {
                spliced.extend(slots(1).into_iter().map(|odd| [even, odd]));
            }
        } else {
            spliced.extend(anchors);
        }
        let journals: BTreeSet<Journal> =
            records.iter().flat_map(|(journal, _)| journal.with_fewer_entries()).collect();
        let engines: BTreeSet<Engine> = records.iter().map(|(_, engine)| *engine).collect();
        let mut files = Vec::new();
        for (journal, engine) in
            journals.iter().flat_map(|journal| engines.iter().map(move |engine| (journal, engine)))
        {
            for (anchor, headers) in
                spliced.iter().flat_map(|anchor| headers.iter().map(move |it| (anchor, it)))
            {
                let journal = journal.clone();
                files.push(Files { headers: *headers, anchor: *anchor, journal, engine: *engine });
            }
        }
        files
    }

    /// The state after an action.
    pub(crate) fn next(&self, bounds: &Bounds, action: &Action) -> Self {
        let mut next = self.clone();
        next.outcome = None;
        match action {
            Action::Commit => {
                next.commit(bounds, Some(()), None, 0);
                next.acknowledge();
            }
            Action::DieInCommit => {
                next.write_entry(Some(()), None, 0);
                next.unsynced.last_entry = true;
                next.session = None;
            }
            Action::ChangeHeader => {
                next.begin_header(bounds, 2);
                let header = next.newest_header();
                next.commit(bounds, None, Some(header), 0);
                if let Some(session) = &mut next.session {
                    session.header = header;
                }
                next.acknowledge();
            }
            Action::DieInHeader { copies } => {
                next.begin_header(bounds, *copies);
                next.acknowledge();
                next.session = None;
            }
            Action::Checkpoint => next.checkpoint(),
            Action::EndCheckpoint => next.end_checkpoint(),
            Action::Lock => next.lock(),
            Action::Kill => next.session = None,
            Action::PowerCut { anchor, loses_entry } => next.cut_power(anchor, *loses_entry),
            Action::Unlock { header, has_external, accepts } => {
                next.unlock(bounds, *header, *has_external, *accepts);
            }
            Action::Attack { files, header, has_external, accepts } => {
                next.attacks += 1;
                let present = std::mem::replace(&mut next.files, files.clone());
                next.unsynced = Unsynced::default();
                let is_older = |place: usize| {
                    files.anchor[place].is_some() && files.anchor[place] != present.anchor[place]
                };
                let has_copy = is_older(0) || is_older(1);
                next.unlock(bounds, *header, *has_external, *accepts);
                if !accepts
                    && !has_copy
                    && !self.is_behind
                    && self.attacks == 0
                    && next.shows_older_as_known(self)
                {
                    next.violation = Some("known without an older anchor");
                }
            }
        }
        next.keep_copies(bounds);
        next
    }

    fn keep_copies(&mut self, bounds: &Bounds) {
        if self.attacks >= bounds.attacks {
            self.copies = Copies::default();
            return;
        }
        let Files { headers, anchor, journal, engine } = &self.files;
        self.copies.headers.insert(*headers);
        self.copies.anchors.insert(*anchor);
        self.copies.records.insert((journal.clone(), *engine));
    }

    fn has_entries(&self) -> bool {
        let halves = &self.files.journal.halves;
        self.session.as_ref().is_some_and(|session| {
            let half = &halves[usize::from(session.position.epoch % 2)];
            half.epoch == session.position.epoch && !half.roots.is_empty()
        })
    }

    fn newest_header(&self) -> Id {
        u8::try_from(self.headers.len() - 1).unwrap_or(u8::MAX)
    }

    fn acknowledge(&mut self) {
        self.acknowledged = self.session.as_ref().map_or(self.acknowledged, |session| session.root);
    }

    // ---- a session

    /// Makes a root and writes its entry. The anchor that is there is synced first, if this session has not.
    fn write_entry(&mut self, text: Option<()>, header: Option<Id>, above: u8) {
        let Some(mut session) = self.session.take() else { return };
        if !session.has_synced && session.is_paired && session.is_known {
            self.sync_anchor(&mut session);
        }
        let id = u8::try_from(self.roots.len()).unwrap_or(u8::MAX);
        let parent = self.roots[usize::from(session.root)];
        self.roots.push(Root {
            commit: parent.commit.max(above) + 1,
            anchored: session.synced,
            header: header.unwrap_or(parent.header),
            parent: session.root,
            text: text.map_or(parent.text, |()| id),
            session: session.number,
        });
        session.root = id;
        session.position.sequence += 1;
        let Position { epoch, sequence } = session.position;
        let half = &mut self.files.journal.halves[usize::from(epoch % 2)];
        if half.epoch != epoch || half.roots.is_empty() {
            *half = Half { epoch, first: sequence, roots: Vec::new() };
        }
        half.roots.push(id);
        self.session = Some(session);
    }

    fn commit(&mut self, bounds: &Bounds, text: Option<()>, header: Option<Id>, above: u8) {
        self.write_entry(text, header, above);
        // One sync of the journal.
        self.unsynced.last_entry = false;
        self.remember(bounds);
    }

    /// Writes the mark of the present root to the anchor.
    fn remember(&mut self, bounds: &Bounds) {
        let Some(mut session) = self.session.take() else { return };
        self.unsynced.anchors.insert(self.files.anchor);
        for _ in 0..if session.is_paired { 1 } else { 2 } {
            let slot = Slot {
                sequence: session.sequence,
                is_known: session.is_known,
                root: session.root,
                session: session.number,
            };
            self.files.anchor[usize::from(session.sequence % 2)] = Some(slot);
            if session.has_external {
                self.external = Some(slot);
            }
            session.sequence += 1;
        }
        session.is_paired = true;
        if session.writes.is_multiple_of(bounds.sync_every) {
            self.sync_anchor(&mut session);
        }
        session.writes += 1;
        self.unsynced.anchors.remove(&self.files.anchor);
        self.session = Some(session);
    }

    fn sync_anchor(&mut self, session: &mut Session) {
        session.has_synced = true;
        session.synced = session.sequence - 1;
        self.unsynced.anchors.clear();
        self.is_behind = false;
    }

    /// Commits a root that names the present header, and writes copies of the next one.
    fn begin_header(&mut self, bounds: &Bounds, copies: usize) {
        let Some(header) = self.session.as_ref().map(|session| session.header) else { return };
        self.commit(bounds, None, Some(header), 0);
        let revision = self.headers[usize::from(header)].revision + 1;
        self.headers.push(Header { revision, follows: header });
        let next = self.newest_header();
        self.files.headers.iter_mut().take(copies).for_each(|copy| *copy = next);
    }

    /// The engine gets the older epoch first, whose slot is synced, and then the present one, which ends.
    fn checkpoint(&mut self) {
        let Some(mut session) = self.session.take() else { return };
        if session.is_frozen || session.is_slot_due {
            let half = &self.files.journal.halves[usize::from((session.position.epoch + 1) % 2)];
            if let Some(root) = half.roots.last() {
                let last = half.first + u8::try_from(half.roots.len() - 1).unwrap_or(u8::MAX);
                let mark = Position { epoch: session.position.epoch - 1, sequence: last };
                self.files.engine = Engine { mark, root: *root };
                self.files.journal.slot = mark;
                self.unsynced.last_entry = false;
            }
            session.is_frozen = false;
        }
        self.files.engine = Engine { mark: session.position, root: session.root };
        session.position.epoch += 1;
        session.is_slot_due = true;
        self.session = Some(session);
    }

    fn end_checkpoint(&mut self) {
        let Some(session) = &mut self.session else { return };
        session.is_slot_due = false;
        self.files.journal.slot = self.files.engine.mark;
        self.unsynced.last_entry = false;
    }

    fn lock(&mut self) {
        let Some(mut session) = self.session.take() else { return };
        if session.has_synced && session.sequence - 1 > session.synced {
            self.sync_anchor(&mut session);
        }
        let is_frozen = session.is_frozen;
        self.session = Some(session);
        if self.has_entries() || is_frozen {
            self.checkpoint();
        }
        let is_due = self.session.take().is_some_and(|session| session.is_slot_due);
        if is_due {
            self.files.journal.slot = self.files.engine.mark;
        }
        if is_due || self.files.journal.halves != <[Half; 2]>::default() {
            self.files.journal.halves = Default::default();
            self.unsynced.last_entry = false;
        }
    }

    fn cut_power(&mut self, anchor: &Anchor, loses_entry: bool) {
        self.session = None;
        self.power_cuts += 1;
        self.is_behind |= self.files.anchor != *anchor;
        self.files.anchor = *anchor;
        let journal = &mut self.files.journal;
        if loses_entry && let Some(half) = journal.halves.iter_mut().max_by_key(|half| half.epoch) {
            half.roots.pop();
        }
        self.unsynced = Unsynced::default();
    }

    // ---- an unlock

    fn unlock(&mut self, bounds: &Bounds, header: Id, has_external: bool, accepts: bool) {
        let before = self.clone();
        self.sessions += 1;
        let (outcome, opened) = self.open(header, has_external, accepts);
        self.outcome = Some(outcome);
        if let Some(replayed) = before.files.journal.replay_behind(&before.files.engine) {
            // This comes before anything is compared.
            self.files.journal.slot = replayed.stored;
            self.unsynced.last_entry &= replayed.roots.is_empty();
        }
        if let Some((session, skip)) = opened {
            self.files.headers = [header; 2];
            let is_bound = self.roots[usize::from(session.session.root)].header == header;
            let (is_current, root) = (session.is_current, session.session.root);
            self.session = Some(session.session);
            if !is_bound || skip.is_some() {
                self.commit(bounds, None, Some(header), skip.unwrap_or(0));
            } else if !is_current {
                self.remember(bounds);
            }
            self.judge(bounds, &before, root, accepts);
            self.acknowledge();
        } else {
            self.judge_refusal();
        }
    }

    /// What an unlock finds, and the session and the least commit number if it opens the store.
    fn open(
        &self,
        header: Id,
        has_external: bool,
        accepts: bool,
    ) -> (Outcome, Option<(Found, Option<u8>)>) {
        let Files { anchor, journal, engine, .. } = &self.files;
        let Some(replayed) = journal.replay_behind(engine) else { return (Outcome::Damaged, None) };
        let root = replayed.roots.last().copied().unwrap_or(engine.root);
        let named = self.roots[usize::from(root)];
        let slots: Vec<&Slot> = anchor.iter().flatten().collect();
        let external = self.external.filter(|_| has_external);
        let marks = slots.iter().map(|slot| slot.root).chain(external.map(|slot| slot.root));
        let marks: Vec<(Id, Root)> = marks.map(|id| (id, self.roots[usize::from(id)])).collect();
        let newest = slots.iter().max_by_key(|slot| slot.sequence);

        let records = if header == named.header || self.follows(header, named.header) {
            None
        } else {
            let revision = |id: Id| self.headers[usize::from(id)].revision;
            let (found, bound) = (revision(header), revision(named.header));
            let seen = marks.iter().map(|(_, root)| revision(root.header)).max().unwrap_or(0);
            if found > bound && found >= seen.max(bound) && bound + 1 != found {
                Some(Outcome::RecordsBehindHeader)
            } else {
                return (Outcome::HeaderRolledBack, None);
            }
        };
        let mut sequence = newest.map_or(0, |slot| slot.sequence + 1);
        let mut is_paired = are_neighbours(anchor, &self.roots);
        let mut is_known = is_paired && slots.iter().all(|slot| slot.is_known);
        is_known &= newest.is_some_and(|slot| slot.sequence >= named.anchored);
        if sequence <= named.anchored && named.anchored > 0 {
            sequence = named.anchored + 1;
            is_paired = false;
        }
        let is_missing = |(id, mark): &(Id, Root)| {
            mark.commit > named.commit || mark.commit == named.commit && *id != root
        };
        let fresh = marks.iter().any(is_missing).then_some(Outcome::RolledBack);
        if fresh.is_none()
            && !is_known
            && external.is_some_and(|slot| slot.is_known && slot.root == root)
        {
            is_known = true;
            is_paired = false;
        }
        let refused = records.or(fresh);
        let mut skip = None;
        match (refused, accepts) {
            (Some(refused), false) => return (refused, None),
            (Some(_), true) => {
                skip = Some(marks.iter().map(|(_, root)| root.commit).max().unwrap_or(0));
            }
            _ => {}
        }
        if accepts {
            is_known = true;
            is_paired = false;
        }
        let was_missing = has_external && self.external.is_none();
        let freshness = match (is_known, was_missing) {
            (false, _) => Freshness::Unknown,
            (true, true) => Freshness::WasMissing,
            (true, false) => Freshness::Known,
        };
        let session = Session {
            number: self.sessions,
            header,
            root,
            has_external,
            sequence,
            is_paired,
            is_known,
            synced: named.anchored,
            has_synced: false,
            writes: 0,
            position: replayed.position,
            is_frozen: replayed.is_frozen,
            is_slot_due: false,
        };
        let is_current = is_paired
            && newest.is_some_and(|slot| slot.root == root)
            && (!has_external || external.is_some_and(|slot| slot.root == root));
        let is_mixed = self.is_mixed(&replayed.roots, engine.root);
        let found = Found { session, is_current };
        (Outcome::Opened { root, freshness, is_mixed }, Some((found, skip)))
    }

    fn follows(&self, header: Id, other: Id) -> bool {
        let [header, earlier] = [header, other].map(|id| self.headers[usize::from(id)]);
        header.follows == other && header.revision == earlier.revision + 1
    }

    /// Whether the entries were not made on what the engine has.
    fn is_mixed(&self, entries: &[Id], engine: Id) -> bool {
        let parent = |id: Id| self.roots[usize::from(id)].parent;
        let is_chain = entries.windows(2).all(|pair| parent(pair[1]) == pair[0]);
        let is_of_engine = entries
            .first()
            .is_none_or(|first| parent(*first) == engine || entries.contains(&engine));
        !(is_chain && is_of_engine)
    }

    // ---- what must hold

    fn judge_refusal(&mut self) {
        if self.attacks == 0 {
            self.violation = Some("an honest store is refused");
        }
    }

    fn judge(&mut self, bounds: &Bounds, before: &Self, root: Id, accepts: bool) {
        let Some(Outcome::Opened { freshness, is_mixed, .. }) = self.outcome else { return };
        let is_newest = before.is_newest(root);
        if self.attacks == 0 && !is_newest {
            self.violation = Some("an honest store has lost what was acknowledged");
        }
        let is_known = freshness == Freshness::Known
            || freshness == Freshness::WasMissing && bounds.external != External::Always;
        if self.attacks == 0 && !is_known {
            self.violation = Some("an honest store is not known to be the newest");
        }
        if is_mixed && !before.is_listed_mixture(root) {
            self.violation = Some("a mixture is opened");
        }
        if freshness == Freshness::Known && !accepts && !is_newest {
            if bounds.external == External::Always {
                self.violation = Some("known in spite of an anchor elsewhere");
            } else if !before.is_listed(bounds, root) {
                self.violation = Some("known, and not listed");
            }
        }
    }

    fn shows_older_as_known(&self, before: &Self) -> bool {
        match self.outcome {
            Some(Outcome::Opened { root, freshness: Freshness::Known, .. }) => {
                !before.is_newest(root)
            }
            _ => false,
        }
    }

    /// Whether nothing that was acknowledged is missing: it is the newest root, or one that was made on it.
    fn is_newest(&self, root: Id) -> bool {
        self.is_within(self.acknowledged, root)
    }

    /// What SECURITY.md says of an older state that is shown as known. The anchor marks it, or one of so many commits before it, and was
    /// written in its session or later; for the first commit of a session, an anchor from before will do. Where numbers of the
    /// anchor repeat, so will one that had the number before. Or state or anchor is of another history than the present one.
    fn is_listed(&self, bounds: &Bounds, root: Id) -> bool {
        let newest = self.files.anchor.iter().flatten().max_by_key(|slot| slot.sequence);
        let Some(slot) = newest else { return false };
        let [named, marked] = [root, slot.root].map(|id| self.roots[usize::from(id)]);
        let was_older = self.attacks > 1;
        let repeats = self.power_cuts > 0 || was_older;
        let most = if repeats { 2 * bounds.sync_every } else { bounds.sync_every };
        let is_near = self.is_within(slot.root, root) && named.commit - marked.commit <= most;
        let is_first = self.roots[usize::from(named.parent)].session < named.session;
        let is_recent = slot.session >= named.session || is_first || repeats;
        let are_two = [root, slot.root].iter().any(|id| !self.is_within(*id, self.acknowledged));
        is_near && is_recent || are_two && was_older
    }

    /// What SECURITY.md says of a journal and an engine that open together though they are of two moments: they are of two histories,
    /// one of which a power cut or a rollback has ended.
    fn is_listed_mixture(&self, root: Id) -> bool {
        let engine = self.files.engine.root;
        !self.is_within(engine, root) && !self.is_within(root, engine)
    }

    /// Whether a root was made on another one, directly or not.
    fn is_within(&self, earlier: Id, mut root: Id) -> bool {
        while root > earlier {
            root = self.roots[usize::from(root)].parent;
        }
        root == earlier
    }
}

struct Found {
    session: Session,
    /// Every anchor has the mark of the root.
    is_current: bool,
}

/// Whether two writes in a row leave these slots.
fn are_neighbours(anchor: &Anchor, roots: &[Root]) -> bool {
    let [Some(one), Some(other)] = anchor else { return false };
    let (earlier, later) = if one.sequence < other.sequence { (one, other) } else { (other, one) };
    let commit = |slot: &Slot| roots[usize::from(slot.root)].commit;
    earlier.sequence + 1 == later.sequence
        && (commit(later) > commit(earlier) || later.root == earlier.root)
}

/// What a journal has behind its engine.
struct Replayed {
    stored: Position,
    roots: Vec<Id>,
    position: Position,
    is_frozen: bool,
}

impl Journal {
    /// The journal, and what is left if its last entries are overwritten.
    pub(crate) fn with_fewer_entries(&self) -> Vec<Self> {
        let mut journals = vec![self.clone()];
        let mut journal = self.clone();
        while let Some(half) = journal
            .halves
            .iter_mut()
            .filter(|half| !half.roots.is_empty())
            .max_by_key(|half| half.epoch)
        {
            half.roots.pop();
            if half.roots.is_empty() {
                *half = Half::default();
            }
            journals.push(journal.clone());
        }
        journals
    }

    fn replay_behind(&self, engine: &Engine) -> Option<Replayed> {
        let (slot, mark) = (self.slot, engine.mark);
        if mark.epoch < slot.epoch
            || mark.epoch == slot.epoch && mark.sequence != slot.sequence
            || mark.epoch > slot.epoch + 1
        {
            return None;
        }
        let found = self.replay(slot);
        if mark.epoch == slot.epoch {
            return found.map(|(roots, position, is_frozen, _)| Replayed {
                stored: slot,
                roots,
                position,
                is_frozen,
            });
        }
        match found {
            Some((roots, position, is_frozen, first)) if first.sequence == mark.sequence => {
                let position = if is_frozen {
                    position
                } else {
                    Position { epoch: position.epoch + 1, ..position }
                };
                Some(Replayed { stored: slot, roots, position, is_frozen: true })
            }
            _ => {
                let (roots, position, is_frozen, _) = self.replay(mark)?;
                Some(Replayed { stored: mark, roots, position, is_frozen })
            }
        }
    }

    /// The roots behind a position, the last position, whether two epochs have entries, and the end of the first one.
    fn replay(&self, stored: Position) -> Option<(Vec<Id>, Position, bool, Position)> {
        if self.halves.iter().any(|half| !half.roots.is_empty() && half.epoch > stored.epoch + 2) {
            return None;
        }
        let first = Position { epoch: stored.epoch + 1, ..stored };
        let (mut roots, first) = self.read(first)?;
        let second = Position { epoch: stored.epoch + 2, ..first };
        let half = &self.halves[usize::from(second.epoch % 2)];
        if half.epoch != second.epoch || half.roots.is_empty() {
            return Some((roots, first, false, first));
        }
        let (more, position) = self.read(second)?;
        roots.extend(more);
        Some((roots, position, true, first))
    }

    fn read(&self, position: Position) -> Option<(Vec<Id>, Position)> {
        let half = &self.halves[usize::from(position.epoch % 2)];
        if half.epoch != position.epoch || half.roots.is_empty() {
            return Some((Vec::new(), position));
        }
        let sequence = position.sequence + u8::try_from(half.roots.len()).ok()?;
        (half.first == position.sequence + 1)
            .then(|| (half.roots.clone(), Position { sequence, ..position }))
    }
}
