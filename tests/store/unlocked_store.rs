//! The behaviour of an unlocked store, on a session of this process. The crate of the key daemon runs the same suite on a
//! client.

mod suite;

use inmost::{MemoryTool, Session};
use suite::{SUITE, transcript};

#[test]
fn a_session_behaves() {
    for (name, case) in SUITE {
        println!("{name}");
        case(&Session::in_memory().unwrap());
    }
}

#[test]
fn every_tool_call_has_a_result() {
    let results = transcript(&MemoryTool::new(Session::in_memory().unwrap()));
    assert!(results.iter().all(|result| result.contains("tool_result")));
}
