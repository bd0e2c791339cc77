//! A store's part in a circle of devices.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use inmost::{AnchorStatus, Session, StoreError};
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::CircleKey;
use inmost_format::secret::Wiped;
use serde::{Deserialize, Serialize};

use crate::device::{Device, Mark, random};
use crate::error::SyncError;
use crate::invitation;
use crate::object::{Circle, is_label, open};
use crate::place::Place;
use crate::place::open::open_place;
use crate::rules::{Rule, holds};
use crate::state_file::{StateFile, StateStore};
use crate::store::Store;
use crate::tree::FileId;

/// A store's part in a circle of devices. Its state is a sealed file in the folder of the store. Of the calls that change it, one
/// runs at a time on a store, and the others wait.
pub struct Sync<'s> {
    session: &'s Session,
    file: StateFile<'s>,
}

/// What a synchronisation did.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Objects that were put into the place.
    pub sent: usize,
    /// Objects of other devices that were read.
    pub received: usize,
    /// Changes of files in the store.
    pub changed: usize,
    /// Objects that cannot be read yet, because an earlier one is missing or they are not whole.
    pub waiting: usize,
    /// Paths of conflict copies that are shown, below `/memories/`.
    pub copies: Vec<String>,
    /// Paths of files that the store does not take, below `/memories/`.
    pub held: Vec<String>,
    /// Objects in the place from before texts were forgotten last. They are removed as the other devices synchronise.
    pub unforgotten: usize,
    /// Paths of files that were changed while another device forgot texts of them, below `/memories/`. Their texts stay.
    pub kept: Vec<String>,
}

/// A device of the circle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Member {
    /// Its name: a claim.
    pub label: String,
    /// The time of its clock when it published last, in milliseconds since 1970.
    pub time: u64,
}

/// What is known of the circle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// The name of this device.
    pub label: String,
    /// Where the place is.
    pub place: String,
    /// The logs of other devices. A device that was restored or copied has several.
    pub members: Vec<Member>,
    /// Objects that the place or the other devices may not have.
    pub outbox: usize,
    /// Logs that copies of one device have written to.
    pub forks: usize,
    /// Files with several texts or paths that nobody has chosen from.
    pub conflicts: usize,
}

impl<'s> Sync<'s> {
    /// The part of this store, whose folder is `folder`.
    #[must_use]
    pub fn new(session: &'s Session, folder: &Path) -> Self {
        Self { session, file: StateFile { session, path: folder.join("sync") } }
    }

    /// Begins a circle. The files of the store are published at the first [`run`](Self::run).
    ///
    /// # Errors
    /// [`SyncError::InvalidDeviceName`]; [`SyncError::AlreadyMember`]; [`SyncError::PlaceNotEmpty`]; [`SyncError::PlaceOverlapsStore`].
    pub fn init(&self, place: &dyn Place, location: &str, label: &str) -> Result<(), SyncError> {
        self.begin(new_circle(place)?, location, label)
    }

    /// Joins a circle with an invitation. Files that are in the store already become files of the circle at the first
    /// [`run`](Self::run). An empty place is taken for one that has not arrived yet.
    ///
    /// # Errors
    /// [`SyncError::InvalidDeviceName`]; [`SyncError::AlreadyMember`]; [`SyncError::PlaceOverlapsStore`];
    /// [`SyncError::InvalidInvitation`]; [`SyncError::OtherCircle`] if the place has objects and no first one of this circle.
    pub fn join(
        &self,
        place: &dyn Place,
        invitation: &str,
        location: &str,
        label: &str,
    ) -> Result<(), SyncError> {
        self.begin(invited(place, invitation)?, location, label)
    }

    /// Goes on in a new circle, in another place, without the devices of these names. They do not have its key: they read nothing that is
    /// published from now on. The others go on with [`follow`](Self::follow). What was published in the old place up to the last
    /// [`run`](Self::run) is taken along, so run once before; the next run publishes it in the new one.
    ///
    /// # Errors
    /// [`SyncError::NotAMember`]; [`SyncError::UnknownDevice`]; [`SyncError::PlaceNotEmpty`]; [`SyncError::PlaceOverlapsStore`];
    /// [`SyncError::ChangeTooLarge`] if all files, with the earlier texts that they carry, exceed 512 MiB. Then nothing has changed.
    pub fn remove(
        &self,
        labels: &[String],
        place: &dyn Place,
        location: &str,
    ) -> Result<(), SyncError> {
        let _turn = self.session.sync_turn()?;
        let mut device = self.device()?;
        for label in labels {
            device.end_logs_of(label)?;
        }
        self.go_on(device, new_circle(place)?, location)
    }

