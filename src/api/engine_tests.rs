//! Checks that the storage layer never receives plaintext from the memory tool.

use super::MemoryTool;
use crate::session::VaultOptions;
use inmost_engines::recording::RecordingStorage;
use inmost_format::crypto::cost::{KdfCost, KdfLimits};
use inmost_format::crypto::passphrase::Passphrase;
use inmost_storage::EngineKind;
use std::sync::Arc;

#[test]
fn the_storage_never_sees_plaintext() {
    const PASSPHRASE: &str = "canary-passphrase";
    let storage = RecordingStorage::default();
    let options =
        VaultOptions::new().kdf_cost(KdfCost::new(64, 1, 1)).kdf_limits(KdfLimits::of_tests());
    let passphrase = Passphrase::new(PASSPHRASE).unwrap();
    drop(options.fill(&storage, EngineKind::Memory, &passphrase).unwrap());
    let mut vault = options.open_storage(Arc::new(storage.clone())).unwrap();
    let session = vault.unlock(&passphrase).unwrap();
    let memory = MemoryTool::new(session.clone());

    let long = "canary-of-a-rope and more\\n".repeat(3_000);
    for call in [
        r#"{"command":"create","path":"/memories/canary-folder/canary-name","file_text":"canary-text"}"#,
        r#"{"command":"str_replace","path":"/memories/canary-folder/canary-name","old_str":"canary-text","new_str":"canary-edit"}"#,
        r#"{"command":"insert","path":"/memories/canary-folder/canary-name","insert_line":0,"insert_text":"canary-line"}"#,
        r#"{"command":"view","path":"/memories/canary-folder/canary-name"}"#,
        r#"{"command":"rename","old_path":"/memories/canary-folder","new_path":"/memories/canary-moved"}"#,
        &format!(r#"{{"command":"create","path":"/memories/canary-rope","file_text":"{long}"}}"#),
        r#"{"command":"str_replace","path":"/memories/canary-rope","old_str":"canary-none","new_str":""}"#,
        r#"{"command":"delete","path":"/memories/canary-moved"}"#,
    ] {
        memory.try_run_json(call).unwrap();
    }
    session.purge().unwrap();
    session.lock();

    let given = storage.given();
    assert!(given.iter().map(Vec::len).sum::<usize>() > 100_000, "it received the stored records");
    let holds = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    for bytes in &given {
        for text in ["canary", "and more"] {
            assert!(!holds(bytes, text), "{text}");
        }
    }
}
