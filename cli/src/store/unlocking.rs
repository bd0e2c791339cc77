//! The credential that opens a store: from its source, or typed by a person, who may try three times.

use std::path::Path;

use inmost::{SlotKind, StoreError, Vault};
use inmost_keyd::Secret;

use super::naming;
use crate::args::{OpenArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::passphrase::By;
use crate::passphrase::{Asking, Input};

impl StoreArgs {
    /// The result of opening the store that a vault holds, and the credential that was used for it.
    ///
    /// # Errors
    /// If no credential was given. That it is wrong is the inner error.
    pub(crate) fn attempt<T>(
        &self,
        vault: &mut Vault,
        mut open: impl FnMut(&mut Vault, &Secret) -> Result<T, StoreError>,
    ) -> Result<(Result<T, StoreError>, Secret), Failure> {
        let kinds = vault.slot_kinds();
        let place = self.place()?;
        self.open
            .attempt(&place, &kinds, self.by(), Input::Free, is_wrong, |secret| open(vault, secret))
    }
}

impl OpenArgs {
    /// Calls `open` with the credential. If a person typed it and `is_wrong` holds for the error, asks again.
    pub(crate) fn attempt<T, E>(
        &self,
        place: &Path,
        kinds: &[SlotKind],
        by: By,
        input: Input,
        is_wrong: impl Fn(&E) -> bool,
        mut open: impl FnMut(&Secret) -> Result<T, E>,
    ) -> Result<(Result<T, E>, Secret), Failure> {
        check_kinds(place, kinds, by, self.credential.keyfile.is_some())?;
        let is_typed = self.credential.passphrase.prompts(by);
        let mut tries = if is_typed { 1..=TRIES } else { TRIES..=TRIES };
        let mut asking = Asking::first(input);
        loop {
            let is_last = tries.next().is_none_or(|number| number == TRIES);
            let secret = match self.credential.of_store(place, asking, by) {
                // What was typed can be no passphrase, such as an empty line. The error of a recovery key names the wrong group.
                Err(Failure::Error { exit: Exit::Usage, .. })
                    if by == By::Passphrase && !is_last =>
                {
                    asking.is_again = true;
                    continue;
                }
                secret => secret?,
            };
            let opened = open(&secret);
            match &opened {
                Err(error) if is_wrong(error) && !is_last => asking.is_again = true,
                _ => return Ok((opened, secret)),
            }
        }
    }
}

/// Whether another passphrase or key may succeed.
pub(crate) fn is_wrong(error: &StoreError) -> bool {
    matches!(error, StoreError::WrongPassphrase | StoreError::WrongKey(_))
}

/// Refuses what cannot succeed before anyone types a passphrase. The kinds are read from a header that is not authenticated
/// yet, so a forged one can only cause a wrong refusal.
fn check_kinds(place: &Path, kinds: &[SlotKind], by: By, has_keyfile: bool) -> Result<(), Failure> {
    let has = |kind| kinds.is_empty() || kinds.contains(&kind);
    match (by, has_keyfile) {
        (By::RecoveryKey, _) if !has(SlotKind::RecoveryKey) => Err(naming::without_slot(
            place,
            "a recovery key",
            "Leave out --recovery and give a passphrase.",
        )),
        (By::Passphrase, true) if !has(SlotKind::PassphraseAndKeyfile) => {
            Err(naming::without_slot(place, "a keyfile", "Leave out --keyfile."))
        }
        (By::Passphrase, false)
            if !has(SlotKind::Passphrase) && has(SlotKind::PassphraseAndKeyfile) =>
        {
            Err(naming::without_keyfile(place))
        }
        _ => Ok(()),
    }
}

/// How often a person may type a passphrase.
const TRIES: u8 = 3;