    /// Goes on in the circle of this invitation, which another device has begun with [`remove`](Self::remove). The old place is not read
    /// again, because removed devices may write to it. What this device knows comes along, also if it was not sent. With an invitation
    /// to its own circle, only the place changes.
    ///
    /// # Errors
    /// [`SyncError::NotAMember`]; [`SyncError::PlaceOverlapsStore`]; [`SyncError::InvalidInvitation`]; [`SyncError::OtherCircle`] as for
    /// [`join`](Self::join);
    /// [`SyncError::ChangeTooLarge`] as for [`remove`](Self::remove). Then nothing has changed.
    pub fn follow(
        &self,
        place: &dyn Place,
        invitation: &str,
        location: &str,
    ) -> Result<(), SyncError> {
        let _turn = self.session.sync_turn()?;
        self.go_on(self.device()?, invited(place, invitation)?, location)
    }

    fn go_on(&self, mut device: Device, circle: Circle, location: &str) -> Result<(), SyncError> {
        self.file.check_apart_from(location)?;
        device.go_on_in(circle, now())?;
        location.clone_into(&mut device.place);
        self.file.save(device.encode()?)
    }

    /// The invitation to the circle. With it and the place, anyone can read and change everything.
    ///
    /// # Errors
    /// [`SyncError::NotAMember`]; [`SyncError::StateUnreadable`].
    pub fn invitation(&self) -> Result<Wiped<String>, SyncError> {
        Ok(invitation::write(&self.device()?.circle))
    }

    /// As [`run`](Self::run), at the place where the circle was begun or joined.
    ///
    /// # Errors
    /// [`SyncError`]
    pub fn synchronise(&self, progress: &mut dyn FnMut(usize)) -> Result<Report, SyncError> {
        let _turn = self.session.sync_turn()?;
        let device = self.device()?;
        let place = open_place(&device.place).map_err(SyncError::PlaceUnavailable)?;
        self.run_at(device, &*place, progress)
    }

