//! The threads that read and change the store, so that no key ever waits for it.
//!
//! One thread does the requests in their order. Another searches, page by page, and stops at the next key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use inmost::FileText;

use super::event::{Job, Reply, Request};
use super::jobs;
use super::searcher::{GoOn, Searcher};
use super::tree::Ticket;
use crate::run::Guard;

/// What the threads send to the loop of the browser.
pub(super) enum Sent {
    /// A reply, and the number of the threads that sent it. Those of a store that was locked since are dropped.
    Reply(u64, Box<Reply>),
    /// A thread has ended by a panic.
    Panicked,
}

/// The threads of one open store. They end when this is dropped.
pub(super) struct Workers {
    requests: Sender<Request>,
    searches: Sender<(Ticket, FileText)>,
    newest: Arc<Newest>,
}

/// The newest tickets. Older work is left out.
#[derive(Default)]
struct Newest {
    show: AtomicU64,
    search: AtomicU64,
}

impl Workers {
    /// Starts the threads. `send` returns whether the browser still runs.
    pub(super) fn start(
        store: &Arc<Guard>,
        number: u64,
        send: &(impl Fn(Sent) -> bool + Clone + Send + 'static),
    ) -> Self {
        let newest = Arc::new(Newest::default());
        let (requests, jobs) = mpsc::channel();
        let (searches, queries) = mpsc::channel();
        let reply = {
            let send = send.clone();
            move |reply| send(Sent::Reply(number, Box::new(reply)))
        };
        let (shared, mine, reply_too) = (Arc::clone(store), Arc::clone(&newest), reply.clone());
        spawn(send, move || work(&shared, &jobs, &mine, &reply_too));
        let (shared, mine) = (Arc::clone(store), Arc::clone(&newest));
        spawn(send, move || look(&shared, &queries, &mine, &reply));
        Self { requests, searches, newest }
    }

    /// Queues a request. A thread that has ended by a panic has sent that already.
    pub(super) fn ask(&self, request: Request) {
        if matches!(request.job, Job::Show(_) | Job::Diff(_)) {
            self.newest.show.store(request.ticket, Ordering::Release);
        }
        let _ = self.requests.send(request);
    }

    /// Ends the search that runs, and starts this one, if there is one. For an empty text, it gets ready.
    pub(super) fn search(&self, ticket: Ticket, query: Option<FileText>) {
        self.newest.search.store(ticket, Ordering::Release);
        if let Some(query) = query {
            let _ = self.searches.send((ticket, query));
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.newest.search.store(Ticket::MAX, Ordering::Release);
        self.newest.show.store(Ticket::MAX, Ordering::Release);
    }
}

fn spawn(
    send: &(impl Fn(Sent) -> bool + Clone + Send + 'static),
    work: impl FnOnce() + Send + 'static,
) {
    let send = send.clone();
    thread::spawn(move || {
        let _alarm = Alarm(send);
        work();
    });
}

/// Tells the browser about a panic of its thread.
struct Alarm<S: Fn(Sent) -> bool>(S);

impl<S: Fn(Sent) -> bool> Drop for Alarm<S> {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.0)(Sent::Panicked);
        }
    }
}

fn work(
    store: &Guard,
    requests: &Receiver<Request>,
    newest: &Newest,
    reply: &impl Fn(Reply) -> bool,
) {
    for Request { ticket, job } in requests {
        let is_old = ticket < newest.show.load(Ordering::Acquire);
        if is_old && matches!(job, Job::Show(_) | Job::Diff(_)) {
            continue;
        }
        if !reply(jobs::run(store, ticket, job)) {
            return;
        }
    }
}

fn look(
    store: &Guard,
    queries: &Receiver<(Ticket, FileText)>,
    newest: &Newest,
    reply: &impl Fn(Reply) -> bool,
) {
    let mut searcher = Searcher::default();
    // As soon as the browser starts, until the first search.
    let mut is_first = |_| newest.search.load(Ordering::Acquire) == Ticket::MIN;
    searcher.prepare(store, false, &mut is_first);
    for (ticket, query) in queries {
        let go_on: GoOn<'_> = &mut |hits| {
            // Hits that nobody waits for are not sent either.
            newest.search.load(Ordering::Acquire) == ticket
                && hits.is_none_or(|hits| reply(Reply::Hits { ticket, hits }))
        };
        if query.as_str().is_empty() {
            searcher.prepare(store, true, go_on);
        } else {
            searcher.search(store, query.as_str(), go_on);
        }
    }
}
