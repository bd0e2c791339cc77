//! The expiry of unused files of a store that a key daemon holds.

use std::time::Duration;

use inmost::{
    Expiry, ExpiryReport, ExpirySettings, ExpiryStatus, ExpiryStore, FileError, StoreError,
};

use super::Client;
use crate::requests::expiry::{self, Expire, SetExpiry};

impl ExpiryStore for Client {
    fn expire(
        &self,
        unused_for: Duration,
        dry_run: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ExpiryReport, FileError> {
        self.connection()?.call(Expire { unused_for, dry_run }, &[], progress)
    }

    fn expiry_status(&self) -> Result<ExpiryStatus, StoreError> {
        self.ask(expiry::ExpiryStatus)
    }

    fn set_expiry(&self, settings: ExpirySettings) -> Result<(), StoreError> {
        self.ask(SetExpiry { settings })
    }
}

impl Client {
    /// The expiry of unused files of the store.
    #[must_use]
    pub fn expiry(&self) -> Expiry<'_> {
        Expiry::new(self)
    }
}
