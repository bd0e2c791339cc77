//! `inmost unlock`

use std::path::Path;
use std::time::{Duration, Instant};

use inmost_keyd::{Client, DaemonError, DaemonOptions, Limits, Secret};

use crate::args::StoreArgs;
use crate::display::duration;
use crate::exit::{Exit, Failure};
use crate::keyd;
use crate::output::{say, though_unread};
use crate::passphrase::Input;
use crate::store::naming;
use crate::store::opening::Held;
use crate::store::unlocking::is_wrong;
use crate::times::parse_length;

/// Unlock a store once, for all commands
///
/// Asks for the passphrase and starts a key daemon: a process in the background that holds the keys. Until it locks, all
/// commands of the same user on this store work through it, in parallel and without a passphrase. It locks
/// when you run `inmost lock`, after the idle time without a request, or when the total time is over. Time during which the
/// machine was suspended counts.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost unlock --store notes.inmost\n  \
    inmost unlock --store notes.inmost --idle 1h --for 12h\n  \
    inmost unlock --store notes.inmost --sync")]
pub(crate) struct Unlock {
    #[command(flatten)]
    store: StoreArgs,

    /// Lock after this long without a request: a number with s, m, h or d, at most 31 days
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_time)]
    idle: Duration,

    /// Lock after this long even if requests come, at most 31 days
    #[arg(long = "for", value_name = "TIME", default_value = "8h", value_parser = parse_time)]
    total: Duration,

    /// Synchronise the store with its other devices (`inmost sync`) some seconds after a change, and every minute or TIME
    ///
    /// The store must be in a circle. Rounds do not keep it unlocked. `inmost status` says if one has failed.
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1m",
        value_parser = parse_time
    )]
    sync: Option<Duration>,

    /// Stay in the foreground, for a service manager
    #[arg(long)]
    foreground: bool,
}

impl Unlock {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let limits = Limits { idle: self.idle, total: self.total };
        self.store.open.credential.passphrase.check(Input::Free)?;
        let kinds = match self.store.hold()? {
            Held::Daemon(client) => return already_unlocked(&client, self.sync),
            // Closed while the passphrase is typed, so that other commands can use the store.
            Held::Here(vault) => vault.slot_kinds(),
        };
        let place = self.store.place()?;
        let mut options = DaemonOptions::new(limits);
        if let Some(anchor) = &self.store.open.anchor {
            options = options.anchor(anchor);
        }
        if self.store.open.require_fresh {
            options = options.require_fresh();
        }
        if let Some(every) = self.sync {
            options = options.sync(every);
        }
        if self.foreground {
            let secret = self.store.secret(Input::Free)?;
            let ready = |freshness| {
                self.store.open.warn_of_anchor(freshness);
                though_unread(say(&unlocked(limits)))
            };
            return inmost_keyd::serve(&place, &options, secret, ready);
        }
        let is_wrong_key =
            |error: &DaemonError| matches!(error, DaemonError::Store(error) if is_wrong(error));
        let (by, input) = (self.store.by(), Input::Free);
        let start = |secret: &Secret| keyd::start(&place, &options, secret);
        let (mut started, secret) =
            self.store.open.attempt(&place, &kinds, by, input, is_wrong_key, start)?;
        let deadline = Instant::now() + IN_USE_TIMEOUT + self.store.open.wait();
        loop {
            match started.map_err(|error| failure(&place, error)) {
                // Another command may be about to end, or may start a key daemon at the same moment.
                Err(failure @ Failure::Error { exit: Exit::InUse, .. }) => {
                    match self.store.hold() {
                        Ok(Held::Daemon(client)) => return already_unlocked(&client, self.sync),
                        Ok(Held::Here(vault)) if Instant::now() < deadline => drop(vault),
                        _ => return Err(failure),
                    }
                    started = start(&secret);
                }
                started => {
                    self.store.open.warn_of_anchor(started?);
                    return say(&unlocked(limits));
                }
            }
        }
    }
}

/// The failure to start a key daemon. Names the store.
fn failure(place: &Path, error: DaemonError) -> Failure {
    match error {
        DaemonError::Store(error) => naming::at(place, error),
        error => error.into(),
    }
}

fn unlocked(limits: Limits) -> String {
    format!(
        "Unlocked. The store locks after {} without a request, after {} at the latest, or with `inmost lock`.\n",
        duration(limits.idle),
        duration(limits.total)
    )
}

fn already_unlocked(client: &Client, sync: Option<Duration>) -> Result<(), Failure> {
    let daemon = client.daemon()?;
    if sync.is_some() && daemon.sync.every.is_none() {
        return Err(Failure::new(
            Exit::InUse,
            format!("Process {} has unlocked the store without --sync.", daemon.process),
            "Lock it with `inmost lock`, then try again.",
        ));
    }
    let text = format!(
        "Already unlocked by process {}. The store locks after {} without a request, and in {} at the latest.\n\
         To change these times, run `inmost lock` first.\n",
        daemon.process,
        duration(daemon.limits.idle),
        duration(daemon.total_left)
    );
    say(&text)
}

/// At most 31 days: a longer time is a typing error.
fn parse_time(text: &str) -> Result<Duration, &'static str> {
    let time = parse_length(text).ok().filter(|time| *time <= MONTH);
    time.ok_or("expected a number with s, m, h or d, up to 31 days")
}

/// The longest time that a key daemon holds a store.
const MONTH: Duration = Duration::from_secs(31 * 86_400);

/// How long to wait for a store that another process uses.
const IN_USE_TIMEOUT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_at_most_31_days() {
        assert_eq!(parse_time("31d"), Ok(MONTH));
        for text in ["32d", "745h", "15", "1M"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
