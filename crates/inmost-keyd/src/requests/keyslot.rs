//! Requests for keyslots.

use inmost::{FileError, SlotInfo, SlotKind, StoreError};
use serde::{Deserialize, Serialize};

use crate::request::{Context, Request};
use crate::secret::{Secret, SlotOptions};

#[derive(Serialize, Deserialize)]
pub(crate) struct Slots;

impl Request for Slots {
    type Reply = Vec<SlotInfo>;

    fn is_change(&self) -> bool {
        false
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        Ok(context.session.slots()?)
    }
}

/// The body is the credential.
#[derive(Serialize, Deserialize)]
pub(crate) struct AddSlot {
    pub(crate) kind: SlotKind,
    pub(crate) options: SlotOptions,
}

impl Request for AddSlot {
    type Reply = u8;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<u8, FileError> {
        let secret = secret(self.kind, body)?;
        Ok(context.session.add_slot(&self.options.slot(&secret))?)
    }
}

/// The body is the credential.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReplaceSlot {
    pub(crate) number: u8,
    pub(crate) kind: SlotKind,
    pub(crate) options: SlotOptions,
}

impl Request for ReplaceSlot {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        let secret = secret(self.kind, body)?;
        Ok(context.session.replace_slot(self.number, &self.options.slot(&secret))?)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RemoveSlot {
    pub(crate) number: u8,
}

impl Request for RemoveSlot {
    type Reply = ();

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, _: &[u8], context: &mut Context<'_>) -> Result<(), FileError> {
        Ok(context.session.remove_slot(self.number)?)
    }
}

/// The body is the credential to keep.
#[derive(Serialize, Deserialize)]
pub(crate) struct Rotate {
    pub(crate) keep: SlotKind,
}

impl Request for Rotate {
    type Reply = Vec<SlotInfo>;

    fn is_change(&self) -> bool {
        true
    }

    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError> {
        let keep = secret(self.keep, body)?;
        let rewrite = context.session.with_progress(&mut *context.progress);
        Ok(rewrite.rotate(keep.credential())?)
    }
}

fn secret(kind: SlotKind, body: &[u8]) -> Result<Secret, StoreError> {
    Ok(Secret::from_bytes(kind, body)?)
}
