//! Use from tokio: every call into the store runs on the threads that tokio keeps for blocking work.
//!
//! Unlocking is slow by design, and a change waits for the disk. On a runtime thread either would stall every other
//! task. [`Session`] and [`MemoryTool`] are cheap handles, so each task takes a clone.

use std::error::Error;
use std::path::PathBuf;

use inmost::{MemoryTool, Passphrase, Session, StoreError, ToolResult, Vault};
use tokio::task::{JoinSet, spawn_blocking};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(agents(folder.path().join("demo.inmost")))
}

/// Eight agents that share one memory.
async fn agents(store: PathBuf) -> Result<(), Box<dyn Error>> {
    let passphrase = Passphrase::new("correct horse battery staple")?;
    let session: Session = spawn_blocking(move || Vault::create(store, &passphrase)).await??;
    let memory = MemoryTool::new(session.clone());

    let notes = r#"{"command": "create", "path": "/memories/notes.txt", "file_text": ""}"#;
    call(&memory, notes.into()).await?;
    let mut agents = JoinSet::new();
    for number in 1..=8 {
        let memory = memory.clone();
        let note = format!(
            r#"{{"command": "insert", "path": "/memories/notes.txt", "insert_line": 0, "insert_text": "seen by agent {number}\n"}}"#
        );
        agents.spawn(async move { call(&memory, note).await });
    }
    while let Some(result) = agents.join_next().await {
        result??;
    }

    let view = r#"{"command": "view", "path": "/memories/notes.txt"}"#;
    println!("{}", call(&memory, view.into()).await?.content());
    spawn_blocking(move || session.lock()).await?;
    Ok(())
}

/// Runs one call off the runtime. A cancelled task stops waiting, but the call itself still completes.
async fn call(memory: &MemoryTool, json: String) -> Result<ToolResult, StoreError> {
    let memory = memory.clone();
    match spawn_blocking(move || memory.try_run_json(&json)).await {
        Ok(result) => result,
        Err(stopped) => std::panic::resume_unwind(stopped.into_panic()),
    }
}
