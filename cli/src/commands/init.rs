//! `inmost init`

use inmost::{ExpirySettings, VaultOptions};

use super::slot;
use crate::args::{KdfArgs, Keep, OpenArgs, parse_unused};
use crate::confirm;
use crate::display::{self, duration};
use crate::engine::EngineName;
use crate::exit::Failure;
use crate::output::{say, though_unread};
use crate::passphrase;
use crate::passphrase::By;
use crate::store::opening::{Create, NewStore, OpenOptions};

/// Create a new store
///
/// Asks for a passphrase twice, or generates one of six random words, unless another source gives it. Then offers to create a
/// recovery key. An existing store is never changed.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost init --store notes.inmost --calibrate 1\n  \
    inmost init --store notes.inmost --passphrase-command 'pass show inmost | head -n 1' --recovery-key")]
pub(crate) struct Init {
    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    kdf: KdfArgs,

    /// Storage engine
    #[arg(long, value_name = "ENGINE", default_value = "sled")]
    engine: EngineName,

    /// Keep the texts before each change for this long after it: a number with s, m, h or d; `off` keeps none.
    /// `inmost history` changes it later
    #[arg(long, value_name = "TIME|off", default_value = "30d")]
    history: Keep,

    /// Record which files are read, and delete those that were neither read nor changed for this long when `inmost unlock`,
    /// or `call` or `mcp` without a key daemon, unlocks the store: a number with s, m, h or d, a day at least; `off` records nothing. `inmost expire` changes it later
    #[arg(long, value_name = "TIME|off", value_parser = parse_unused, default_value = "off")]
    expire: Keep,

    /// Create a recovery key, for a forgotten passphrase, and print it once
    #[arg(long)]
    recovery_key: bool,
}

impl Init {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.kdf.check()?;
        let place = self.open.place()?;
        if self.expire.0.is_some() && place.to_str().is_some_and(VaultOptions::is_url) {
            return Err(Failure::usage(
                "No file expires in a vault, because nobody records what other hosts read.",
                "Leave out --expire.",
            ));
        }
        let keyfile = self.open.credential.keyfile.as_ref();
        let makes_keyfile = keyfile.is_some_and(|keyfile| !keyfile.exists());
        let store = self.open.open(
            By::Passphrase,
            &OpenOptions {
                create: Create::Always(NewStore {
                    kdf: &self.kdf,
                    engine: self.engine,
                    history: self.history.settings(),
                    expiry: self
                        .expire
                        .0
                        .map_or_else(ExpirySettings::off, ExpirySettings::at_unlock),
                }),
                ..OpenOptions::default()
            },
        )?;
        let wants_recovery = self.recovery_key || self.wants_recovery_key()?;
        let recovery = wants_recovery.then(|| slot::add_recovery_key(&store, None)).transpose();
        drop(store);
        let text = [
            format!("Created a store at {}\n", display::path(&place.display().to_string())),
            self.kept(),
            self.expires(),
            self.keyfile_note(makes_keyfile),
            match recovery.as_ref().ok().copied().flatten() {
                Some(number) => format!("A recovery key opens it too: keyslot {number}.\n"),
                None => "Without its passphrase the store cannot be opened.\n\
                         `inmost slot add --recovery-key` adds a recovery key.\n"
                    .to_owned(),
            },
            "Next: `inmost unlock` unlocks it for all commands.\n".to_owned(),
        ];
        though_unread(say(&text.concat()))?;
        recovery.map(drop)
    }

    /// What the keyfile is, and what its loss means.
    fn keyfile_note(&self, is_new: bool) -> String {
        let Some(keyfile) = &self.open.credential.keyfile else { return String::new() };
        let made = if is_new { "Created the keyfile" } else { "The store needs the keyfile" };
        format!(
            "{made} {}. Without it the passphrase does not open the store: keep a copy of it elsewhere.\n",
            display::path(&keyfile.display().to_string())
        )
    }

    /// What stays of deleted and replaced text, for how long, and how to end it.
    fn kept(&self) -> String {
        match self.history.0 {
            None => "Deleted and replaced text cannot come back: the history is off.\n".to_owned(),
            Some(time) => format!(
                "Deleted and replaced text stays in it, encrypted, for {}: `inmost log` and `inmost restore PATH` go back.\n\
                 `inmost forget PATH` ends that for a path, `inmost history --keep off` for all.\n",
                duration(time)
            ),
        }
    }

    /// What expires, if anything does.
    fn expires(&self) -> String {
        self.expire.0.map_or_else(String::new, |time| {
            format!(
                "Files that are neither read nor changed for {} are deleted at an unlock. `inmost expire` changes that.\n",
                duration(time)
            )
        })
    }

    /// Asks for a recovery key only if the passphrase was typed, so that scripts are not interrupted.
    fn wants_recovery_key(&self) -> Result<bool, Failure> {
        if !self.open.credential.passphrase.prompts(By::Passphrase) {
            return Ok(false);
        }
        let question = "Create a recovery key, in case the passphrase is forgotten? [y/N] ";
        confirm::yes_or_no(&mut passphrase::terminal()?, question)
    }
}
