//! The memory tool over the Model Context Protocol, on standard input and output.
//!
//! The server talks, and a worker on a thread of its own has the store, since calls block. Calls are carried out in
//! the order in which they come. Standard output belongs to the protocol; a person reads standard error.

mod memory_tool;
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
pub(crate) fn serve(store: &StoreArgs, restrictions: &Restrictions) -> Result<(), Failure> {
    let (calls, to_answer) = mpsc::channel();
    thread::scope(|scope| {
        let worker = scope.spawn(move || worker::run(store, restrictions, &to_answer));
        // The server takes the sending end with it; then the worker finishes its call and closes the store.
        let ended = server::run(server::Server::new(calls, restrictions));
        worker.join().unwrap_or_else(|fault| panic::resume_unwind(fault));
        ended
    })
}
