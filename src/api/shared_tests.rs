//! Tests of sessions of several hosts on one store, over the shared store in memory.

mod basics;
mod headers;
mod leases;
mod liar;
mod lies;
mod linearizable;
mod malicious;
mod marks;
mod modelled;
mod no_ops;
mod outcomes;
mod scheduler;
mod simulation;
mod slots;
mod spec;
mod trips;
mod zones;

use std::sync::Arc;
use std::time::Duration;

use inmost_engines::memory::shared::{SharedHost, SharedMemory};
use inmost_format::crypto::keys::RawKey;
use inmost_storage::EngineKind;

use crate::session::{Session, SessionOptions, StoreError, Vault, VaultOptions};

/// A store that hosts share, and its credential.
#[derive(Clone)]
pub(crate) struct SharedStore {
    pub(crate) server: SharedMemory,
    pub(crate) options: VaultOptions,
}

pub(crate) fn raw_key() -> RawKey {
    RawKey::from_bytes(&[7; 32])
}

impl SharedStore {
    /// A new store, and a session on it.
    pub(crate) fn create() -> (Self, Session) {
        Self::create_with(VaultOptions::new())
    }

    pub(crate) fn create_with(options: VaultOptions) -> (Self, Session) {
        // Nobody waits for a server in memory.
        let options = options.session(SessionOptions::new().outcome_timeout(Duration::ZERO));
        let store = Self { server: SharedMemory::default(), options };
        let host = Arc::new(store.server.host());
        let session = store.options.create_shared(host, EngineKind::Memory, &raw_key()).unwrap();
        (store, session)
    }

    /// A session of another host.
    pub(crate) fn unlock(&self) -> Session {
        self.try_unlock(self.server.host()).unwrap()
    }

    pub(crate) fn vault(&self, host: SharedHost) -> Result<Vault, StoreError> {
        self.options.open_storage(Arc::new(host))
    }

    pub(crate) fn try_unlock(&self, host: SharedHost) -> Result<Session, StoreError> {
        self.vault(host)?.unlock_with(&raw_key())
    }
}
