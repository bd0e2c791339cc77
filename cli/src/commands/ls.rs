//! `inmost ls`

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::passphrase::Input;
use crate::store::facts::EntryKind;
use crate::wiped::Wiped;

/// List a folder of the memory
///
/// One line for each entry, hidden ones too: the bytes of text, and the name; folders end in a slash.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost ls --store notes.inmost /memories/projects")]
pub(crate) struct Ls {
    #[command(flatten)]
    store: StoreArgs,

    /// The folder, or a file
    #[arg(default_value = "/memories")]
    path: String,
}

impl Ls {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let entries = self.store.with_store(Input::Free, |store| store.list(&self.path))?;
        let mut text = Wiped::new();
        for entry in entries {
            let slash = if entry.kind == EntryKind::Folder { "/" } else { "" };
            // Names hold no control characters, so they can do a terminal no harm.
            text.append(format!("{:>10}  {}{slash}\n", entry.bytes, entry.name).as_bytes());
        }
        super::print(text.expose())
    }
}
