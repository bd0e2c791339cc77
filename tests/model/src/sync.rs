//! Devices that share a place, as a model: logs, what was read of them, the heads of one file, snapshots, and the removal of objects.
//!
//! It has the rules of docs/SYNC.md and no code of the crate. Texts are the objects that published them, so a device that edits what it
//! shows replaces exactly those texts. Not in it: paths, merging, lost or damaged objects, and crashes inside of a step. Does no I/O.

/// A set of objects or logs: the bit of each is its device times 8, plus its number.
pub(crate) type Set = u32;
/// An object or a log.
pub(crate) type Id = u8;

const fn bit(id: Id) -> Set {
    1 << id
}

pub(crate) const fn has(set: Set, id: Id) -> bool {
    set & bit(id) != 0
}

pub(crate) fn ids(set: Set) -> impl Iterator<Item = Id> {
    (0..32).filter(move |id| has(set, *id))
}

/// A rule that can be left out, to see that the model notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// An object is read after everything that its device had read.
    ReadInOrder,
    /// A snapshot ends the heads that it covers and does not have.
    DropReplaced,
    /// A snapshot brings back no head that this device has replaced.
    TakeNewOnly,
    /// Only what the own snapshot covers is removed.
    CollectCovered,
    /// Who has read a snapshot that nobody else is known to have read says so.
    Acknowledge,
    /// An edit replaces what was shown, and not everything that was read.
    ReplaceShown,
}

pub(crate) const RULES: [Rule; 6] = [
    Rule::ReadInOrder,
    Rule::DropReplaced,
    Rule::TakeNewOnly,
    Rule::CollectCovered,
    Rule::Acknowledge,
    Rule::ReplaceShown,
];

/// How far a model goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) devices: usize,
    /// Edits and deletions together.
    pub(crate) operations: u8,
    pub(crate) snapshots: u8,
    /// Devices that are copied over another one, which had done nothing.
    pub(crate) copies: u8,
    /// Devices that are put back with their store.
    pub(crate) restores: u8,
    pub(crate) without: Option<Rule>,
}

impl Bounds {
    fn holds(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Text { over: Set },
    Deletion { over: Set },
    Acknowledgement,
    Snapshot { heads: Set, before: Set, peers: Vec<Peer> },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Object {
    log: Id,
    /// The object before it in its log.
    previous: Option<Id>,
    /// What its device had read.
    seen: Set,
    /// What its device showed then. The object does not say so.
    shown: Set,
    pub(crate) kind: Kind,
}

/// The log of another device, the logs that it wrote before, and what it is known to have read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Peer {
    log: Id,
    before: Set,
    seen: Set,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Device {
    log: Id,
    /// The last object of the log.
    previous: Option<Id>,
    own: Set,
    pub(crate) seen: Set,
    pub(crate) heads: Set,
    /// The heads that the store shows.
    shown: Set,
    pub(crate) outbox: Set,
    peers: Vec<Peer>,
    snapshot: Option<Id>,
    unacknowledged: Set,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) devices: Vec<Device>,
    /// By the device that wrote them.
    pub(crate) objects: Vec<Vec<Object>>,
    /// How many logs each device has begun.
    logs: Vec<u8>,
    pub(crate) place: Set,
    /// What was ever in the place.
    published: Set,
    pub(crate) backup: Option<(usize, Device)>,
    operations: u8,
    snapshots: u8,
    copies: u8,
    restores: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    /// Somebody changes the file, and the device captures that.
    Edit(usize),
    Delete(usize),
    /// The outbox is put where the place lacks it, and what nobody needs again is dropped from it.
    Put(usize),
    Read(usize, Id),
    Show(usize),
    Acknowledge(usize),
    Snapshot(usize),
    /// Objects that the own snapshot stands for are removed.
    Collect(usize),
    /// The folder of the second device is replaced by a copy of that of the first.
    Copy,
    Backup(usize),
    Restore,
}

impl State {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        let device = |at: usize| {
            let log = id_of(at, 0);
            Device {
                log,
                previous: None,
                own: bit(log),
                seen: 0,
                heads: 0,
                shown: 0,
                outbox: 0,
                peers: Vec::new(),
                snapshot: None,
                unacknowledged: 0,
            }
        };
        Self {
            devices: (0..bounds.devices).map(device).collect(),
            objects: vec![Vec::new(); bounds.devices],
            logs: vec![1; bounds.devices],
            place: 0,
            published: 0,
            backup: None,
            operations: 0,
            snapshots: 0,
            copies: 0,
            restores: 0,
        }
    }