    /// Publishes, reads and shows changes, once. An error or a crash loses nothing: the next run goes on.
    ///
    /// # Errors
    /// [`SyncError`]
    pub fn run(
        &self,
        place: &dyn Place,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Report, SyncError> {
        let _turn = self.session.sync_turn()?;
        self.run_at(self.device()?, place, progress)
    }

    fn run_at(
        &self,
        device: Device,
        place: &dyn Place,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Report, SyncError> {
        let is_doubtful = matches!(
            self.session.status()?.anchor,
            AnchorStatus::Unknown | AnchorStatus::WasMissing
        );
        let session = self.session.acting_as("sync");
        run(device, &self.file, &session, place, (is_doubtful, now()), progress)
    }

    /// What is known of the circle.
    ///
    /// # Errors
    /// [`SyncError::NotAMember`]; [`SyncError::StateUnreadable`].
    pub fn status(&self) -> Result<Status, SyncError> {
        let device = self.device()?;
        let member = |(_, peer): (_, &crate::object::Peer)| Member {
            label: peer.label.clone(),
            time: peer.time,
        };
        let has_several =
            |file: &&crate::tree::FileHeads| file.texts.len() > 1 || file.paths.len() > 1;
        Ok(Status {
            members: device.peers.iter().map(member).collect(),
            outbox: device.outbox.len(),
            forks: device.chains.forks().count(),
            conflicts: device.heads.values().filter(has_several).count(),
            label: device.label,
            place: device.place,
        })
    }

    /// Leaves the circle. The files stay, here and on the other devices.
    ///
    /// # Errors
    /// [`SyncError::StateUnavailable`]; [`SyncError::Store`] in a forked child.
    pub fn leave(&self) -> Result<(), SyncError> {
        let _turn = self.session.sync_turn()?;
        self.file.remove()
    }

    fn begin(&self, circle: Circle, location: &str, label: &str) -> Result<(), SyncError> {
        if !is_label(label) {
            return Err(SyncError::InvalidDeviceName);
        }
        self.file.check_apart_from(location)?;
        let _turn = self.session.sync_turn()?;
        if self.file.load()?.is_some() {
            return Err(SyncError::AlreadyMember);
        }
        // Notes end with the circle that they were written for: in this one they would take away what others have. In no circle
        // none are written, so dropping them first leaves none, wherever this is interrupted.
        self.session.drop_noted_forgets(&self.session.noted_forgets()?)?;
        self.file.save(Device::new(circle, label.to_owned(), location.to_owned())?.encode()?)
    }

    fn device(&self) -> Result<Device, SyncError> {
        load(&self.file)
    }
}

/// The clock, in milliseconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

fn new_circle(place: &dyn Place) -> Result<Circle, SyncError> {
    if !place.list().map_err(SyncError::PlaceUnavailable)?.is_empty() {
        return Err(SyncError::PlaceNotEmpty);
    }
    let key = CircleKey::generate().map_err(|_| StoreError::RandomnessFailed)?;
    Ok(Circle { id: StoreId(random()?), key })
}

/// The circle of an invitation, if the place has a first object of it, or nothing.
fn invited(place: &dyn Place, invitation: &str) -> Result<Circle, SyncError> {
    let circle = invitation::parse(invitation)?;
    let listed = place.list().map_err(SyncError::PlaceUnavailable)?;
    if listed.is_empty() {
        return Ok(circle);
    }
    for dot in listed.iter().filter(|dot| dot.number == 1) {
        let bytes = place.get(dot).map_err(SyncError::PlaceUnavailable)?;
        if bytes.is_some_and(|bytes| open(&circle, dot, None, &bytes).is_some()) {
            return Ok(circle);
        }
    }
    Err(SyncError::OtherCircle)
}

pub(crate) fn load(states: &impl StateStore) -> Result<Device, SyncError> {
    Device::decode(states.load()?.ok_or(SyncError::NotAMember)?.as_slice())
}

/// One run. Every step that another one relies on is saved first.
pub(crate) fn run(
    device: Device,
    states: &impl StateStore,
    store: &impl Store,
    place: &dyn Place,
    (is_doubtful, now): (bool, u64),
    progress: &mut dyn FnMut(usize),
) -> Result<Report, SyncError> {
    let mut run = Run { saved: device.mark(), device, states, store, now };
    let mut report = Report::default();
    run.begin(is_doubtful)?;
    let mut listed = place.list().map_err(SyncError::PlaceUnavailable);
    // Without the place, local changes are captured all the same, so that their order is kept.
    let joins = run.device.vector.is_empty() && run.device.shown.is_empty();
    if joins {
        let found = listed?;
        run.pull(place, &found, &mut report, progress)?;
        listed = Ok(found);
    }
    run.capture()?;
    run.forget()?;
    if holds(Rule::SaveBeforePut) {
        run.save()?;
    }
    let listed = listed?;
    let mut whole = run.device.whole(place, &listed);
    // A place that is full or cannot be written can be read all the same.
    let mut sent = run.device.flush(place, &whole);
    run.device.settle(&whole);
    run.pull(place, &listed, &mut report, progress)?;
    whole.extend(run.device.outbox.iter().map(|sealed| sealed.dot));
    let mut is_done = false;
    for attempt in 0..=ATTEMPTS {
        run.device.make_plan(now);
        if run.device.plan.is_empty() || is_done || attempt == ATTEMPTS {
            break;
        }
        if holds(Rule::SaveBeforeShow) {
            run.save_anyway()?;
        }
        let done = run.device.carry_out(store)?;
        report.changed += done.changed;
        run.device.recover(store, Some(&done))?;
        is_done = !done.is_overtaken;
        if !is_done {
            run.capture()?;
        }
    }
    // What is still to be shown, the store does not take.
    let plan = std::mem::take(&mut run.device.plan);
    report.held = plan.into_values().flatten().map(|want| want.path).collect();
    report.kept = run.device.forget_here(store)?;
    if run.device.is_snapshot_due() {
        match run.device.make_snapshot(now) {
            // The log goes on.
            Err(SyncError::ChangeTooLarge) => {}
            made => made?,
        }
    } else if run.device.is_silent() {
        run.device.acknowledge(now)?;
    }
    run.device.commit = store.commit()?;
    run.save()?;
    if let Ok(sent) = &mut sent {
        // What was captured meanwhile.
        *sent += run.device.flush(place, &whole)?;
    }
    // Also in a place that takes no more: this makes room.
    let kept = run.device.outbox.len();
    let removed = run.device.collect(place, &listed)?;
    if run.device.outbox.len() != kept {
        run.save()?;
    }
    report.sent = sent?;
    report.unforgotten = run.device.unforgotten(&listed.difference(&removed).copied().collect());
    let shown = run.device.shown.values();
    let copies = shown.filter(|shown| shown.copy_of.is_some()).map(|shown| shown.path.clone());
    report.copies = copies.collect();
    Ok(report)
}

struct Run<'r, S, T> {
    device: Device,
    saved: Mark,
    states: &'r S,
    store: &'r T,
    now: u64,
}

impl<S: StateStore, T: Store> Run<'_, S, T> {
    /// Finds out what an interrupted run has done, and whether the store was put back.
    fn begin(&mut self, is_doubtful: bool) -> Result<(), SyncError> {
        let files = self.store.files()?;
        let mut shown = self.device.shown.values();
        let is_older = shown.any(|shown| {
            files.get(&shown.number).is_some_and(|entry| entry.version < shown.version)
        });
        let is_put_back = is_older || self.store.commit()? < self.device.commit;
        let is_new_doubt = is_doubtful && !self.device.was_doubtful;
        self.device.was_doubtful = is_doubtful;
        if is_put_back && holds(Rule::NoticePutBack) || is_new_doubt && holds(Rule::NoticeDoubt) {
            // What is in the store may be older than what was shown. It must not count as a change, nor what it lacks as deleted.
            self.device.shown.clear();
            self.device.former.clear();
            self.device.plan.clear();
            self.device.begin_log()?;
        }
        self.device.recover(self.store, None)
    }

