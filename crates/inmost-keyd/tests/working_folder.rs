//! A program that changes its working folder still locks the store that it connected to by a relative path. Regression: the
//! client kept the path as it was given, found no store there, and reported a lock that had not happened.
#![cfg(unix)]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "`fork` and `waitpid` are calls of C; a test stops at an unexpected value"
)]

use std::io::{self, Read, Write};
use std::time::Duration;

use inmost::{Vault, VaultOptions};
use inmost_keyd::{Client, DaemonError, DaemonOptions, Limits, Secret};
use inmost_testing::{CHEAP, passphrase};

/// Ends the process of the daemon if the test fails.
struct Daemon(libc::pid_t);

impl Drop for Daemon {
    fn drop(&mut self) {
        // SAFETY: both calls only name a child of this process, which nobody else waits for.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

#[test]
fn a_client_locks_its_store_after_a_change_of_the_working_folder() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("store");
    let (mut ready, mut started) = io::pipe().unwrap();
    // SAFETY: the child uses the C library and the allocator, which support a fork of several threads.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // The store is made here: a forked child may not use one of its parent's.
        // SAFETY: changes nothing but the timer of the child, which ends a child that hangs.
        unsafe { libc::alarm(60) };
        let options = VaultOptions::new().kdf_cost(CHEAP);
        options.create(&store, &passphrase()).unwrap().lock();
        let limits = Limits { idle: Duration::from_secs(60), total: Duration::from_secs(60) };
        let (secret, options) = (Secret::new(passphrase(), None), DaemonOptions::new(limits));
        let served = inmost_keyd::serve::<DaemonError>(&store, &options, secret, |_| {
            started.write_all(b"!").unwrap();
            Ok(())
        });
        std::process::exit(i32::from(served.is_err()));
    }
    let _daemon = Daemon(child);
    drop(started);
    ready.read_exact(&mut [0]).unwrap();

    std::env::set_current_dir(home.path()).unwrap();
    let client = Client::connect("store").unwrap().unwrap();
    std::env::set_current_dir("/").unwrap();
    client.lock().unwrap();
    assert!(client.status().is_err());
    assert!(Client::connect(&store).unwrap().is_none());
    Vault::open(&store).unwrap().unlock(&passphrase()).unwrap().lock();
}
