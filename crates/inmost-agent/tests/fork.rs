//! A forked child must not use its parent's connection to the key agent.
#![cfg(unix)]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "`fork` and `waitpid` are calls of C; a test stops at an unexpected value"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use inmost::{Files, KdfCost, Passphrase, StoreError, VaultOptions};
use inmost_agent::{AgentError, AgentOptions, Client, Limits, Secret};

fn passphrase() -> Passphrase {
    Passphrase::new("correct horse battery staple").unwrap()
}

#[test]
fn a_client_is_refused_in_a_child_which_can_connect_its_own() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("store");
    let options = VaultOptions::new().kdf_cost(KdfCost::new(19_456, 2, 1));
    options.create(&store, &passphrase()).unwrap().lock();
    let limits = Limits { idle: Duration::from_secs(600), total: Duration::from_secs(600) };
    let (ready, wait) = mpsc::channel();
    let place = store.clone();
    // It ends with this process.
    thread::spawn(move || {
        let secret = Secret::new(passphrase(), None);
        inmost_agent::serve::<AgentError>(&place, &AgentOptions::new(limits), secret, |_| {
            ready.send(()).unwrap();
            Ok(())
        })
    });
    let started = wait.recv_timeout(std::time::Duration::from_secs(120));
    started.expect("the agent did not start in time");

    let client = Client::connect(&store).unwrap().unwrap();
    Files::new(&client).write("/memories/a", "before").unwrap();
    // SAFETY: the child uses the C library and the allocator, which support a fork of several threads.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: changes nothing but the timer of the child, which ends a child that hangs.
        unsafe { libc::alarm(60) };
        let passed = catch_unwind(AssertUnwindSafe(|| {
            assert!(matches!(client.status(), Err(StoreError::Forked)));
            assert!(Files::new(&client).read("/memories/a").is_err());
            assert!(matches!(client.lock(), Err(AgentError::Store(StoreError::Forked))));
            drop(client);
            let own = Client::connect(&store).unwrap().unwrap();
            assert_eq!(Files::new(&own).read("/memories/a").unwrap().as_str(), "before");
        }));
        std::process::exit(i32::from(passed.is_err()));
    }
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!(Files::new(&client).read("/memories/a").unwrap().as_str(), "before");
}