    /// Takes over what was forgotten in the store.
    fn forget(&mut self) -> Result<(), SyncError> {
        let forgets = self.store.noted_forgets()?;
        if forgets.is_empty() {
            return Ok(());
        }
        self.capture_settled(&self.device.unsettled(&forgets))?;
        self.device.forget(&forgets);
        self.save_anyway()?;
        self.store.drop_noted(&forgets)
    }

    fn capture(&mut self) -> Result<(), SyncError> {
        self.capture_settled(&BTreeSet::new())
    }

    fn capture_settled(&mut self, settled: &BTreeSet<FileId>) -> Result<(), SyncError> {
        for attempt in 1.. {
            match self.device.capture(self.store, settled, self.now) {
                Err(SyncError::KeptChanging) if attempt < ATTEMPTS => {}
                captured => return captured,
            }
        }
        Ok(())
    }

    fn pull(
        &mut self,
        place: &dyn Place,
        listed: &BTreeSet<crate::chains::Dot>,
        report: &mut Report,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), SyncError> {
        let exchanged = self.device.pull(place, listed, progress)?;
        report.received += exchanged.read;
        report.waiting = exchanged.waiting;
        if exchanged.read > 0 { self.save() } else { Ok(()) }
    }

    /// Saves the device if it differs from what was saved.
    fn save(&mut self) -> Result<(), SyncError> {
        if self.device.mark() != self.saved || !holds(Rule::SaveBeforeShow) {
            return self.save_anyway();
        }
        // Without a rule, a failure of this would look like one that the rule prevents.
        #[cfg(test)]
        if crate::rules::switch::OFF.get().is_none() {
            let saved = self.states.load()?;
            let now = self.device.encode()?;
            assert!(
                saved.is_some_and(|saved| *saved == *now),
                "a change leaves the mark as it was"
            );
        }
        Ok(())
    }

    fn save_anyway(&mut self) -> Result<(), SyncError> {
        self.states.save(self.device.encode()?)?;
        self.saved = self.device.mark();
        Ok(())
    }
}

/// How often a run looks at a store again that somebody else changes meanwhile.
const ATTEMPTS: usize = 5;
