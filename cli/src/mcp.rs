//! The memory tool over the Model Context Protocol, on standard input and output.
//!
//! The server handles the protocol. A worker thread holds the store, because calls block. Calls run in the order in which
//! they arrive. Standard output carries only the protocol; errors for a person go to standard error.

mod memory_tool;
mod message;
mod resources;
mod server;
mod transport;
mod worker;

pub(crate) mod client_config;

use std::panic;
use std::sync::mpsc;
use std::thread;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::store::restrictions::Restrictions;

/// Serves until standard input ends.
pub(crate) fn serve(
    store: &StoreArgs,
    actor: Option<&str>,
    tool: Option<&str>,
    search: bool,
    restrictions: &Restrictions,
) -> Result<(), Failure> {
    let (calls, queue) = mpsc::channel();
    thread::scope(|scope| {
        let worker = scope.spawn(move || worker::run(store, actor, restrictions, &queue));
        // The server drops the sender when it ends. The worker then finishes its call and closes the store.
        let served = server::run(server::Server::new(calls, tool, search, restrictions));
        worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        served
    })
}
