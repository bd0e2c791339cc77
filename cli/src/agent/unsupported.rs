//! Systems without sockets of this kind have no key agent: every command opens the store itself.

use std::path::Path;

use super::{AgentFacts, Limits};
use crate::exit::Failure;
use crate::secret::Secret;
use crate::store::facts::Freshness;
use crate::store::request::{Reply, Request};
use crate::store::restrictions::Restrictions;
use crate::wiped::Wiped;

/// There is none.
pub(crate) enum Connection {}

impl Connection {
    pub(crate) fn ask(
        &mut self,
        _: &Request,
        _: &[u8],
        _: &mut dyn FnMut(u64),
    ) -> Result<(Reply, Wiped), Failure> {
        match *self {}
    }

    pub(crate) fn facts(&mut self) -> Result<AgentFacts, Failure> {
        match *self {}
    }

    pub(crate) fn lock_first(&self) -> Failure {
        match *self {}
    }
}

pub(crate) fn connect(
    _: &Path,
    _: Option<&Path>,
    _: &Restrictions,
) -> Result<Option<Connection>, Failure> {
    Ok(None)
}

pub(crate) fn lock(_: &Path) -> Result<bool, Failure> {
    Ok(false)
}

pub(crate) fn start(
    _: &Path,
    _: Option<&Path>,
    _: Limits,
    _: &Secret,
) -> Result<Freshness, Failure> {
    Err(unsupported())
}

pub(crate) fn start_here(
    _: &Path,
    _: Option<&Path>,
    _: Limits,
    _: Secret,
    _: impl FnOnce(Freshness) -> Result<(), Failure>,
) -> Result<(), Failure> {
    Err(unsupported())
}

pub(crate) fn run() -> Result<(), Failure> {
    Err(unsupported())
}

fn unsupported() -> Failure {
    Failure::usage(
        "This system has no key agent.",
        "Give the passphrase to each command, for example with --passphrase-command.",
    )
}
