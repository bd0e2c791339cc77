//! A forked child must not use its parent's connection to the key daemon.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at an unexpected value")]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use inmost::{Files, StoreError, VaultOptions};
use inmost_keyd::{Client, DaemonError, DaemonOptions, Limits, Secret};
use inmost_testing::{CHEAP, in_child, passphrase};

#[test]
fn a_client_is_refused_in_a_child_which_can_connect_its_own() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("store");
    let options = VaultOptions::new().kdf_cost(CHEAP);
    options.create(&store, &passphrase()).unwrap().lock();
    let limits = Limits { idle: Duration::from_secs(600), total: Duration::from_secs(600) };
    let (ready, wait) = mpsc::channel();
    let place = store.clone();
    // It ends with this process.
    thread::spawn(move || {
        let secret = Secret::new(passphrase(), None);
        inmost_keyd::serve::<DaemonError>(&place, &DaemonOptions::new(limits), secret, |_| {
            ready.send(()).unwrap();
            Ok(())
        })
    });
    let started = wait.recv_timeout(Duration::from_secs(120));
    started.expect("the daemon did not start in time");

    let client = Client::connect(&store).unwrap().unwrap();
    Files::new(&client).write("/memories/a", "before").unwrap();
    let mut client = Some(client);
    in_child(|| {
        let client = client.take().unwrap();
        assert!(matches!(client.status(), Err(StoreError::Forked)));
        assert!(Files::new(&client).read("/memories/a").is_err());
        assert!(matches!(client.lock(), Err(DaemonError::Store(StoreError::Forked))));
        drop(client);
        let own = Client::connect(&store).unwrap().unwrap();
        assert_eq!(Files::new(&own).read("/memories/a").unwrap().as_str(), "before");
    });
    let client = client.unwrap();
    assert_eq!(Files::new(&client).read("/memories/a").unwrap().as_str(), "before");
}
