//! A person's editor, on a text that is in memory only.

#[cfg(target_os = "linux")]
mod edited;
#[cfg(target_os = "linux")]
mod private_folder;
#[cfg(target_os = "linux")]
mod process;
mod unsupported;

#[cfg(target_os = "linux")]
pub(crate) use edited::Edited;
#[cfg(target_os = "linux")]
pub(crate) use process::Editor;
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::no_memory_file_system;
