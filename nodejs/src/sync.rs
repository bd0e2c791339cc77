//! The part of a store in a circle of devices.

use std::path::Path;

use inmost::Wiped;
use inmost_keyd::OpenSync;
use inmost_sync::{Report, Status, SyncError};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::progress::{NativeProgress, counter};
use crate::records::number;
use crate::store::NativeStore;
use crate::task::{Convert, Work, plain};
use crate::text::Text;

/// What a synchronisation did.
#[napi(object, object_from_js = false)]
pub struct SyncReport {
    pub sent: i64,
    pub received: i64,
    pub changed: i64,
    pub waiting: i64,
    #[napi(ts_type = "Array<string>")]
    pub copies: Vec<Text>,
    #[napi(ts_type = "Array<string>")]
    pub held: Vec<Text>,
    pub unforgotten: i64,
    #[napi(ts_type = "Array<string>")]
    pub kept: Vec<Text>,
}

/// Another device of a circle.
#[napi(object, object_from_js = false)]
pub struct SyncMember {
    pub name: String,
    pub time_ms: i64,
}

/// What is known of a circle of devices.
#[napi(object, object_from_js = false)]
pub struct SyncStatus {
    pub name: String,
    pub place: String,
    pub members: Vec<SyncMember>,
    pub outbox: i64,
    pub conflicts: i64,
    pub forks: i64,
}

impl NativeStore {
    fn with_sync<T: Send + 'static>(
        &self,
        convert: Convert<T>,
        work: impl FnOnce(&OpenSync<'_>) -> Result<T, SyncError> + Send + 'static,
    ) -> AsyncTask<Work<T>> {
        let folder = self.shared.folder().map(Path::to_owned);
        self.with(convert, move |store| {
            let folder = folder.ok_or(SyncError::NoFolder)?;
            work(&store.sync(&folder))
        })
    }
}

#[napi]
impl NativeStore {
    /// Begins a circle of devices in a place.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn sync_init(&self, place: String, name: String) -> AsyncTask<Work<()>> {
        self.with_sync(plain, move |circle| circle.init(place.as_ref(), &name))
    }

    /// Joins the circle of an invitation.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn sync_join(
        &self,
        place: String,
        invitation: String,
        name: String,
    ) -> AsyncTask<Work<()>> {
        let invitation = Wiped::new(invitation);
        self.with_sync(plain, move |circle| circle.join(place.as_ref(), &invitation, &name))
    }

    /// Goes on in a new place with a new key, without the devices of these names.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn sync_remove(&self, names: Vec<String>, to: String) -> AsyncTask<Work<()>> {
        self.with_sync(plain, move |circle| circle.remove(&names, to.as_ref()))
    }

    /// Follows the other devices into the place that they have gone on in.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn sync_follow(&self, place: String, invitation: String) -> AsyncTask<Work<()>> {
        let invitation = Wiped::new(invitation);
        self.with_sync(plain, move |circle| circle.follow(place.as_ref(), &invitation))
    }

    /// The invitation for another device: a secret.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn sync_invitation(&self) -> AsyncTask<Work<Text>> {
        self.with_sync(plain, |circle| Ok(Text::of(circle.invitation()?.as_str())))
    }

    /// Sends what has changed, reads what the others have sent, and shows both.
    #[napi(ts_return_type = "Promise<SyncReport>")]
    pub fn sync_run(&self, progress: Option<&NativeProgress>) -> AsyncTask<Work<SyncReport>> {
        let progress = counter(progress);
        self.with_sync(plain, |circle| circle.run(progress).map(report))
    }

    /// The other devices, and what waits.
    #[napi(ts_return_type = "Promise<SyncStatus>")]
    pub fn sync_status(&self) -> AsyncTask<Work<SyncStatus>> {
        self.with_sync(plain, |circle| circle.status().map(status))
    }

    /// Leaves the circle. The files stay everywhere.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn sync_leave(&self) -> AsyncTask<Work<()>> {
        self.with_sync(plain, |circle| {
            circle.leave()?;
            Ok(())
        })
    }
}

fn report(report: Report) -> SyncReport {
    let Report { sent, received, changed, waiting, copies, held, unforgotten, kept, .. } = report;
    SyncReport {
        sent: size(sent),
        received: size(received),
        changed: size(changed),
        waiting: size(waiting),
        copies: texts(copies),
        held: texts(held),
        unforgotten: size(unforgotten),
        kept: texts(kept),
    }
}

fn status(status: Status) -> SyncStatus {
    let Status { label: name, place, members, outbox, conflicts, forks, .. } = status;
    let member = |member: inmost_sync::Member| SyncMember {
        name: member.label,
        time_ms: number(member.time),
    };
    SyncStatus {
        name,
        place,
        members: members.into_iter().map(member).collect(),
        outbox: size(outbox),
        conflicts: size(conflicts),
        forks: size(forks),
    }
}

fn texts(paths: Vec<String>) -> Vec<Text> {
    paths.into_iter().map(|path| Text::of(&Wiped::new(path))).collect()
}

fn size(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
