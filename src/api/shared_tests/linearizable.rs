//! Two hosts with four threads each, as fast as they can.

use super::SharedStore;
use super::zones::{Files, history, judge};
use crate::session::Session;

impl Files for Session {
    fn write(&self, path: &str, text: &str) {
        self.files().write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        self.files().read(path).unwrap().as_str().to_owned()
    }
}

#[test]
fn calls_of_two_hosts_with_four_threads_each_are_linearizable() {
    for files in [1, 3] {
        let (store, one) = SharedStore::create();
        let sessions = [one, store.unlock()];
        for (file, calls) in history(&sessions, 4, 150, files).into_iter().enumerate() {
            assert!(calls.len() > 8 * 150 / files / 2);
            judge(&calls).unwrap_or_else(|wrong| panic!("file {file}: {wrong}"));
        }
        assert!(sessions[1].check().unwrap().is_clean());
    }
}
