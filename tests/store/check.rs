//! Tests that a check of a healthy store reads every file and record and finds no problem.

use std::fmt::Write;

use inmost::{MemoryTool, Session};

#[test]
fn a_store_with_a_past_is_clean() {
    let session = Session::in_memory().expect("a store");
    let files = session.files();
    let mut random = 7_u64;
    for round in 0..400_u64 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (random >> 33) % 60;
        let path = match number % 5 {
            0 => format!("/memories/.hidden/{number}"),
            1 => format!("/memories/node_modules/x/{number}"),
            2 => format!("/memories/a/b/c/{number}"),
            _ => format!("/memories/{number}"),
        };
        if round % 7 == 3 {
            let _ = files.remove(&path);
        } else if round % 11 == 5 {
            let _ = files.rename(&path, &format!("/memories/moved/{round}"));
        } else {
            let mut text = String::new();
            for line in 0..(random >> 40) % 400 {
                writeln!(text, "line {line} of round {round}").expect("a string");
            }
            files.write(&path, &text).expect("room");
        }
    }
    let memory = MemoryTool::new(session.clone());
    let call = r#"{"command":"delete","path":"/memories/moved"}"#;
    assert!(!memory.try_run_json(call).expect("open").is_error());

    let mut steps = 0;
    let report = session.check_reporting(&mut |records| steps = records).expect("readable");
    assert!(report.is_clean(), "{:?}", report.problems);
    assert_eq!(report.orphans, 0);
    let status = session.status().expect("open");
    assert_eq!((report.files, report.bytes), (status.files, status.bytes));
    assert!(report.records > report.files && steps >= report.records);
}