    pub(crate) fn actions(&self, bounds: &Bounds) -> Vec<Action> {
        let mut actions = Vec::new();
        for at in 0..self.devices.len() {
            let device = &self.devices[at];
            if self.operations < bounds.operations {
                actions.push(Action::Edit(at));
                if device.shown != 0 {
                    actions.push(Action::Delete(at));
                }
            }
            if self.snapshots < bounds.snapshots && device.previous.is_some() {
                actions.push(Action::Snapshot(at));
            }
            if self.restores < bounds.restores {
                match &self.backup {
                    None => actions.push(Action::Backup(at)),
                    Some((from, saved)) if *from == at && saved != device => {
                        actions.push(Action::Restore);
                    }
                    Some(_) => {}
                }
            }
            actions.extend(self.steps(at, bounds));
        }
        let is_new = |at: usize| self.devices[at].seen == 0 && self.objects[at].is_empty();
        if self.copies < bounds.copies && self.devices.len() > 1 && is_new(1) && !is_new(0) {
            actions.push(Action::Copy);
        }
        actions
    }

    /// What a device does by itself.
    fn steps(&self, at: usize, bounds: &Bounds) -> Vec<Action> {
        let device = &self.devices[at];
        let mut steps = Vec::new();
        if device.outbox & !self.place != 0 || Self::kept(device) != device.outbox {
            steps.push(Action::Put(at));
        }
        let unread =
            ids(self.place & !device.seen).filter(|id| self.is_readable(device, *id, bounds));
        steps.extend(unread.map(|id| Action::Read(at, id)));
        if device.shown != device.heads {
            steps.push(Action::Show(at));
        }
        if self.is_silent(device) && bounds.holds(Rule::Acknowledge) {
            steps.push(Action::Acknowledge(at));
        }
        if self.collectable(device, bounds) & self.place != 0 {
            steps.push(Action::Collect(at));
        }
        steps
    }

    pub(crate) fn next(&self, bounds: &Bounds, action: &Action) -> Self {
        let mut next = self.clone();
        match *action {
            Action::Edit(at) | Action::Delete(at) => {
                next.operations += 1;
                let device = &self.devices[at];
                let over =
                    if bounds.holds(Rule::ReplaceShown) { device.shown } else { device.heads };
                let is_edit = matches!(action, Action::Edit(_));
                let id = next.publish(
                    at,
                    if is_edit { Kind::Text { over } } else { Kind::Deletion { over } },
                );
                let device = &mut next.devices[at];
                device.heads &= !over;
                device.shown = 0;
                if is_edit {
                    device.heads |= bit(id);
                    device.shown = bit(id);
                }
            }
            Action::Put(at) => {
                let device = &mut next.devices[at];
                next.place |= device.outbox;
                next.published |= device.outbox;
                device.outbox = Self::kept(device);
            }
            Action::Read(at, id) => next.read(at, id, bounds),
            Action::Show(at) => next.devices[at].shown = next.devices[at].heads,
            Action::Acknowledge(at) => drop(next.publish(at, Kind::Acknowledgement)),
            Action::Snapshot(at) => {
                next.snapshots += 1;
                let Device { heads, own: before, ref peers, .. } = self.devices[at];
                next.begin_log(at);
                let id = next.publish(at, Kind::Snapshot { heads, before, peers: peers.clone() });
                next.devices[at].snapshot = Some(id);
            }
            Action::Collect(at) => {
                let gone = self.collectable(&self.devices[at], bounds);
                next.place &= !gone;
                next.devices[at].outbox &= !gone;
            }
            Action::Copy => {
                next.copies += 1;
                next.devices[1] = self.devices[0].clone();
            }
            Action::Backup(at) => next.backup = Some((at, self.devices[at].clone())),
            Action::Restore => {
                next.restores += 1;
                if let Some((at, device)) = next.backup.take() {
                    next.devices[at] = device;
                }
            }
        }
        next
    }

    pub(crate) fn object(&self, id: Id) -> &Object {
        &self.objects[usize::from(id / 8)][usize::from(id % 8)]
    }

    fn publish(&mut self, at: usize, kind: Kind) -> Id {
        let device = &mut self.devices[at];
        let id = id_of(at, self.objects[at].len());
        let Device { log, previous, seen, shown, .. } = *device;
        self.objects[at].push(Object { log, previous, seen, shown, kind });
        device.previous = Some(id);
        device.seen |= bit(id);
        device.outbox |= bit(id);
        device.unacknowledged = 0;
        id
    }

    fn begin_log(&mut self, at: usize) {
        let log = id_of(at, usize::from(self.logs[at]));
        self.logs[at] += 1;
        let device = &mut self.devices[at];
        (device.log, device.previous) = (log, None);
        device.own |= bit(log);
    }

    fn is_readable(&self, device: &Device, id: Id, bounds: &Bounds) -> bool {
        let object = self.object(id);
        let is_next = object.previous.is_none_or(|previous| has(device.seen, previous));
        let is_first = matches!(object.kind, Kind::Snapshot { .. });
        is_next && (is_first || object.seen & !device.seen == 0 || !bounds.holds(Rule::ReadInOrder))
    }

