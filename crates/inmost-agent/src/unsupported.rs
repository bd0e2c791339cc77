//! Systems without Unix sockets have no key agent: every program opens the store itself.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

use inmost::{AnchorStatus, FileError};

use crate::client::ConnectOptions;
use crate::error::AgentError;
use crate::facts::AgentOptions;
use crate::message::ClientMessage;
use crate::request::Request;
use crate::secret::Secret;

/// Has no values: there is no agent on this system.
pub(crate) enum Connection {}

impl Connection {
    pub(crate) fn process(&self) -> u32 {
        match *self {}
    }

    pub(crate) fn call<R: Request + Into<ClientMessage>>(
        &mut self,
        _: R,
        _: &[u8],
        _: &mut dyn FnMut(u64),
    ) -> Result<R::Reply, FileError> {
        match *self {}
    }
}

pub(crate) fn connect(_: &Path, _: &ConnectOptions) -> Result<Option<Connection>, AgentError> {
    Ok(None)
}

/// Does nothing: there is no agent on this system.
///
/// # Errors
/// None.
pub fn lock(_: impl AsRef<Path>) -> Result<bool, AgentError> {
    Ok(false)
}

/// Returns 0: there is no agent on this system.
///
/// # Errors
/// None.
pub fn lock_all() -> Result<usize, AgentError> {
    Ok(0)
}

/// Fails: there is no agent on this system.
///
/// # Errors
/// [`AgentError::Unsupported`].
pub fn start(
    _: Command,
    _: &Path,
    _: &AgentOptions,
    _: &Secret,
) -> Result<AnchorStatus, AgentError> {
    Err(AgentError::Unsupported)
}

/// Fails: there is no agent on this system.
///
/// # Errors
/// [`AgentError::Unsupported`].
pub fn serve<E: From<AgentError>>(
    _: &Path,
    _: &AgentOptions,
    _: Secret,
    _: impl FnOnce(AnchorStatus) -> Result<(), E>,
) -> Result<(), E> {
    Err(AgentError::Unsupported.into())
}

/// Fails: there is no agent on this system.
///
/// # Errors
/// [`AgentError::Unsupported`].
pub fn run_in_background(_: impl Read, _: impl Write) -> Result<(), AgentError> {
    Err(AgentError::Unsupported)
}
