//! Requests for the expiry of unused files.

use std::time::Duration;

use inmost::{ExpiryReport, ExpirySettings, ExpiryStore, FileError};
use serde::{Deserialize, Serialize};

use crate::request::{Context, Request};

#[derive(Serialize, Deserialize)]
pub(crate) struct Expire {
    pub(crate) unused_for: Duration,
    pub(crate) dry_run: bool,
}

impl Request for Expire {
    type Reply = ExpiryReport;

    fn is_change(&self) -> bool {
        !self.dry_run
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<ExpiryReport, FileError> {
        context.session.expire(self.unused_for, self.dry_run, &mut *context.progress)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ExpiryStatus;

impl Request for ExpiryStatus {
    type Reply = inmost::ExpiryStatus;

    const IS_USE: bool = false;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        Ok(context.session.expiry_status()?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SetExpiry {
    pub(crate) settings: ExpirySettings,
}

impl Request for SetExpiry {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        Ok(context.session.set_expiry(self.settings)?)
    }
}
