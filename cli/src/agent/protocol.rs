//! What client and agent say to each other.
//!
//! The client begins with a [`Hello`], and the agent answers with a [`Welcome`]. Then each request is answered by any
//! number of [`Said::Progress`] and one of the others. Whoever changes anything but the fields that a `Hello` may leave out
//! counts [`VERSION`] up: both sides are of one version or hear that they are not.

use serde::{Deserialize, Serialize};

use super::AgentFacts;
use crate::exit::Failure;
use crate::store::request::Reply;
use crate::store::restrictions::Restrictions;

/// The version of everything that follows.
pub(super) const VERSION: u32 = 1;

/// What a client says first. Its bytes are the path of the anchor that it was given, if any.
#[derive(Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) version: u32,
    #[serde(default)]
    pub(super) purpose: Purpose,
    /// The folder of the store as the client sees it.
    #[serde(default)]
    pub(super) folder: Option<Folder>,
    /// What the connection is restricted to from now on, for good.
    #[serde(default)]
    pub(super) restrictions: Option<Restrictions>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum Purpose {
    #[default]
    Work,
    /// The agent locks the store and ends, which ends the connection. Understood in every version.
    Lock,
}

/// Device and inode of a folder, which tell it from another one that took its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Folder {
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// What an agent answers to a `Hello`.
#[derive(Serialize, Deserialize)]
pub(super) enum Welcome {
    Come {
        process: u32,
    },
    /// The agent is about to end; whoever wants the store is free to take it then.
    Ending,
    Refused(Failure),
}

/// What is asked on a connection; a client lends its request.
#[derive(Serialize, Deserialize)]
pub(super) enum Asked<R> {
    Store(R),
    /// What the agent says of itself.
    Facts,
}

/// What the agent says to it.
#[derive(Serialize, Deserialize)]
pub(super) enum Said {
    Progress(u64),
    Reply(Reply),
    Facts(AgentFacts),
    Failed(Failure),
}
