//! What may happen between a host and its server.

/// The kinds of operation of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Reads records by address.
    Read,
    /// Asks for what has changed.
    Pull,
    /// Submits a batch.
    Apply,
    /// Begins a transaction.
    Begin,
    /// Waits for another transaction to end.
    Wait,
    /// Reads or creates the header, or lists generations.
    Header,
    /// Creates a generation.
    Create,
    /// Renews a lease.
    Lease,
    /// Removes generations.
    Remove,
}

/// What happens to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The server performs it, and the reply arrives.
    Perform,
    /// The server cannot be reached, and the host knows that nothing happened.
    Refuse,
    /// A batch does not arrive, and the host cannot know that. Reads fail.
    LoseRequest,
    /// The server performs a batch, and the reply is lost. Reads fail.
    LoseReply,
    /// A batch waits in a connection that its sender has given up, until [`deliver`](super::SharedMemory::deliver). Reads fail.
    Delay,
    /// The server performs a batch twice, or once in a transaction, and the last reply arrives. Reads fail.
    Double,
    /// The host ends before the operation. All of its later operations fail.
    Die,
}

/// The network between the hosts and a server.
pub trait Network: Send + Sync {
    /// Decides about an operation. It may block, to let other hosts go first: the server is not locked meanwhile.
    fn before(&self, host: u64, operation: Operation) -> Verdict;

    /// How many calls a host can make at once, of which an open transaction is one.
    fn most_connections(&self) -> usize {
        usize::MAX
    }

    /// Whether `before` decides which host goes next. A host that waits for a lock then asks again and again.
    fn is_scheduled(&self) -> bool {
        false
    }
}

/// A network without faults.
pub struct Sound;

impl Network for Sound {
    fn before(&self, _host: u64, _operation: Operation) -> Verdict {
        Verdict::Perform
    }
}