    fn read(&mut self, at: usize, id: Id, bounds: &Bounds) {
        let Object { log, seen, kind, .. } = self.object(id).clone();
        let device = &mut self.devices[at];
        let mut is_foreign = has(device.own, log);
        let mut logs_before =
            device.peers.iter().find(|peer| peer.log == log).map_or(0, |peer| peer.before);
        match kind {
            Kind::Text { over } => device.heads = device.heads & !over | bit(id),
            Kind::Deletion { over } => device.heads &= !over,
            Kind::Acknowledgement => {}
            Kind::Snapshot { heads, before, peers } => {
                is_foreign |= has(before, device.log);
                logs_before = before;
                let replaced = if bounds.holds(Rule::DropReplaced) { seen & !heads } else { 0 };
                let known =
                    if bounds.holds(Rule::TakeNewOnly) { device.seen } else { device.heads };
                device.heads = device.heads & !replaced | heads & !known;
                device.outbox &= !seen;
                device.seen |= seen;
                if !has(device.own, log) {
                    device.unacknowledged |= bit(id);
                }
                for peer in peers {
                    let is_known = device
                        .peers
                        .iter()
                        .any(|other| other.log == peer.log || has(other.before, peer.log));
                    if !is_known && !has(before, peer.log) && !has(device.own, peer.log) {
                        device.peers.push(peer);
                    }
                }
            }
        }
        device.seen |= bit(id);
        if !has(device.own, log) {
            device.peers.retain(|peer| peer.log != log && !has(logs_before, peer.log));
            device.peers.push(Peer { log, before: logs_before, seen: seen | bit(id) });
        }
        device.peers.sort_unstable();
        if is_foreign {
            self.begin_log(at);
        }
    }

    /// What stays in the outbox once it was put: what another device may lack.
    fn kept(device: &Device) -> Set {
        let read = device.peers.iter().map(|peer| peer.seen).reduce(|all, seen| all & seen);
        device.outbox & !read.unwrap_or(0)
    }

    pub(crate) fn is_silent(&self, device: &Device) -> bool {
        let is_read = |id| {
            device.peers.iter().any(|peer| peer.log != self.object(id).log && has(peer.seen, id))
        };
        !ids(device.unacknowledged).all(is_read)
    }

    /// The objects of earlier own logs that may be removed.
    fn collectable(&self, device: &Device, bounds: &Bounds) -> Set {
        let Some(snapshot) = device.snapshot.filter(|snapshot| has(self.place, *snapshot)) else {
            return 0;
        };
        if !device.peers.iter().any(|peer| has(peer.seen, snapshot)) {
            return 0;
        }
        let Object { log, seen, .. } = *self.object(snapshot);
        let is_covered = |id: &Id| {
            let object = self.object(*id);
            let is_own = has(device.own, object.log) && object.log != log;
            is_own && (has(seen, *id) || !bounds.holds(Rule::CollectCovered))
        };
        ids(self.place | device.outbox).filter(is_covered).fold(0, |all, id| all | bit(id))
    }

    /// The promise that is broken, if no device has anything left to do.
    pub(crate) fn violation(&self, bounds: &Bounds) -> Option<&'static str> {
        if (0..self.devices.len()).any(|at| !self.steps(at, bounds).is_empty()) {
            return None;
        }
        let first = &self.devices[0];
        if self.devices.iter().any(|device| self.place & !device.seen != 0) {
            return Some("an object stays unread");
        }
        if self.devices.iter().any(|device| device.heads != first.heads) {
            return Some("devices show different files");
        }
        let (mut texts, mut replaced, mut known, mut covered) = (0, 0, 0, 0);
        for id in ids(self.published) {
            let object = self.object(id);
            match object.kind {
                Kind::Text { over } | Kind::Deletion { over } => {
                    replaced |= over;
                    known |= over & object.shown;
                }
                Kind::Snapshot { .. } if has(self.place, id) => covered |= object.seen,
                Kind::Snapshot { .. } | Kind::Acknowledgement => {}
            }
            if matches!(object.kind, Kind::Text { .. }) {
                texts |= bit(id);
            }
        }
        if texts & !known & !first.heads != 0 {
            return Some("a text is lost that nobody has replaced knowing of it");
        }
        if first.heads & replaced != 0 {
            return Some("a text is back that was replaced");
        }
        // A device that was put back or copied forgets what it had written.
        let is_plain = self.restores + self.copies == 0 && self.snapshots == 1;
        let author = self
            .devices
            .iter()
            .find(|device| device.snapshot.is_some_and(|id| has(self.published, id)));
        if is_plain
            && author.is_some_and(|device| {
                ids(self.place & covered).any(|id| has(device.own, self.object(id).log))
            })
        {
            return Some("an object stays that a snapshot stands for");
        }
        None
    }
}

pub(crate) fn id_of(device: usize, number: usize) -> Id {
    assert!(number < 8, "a device has at most eight objects and logs in a model");
    Id::try_from(device * 8 + number).unwrap_or(Id::MAX)
}
