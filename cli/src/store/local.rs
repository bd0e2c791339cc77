//! A store that this process holds. Whoever asks, a command here or one that is connected to this process, is answered
//! by the same code.

use inmost::{FileError, MemoryTool, NewSlot, Session, SlotLabel};

use super::request::{NewKey, Reply, Request};
use super::restrictions::Restrictions;
use super::wire_path;
use crate::exit::{Exit, Failure};
use crate::secret::Secret;
use crate::wiped::Wiped;

/// An unlocked store, and how much of it may be asked for.
pub(crate) struct Local {
    session: Session,
    tool: MemoryTool,
    is_confined: bool,
}

impl Local {
    pub(crate) fn new(session: Session, restrictions: &Restrictions) -> Result<Self, Failure> {
        let tool = restrictions.tool(&session)?;
        Ok(Self { session, tool, is_confined: restrictions.confine() })
    }

    pub(super) fn lock(&self) {
        self.session.lock();
    }

    /// Does what is asked, and answers with the bytes that go with the reply. `progress` is told how many records a
    /// long request has come through.
    pub(crate) fn carry_out(
        &self,
        request: &Request,
        bytes: &[u8],
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Reply, Wiped), Failure> {
        if self.is_confined && !matches!(request, Request::Call) {
            return Err(Failure::new(
                Exit::Other,
                "The store is restricted to calls of the memory tool here.",
                "Use a command that is not restricted.",
            ));
        }
        let (session, files) = (&self.session, self.session.files());
        let mut content = Wiped::new();
        let reply = match request {
            Request::Call => {
                let (result, failed) = self.tool.answer(bytes);
                let is_error = result.is_error();
                let tool_use_id = result.tool_use_id().map(str::to_owned);
                content = Wiped::from(result.into_content().into_bytes());
                Reply::Answer { is_error, tool_use_id, failure: failed.map(Failure::from) }
            }
            Request::Read { path } => match files.read(path) {
                Ok(text) => {
                    content.append(text.as_str().as_bytes());
                    Reply::Text
                }
                Err(FileError::NotFound) => Reply::Missing,
                Err(error) => return Err(error.into()),
            },
            Request::Write { path } => {
                files.write(path, text(bytes)?)?;
                Reply::Done
            }
            Request::List { path } => match files.list(path) {
                Ok(entries) => Reply::Entries(entries.into_iter().map(Into::into).collect()),
                Err(FileError::NotFound) => Reply::Missing,
                Err(error) => return Err(error.into()),
            },
            Request::Remove { path } => {
                files.remove(path)?;
                Reply::Done
            }
            Request::Rename { old, new } => {
                files.rename(old, new)?;
                Reply::Done
            }
            Request::Status => Reply::Status(session.status()?.into()),
            Request::CompactionDue => Reply::IsDue(session.compaction_due()?),
            Request::Check => Reply::Report(session.check(progress)?.into()),
            Request::Repair => Reply::Dropped(session.repair(progress)?.into()),
            Request::Purge => {
                session.purge(progress)?;
                Reply::Done
            }
            Request::Migrate { engine } => {
                session.migrate(engine.engine(), progress)?;
                Reply::Done
            }
            Request::Backup => {
                session.backup(wire_path::decode(bytes), progress)?;
                Reply::Done
            }
            Request::Slots => Reply::Slots(session.slots()?.into_iter().map(Into::into).collect()),
            Request::AddSlot(key) => {
                let secret = Secret::from_bytes(key.shape, bytes)?;
                Reply::Added(session.add_slot(&slot(key, &secret)?)?)
            }
            Request::ReplaceSlot { number, key } => {
                let secret = Secret::from_bytes(key.shape, bytes)?;
                session.replace_slot(*number, &slot(key, &secret)?)?;
                Reply::Done
            }
            Request::RemoveSlot { number } => {
                session.remove_slot(*number)?;
                Reply::Done
            }
            Request::Rotate { keep } => {
                let keep = Secret::from_bytes(*keep, bytes)?;
                let dropped = session.rotate(keep.credential(), progress)?;
                Reply::Slots(dropped.into_iter().map(Into::into).collect())
            }
        };
        Ok((reply, content))
    }
}

fn slot<'s>(key: &NewKey, secret: &'s Secret) -> Result<NewSlot<'s>, Failure> {
    let mut slot = NewSlot::new(secret.credential());
    if let Some(cost) = key.cost {
        slot = slot.kdf_cost(cost.into());
    }
    if let Some(label) = &key.label {
        slot = slot.label(SlotLabel::parse(label)?);
    }
    Ok(slot)
}

fn text(bytes: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| {
        Failure::new(
            Exit::Other,
            "The text is not UTF-8.",
            "Convert it first; nothing was written.",
        )
    })
}
