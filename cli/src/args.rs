//! The groups of options that several commands share.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use inmost::{HistorySettings, KdfCost, KdfLimits};

use crate::credential::CredentialArgs;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::passphrase::By;
use crate::times::{TOO_LONG, parse_length};

/// Selects the store.
#[derive(clap::Args)]
pub(crate) struct PlaceArgs {
    /// Folder of the store, or its URL in a build with `postgres` [default: `inmost/memory` in this platform's data folder]
    #[arg(
        id = "store",
        long = "store",
        value_name = "DIR|URL",
        env = "INMOST_STORE",
        hide_env_values = true
    )]
    pub(crate) folder: Option<PathBuf>,
}

/// Selects the store and the credential that unlocks it.
#[derive(clap::Args)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    pub(crate) open: OpenArgs,

    /// Unlock with the recovery key instead of the passphrase. The passphrase options then give the recovery key, or you
    /// are asked for it
    #[arg(long, conflicts_with = "keyfile")]
    pub(crate) recovery: bool,
}

impl StoreArgs {
    /// The kind of credential that unlocks the store.
    pub(crate) fn by(&self) -> By {
        By::recovery(self.recovery)
    }
}

/// The same without `--recovery`, which has another meaning in some commands.
#[derive(clap::Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// Rollback anchor: a file outside the store that records its newest commit, so that an older copy of the store is
    /// detected. Use one file per store; it is created if it does not exist
    #[arg(long, value_name = "FILE", env = "INMOST_ANCHOR", hide_env_values = true)]
    pub(crate) anchor: Option<PathBuf>,

    /// How long to wait while another process uses the store: a number with s, m, h or d; 0 does not wait [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_length_or_0)]
    pub(crate) wait: Option<Duration>,

    /// Refuse a store of which it is unknown whether this is its newest state, with exit code 16, instead of warning
    #[arg(long)]
    pub(crate) require_fresh: bool,

    #[command(flatten)]
    pub(crate) credential: CredentialArgs,
}

/// Who makes the changes of a command.
#[derive(clap::Args)]
pub(crate) struct ActorArgs {
    /// Name the actor that the history shows for these changes: a label of at most 64 bytes
    #[arg(long = "as", value_name = "ACTOR", value_parser = parse_actor, env = "INMOST_ACTOR", hide_env_values = true)]
    actor: Option<String>,
}

impl ActorArgs {
    pub(crate) fn actor(&self) -> Option<&str> {
        self.actor.as_deref()
    }
}

/// How long versions are kept; `None` if none are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Keep(pub(crate) Option<Duration>);

impl Keep {
    pub(crate) fn settings(self) -> HistorySettings {
        self.0.map_or_else(HistorySettings::off, HistorySettings::keep)
    }
}

impl FromStr for Keep {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self(None));
        }
        let length = parse_length(text);
        length.map(|time| Self(Some(time))).map_err(|error| match error {
            TOO_LONG => TOO_LONG,
            _ => "expected off, or a number with s, m, h or d",
        })
    }
}

/// A length of time that may be 0, with or without a unit.
pub(crate) fn parse_length_or_0(text: &str) -> Result<Duration, &'static str> {
    if matches!(text, "0" | "0s" | "0m" | "0h" | "0d") {
        return Ok(Duration::ZERO);
    }
    parse_length(text)
}

/// How long files must be unused to expire, or off. Readings are known to the day.
pub(crate) fn parse_unused(text: &str) -> Result<Keep, &'static str> {
    let keep: Keep = text.parse()?;
    match keep.0 {
        Some(time) if time < DAY => Err("expected off, or at least 1d"),
        _ => Ok(keep),
    }
}

const DAY: Duration = Duration::from_secs(86_400);

/// A label of an actor, as the history keeps it.
pub(crate) fn parse_actor(text: &str) -> Result<String, &'static str> {
    if text.len() > ACTOR_BYTES {
        return Err("expected a label of at most 64 bytes");
    }
    if text.chars().any(display::needs_escape) {
        return Err("expected a label without control characters");
    }
    Ok(text.to_owned())
}

