//! The extension module `inmost._inmost`, the native half of the Python package `inmost`.
//!
//! It passes calls on and converts values; it has no logic that a Rust host would miss. Every call into the store runs
//! without the lock of the interpreter. Content is converted to Python objects, which nobody can wipe: the package's
//! documentation says so.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod arguments;
mod credential;
mod errors;
mod expiry;
mod files;
mod history;
mod json;
mod options;
mod pages;
mod place;
mod progress;
mod records;
mod shared;
mod store;
mod sync;
mod text;
mod tool;
mod upkeep;

/// The native half of the package `inmost`.
#[pyo3::pymodule(gil_used = false)]
mod _inmost {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::credential::{generate_keyfile, generate_recovery_key};
    #[pymodule_export]
    use crate::expiry::Expiry;
    #[pymodule_export]
    use crate::files::Files;
    #[pymodule_export]
    use crate::history::{History, UndoPlan};
    #[pymodule_export]
    use crate::place::{Postgres, Vault};
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::sync::Sync;
    #[pymodule_export]
    use crate::tool::{MemoryTool, ToolResult};
    #[pymodule_export]
    use crate::upkeep::{Backups, Keyslots};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("TOOL_DEFINITION", inmost::TOOL_DEFINITION)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
