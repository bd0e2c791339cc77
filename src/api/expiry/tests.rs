//! What counts as a reading: through the files, the memory tool, and other ways to a store.

use crate::api::MemoryTool;
use crate::session::{ExpirySettings, Session};
use crate::tool::ToolOptions;
use crate::vfs::{LineRange, NewFile, SearchQuery};

fn view(tool: &MemoryTool, path: &str) {
    let call = format!(r#"{{"command": "view", "path": "{path}"}}"#);
    assert!(!tool.try_run_json(call).unwrap().is_error());
}

#[test]
fn only_the_reading_of_one_file_counts() {
    let session = Session::in_memory().unwrap();
    session.expiry().set(ExpirySettings::record()).unwrap();
    let write = |name: &str| session.files().write(&format!("/memories/{name}"), "text\n").unwrap();
    for name in ["viewed", "ranged", "lines", "other", "folder/other"] {
        write(name);
    }
    let tool = MemoryTool::new(session.clone());
    let read_only = MemoryTool::with_options(session.clone(), ToolOptions::new().read_only(true));
    view(&read_only, "/memories/other");
    view(&tool, "/memories");
    view(&tool, "/memories/folder");
    let files = session.files();
    assert!(files.search("/memories", SearchQuery::text("text")).count() >= 5);
    assert!(files.walk("/memories").count() >= 5);
    files.list("/memories").unwrap();
    files.metadata("/memories/other").unwrap();
    files.version("/memories/other").unwrap();
    session.without_recording().files().read("/memories/other").unwrap();
    files.write_many(&[NewFile::new("/memories/other", "text\n")]).unwrap();
    session.check().unwrap();
    write("clock");
    assert_eq!(session.expiry().status().unwrap().readings, 0);

    view(&tool, "/memories/viewed");
    let ranged = r#"{"command": "view", "path": "/memories/ranged", "view_range": [1, 1]}"#;
    assert!(!tool.try_run_json(ranged).unwrap().is_error());
    files.read_lines("/memories/lines", LineRange::new(1, 1)).unwrap();
    write("clock");
    assert_eq!(session.expiry().status().unwrap().readings, 3);
}