/// Bytes of a label.
const ACTOR_BYTES: usize = 64;

/// The cost of key derivation for a new passphrase.
#[derive(clap::Args)]
pub(crate) struct KdfArgs {
    /// Memory in MiB for one guess at the new passphrase, 19 to 1024 [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) kdf_memory_mib: Option<u32>,

    /// Passes over that memory, 2 to 32 [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) kdf_passes: Option<u32>,

    /// Increase the memory until unlocking takes this long on this machine, up to a quarter of its memory
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds,
          conflicts_with_all = ["kdf_memory_mib", "kdf_passes"])]
    pub(crate) calibrate: Option<Duration>,
}

impl KdfArgs {
    /// Whether any of the options was given.
    pub(crate) fn is_given(&self) -> bool {
        self.kdf_memory_mib.is_some() || self.kdf_passes.is_some() || self.calibrate.is_some()
    }

    /// Refuses a cost that no keyslot may have, before anything is asked or written.
    ///
    /// # Errors
    /// [`Exit::KdfOutOfBounds`] with the bounds.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        // A calibrated cost stays within the bounds, and takes seconds to find.
        if self.calibrate.is_some() {
            return Ok(());
        }
        KdfLimits::default().admit(self.cost()).map(drop).map_err(|bounds| {
            Failure::new(
                Exit::KdfOutOfBounds,
                format!("The cost of unlocking is out of bounds: {bounds}."),
                "Choose another --kdf-memory-mib or --kdf-passes. Nothing was changed.",
            )
        })
    }

    /// The requested cost, if any of the options was given.
    pub(crate) fn requested(&self) -> Option<KdfCost> {
        self.is_given().then(|| self.cost())
    }

    /// The requested cost, with defaults for missing options. [`check`](Self::check) has its bounds.
    pub(crate) fn cost(&self) -> KdfCost {
        if let Some(target) = self.calibrate {
            return KdfCost::calibrate(target);
        }
        let default = KdfCost::default();
        // A saturated number exceeds every bound, so the library refuses it.
        let memory = self.kdf_memory_mib.map(|mib| mib.saturating_mul(1 << 10));
        KdfCost::new(
            memory.unwrap_or(default.memory_kib()),
            self.kdf_passes.unwrap_or(default.passes()),
            default.lanes(),
        )
    }
}

/// At most a minute: every later unlock takes this long, so a larger number is a typing error.
fn parse_seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=60.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or("expected a number of seconds up to 60")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_lengths_may_be_0() {
        for zero in ["0", "0s", "0d"] {
            assert_eq!(parse_length_or_0(zero), Ok(Duration::ZERO));
        }
        assert_eq!(parse_length_or_0("2h"), Ok(Duration::from_secs(7_200)));
        assert!(parse_length_or_0("0w").is_err());
    }

    #[test]
    fn a_saturated_cost_is_refused() {
        let args = KdfArgs { kdf_memory_mib: Some(u32::MAX), kdf_passes: None, calibrate: None };
        assert_eq!(args.cost(), KdfCost::new(u32::MAX, 3, 4));
        let args = KdfArgs { kdf_memory_mib: Some(19), kdf_passes: Some(2), calibrate: None };
        assert_eq!(args.cost(), KdfCost::new(19_456, 2, 4));
    }

    #[test]
    fn a_time_that_is_too_long_is_called_so() {
        assert_eq!("99999d".parse::<Keep>(), Err(TOO_LONG));
        assert_eq!(parse_unused("99999d"), Err(TOO_LONG));
        assert_eq!("soon".parse::<Keep>(), Err("expected off, or a number with s, m, h or d"));
    }

    #[test]
    fn a_calibration_time_is_at_most_a_minute() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["-1", "61", "inf", "NaN", "1s", ""] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }
}
