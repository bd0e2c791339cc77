//! `inmost unlock`

use std::time::{Duration, Instant};

use crate::agent::{self, Connection, Limits};
use crate::args::StoreArgs;
use crate::display::duration;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::passphrase::Input;
use crate::store::opening::Held;

/// Unlock a store once, for all commands
///
/// Asks for the passphrase and leaves a process in the background that holds the keys. Until it locks, every command of
/// the same user on this store works through it, without a passphrase, any number at once. It locks and ends
/// with `inmost lock`, when nothing was asked for some time, and after a longest time in any case; time for which the
/// machine was suspended counts.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost unlock --store notes.inmost\n  \
    inmost unlock --store notes.inmost --idle 1h --for 12h")]
pub(crate) struct Unlock {
    #[command(flatten)]
    store: StoreArgs,

    /// Lock when nothing was asked for so long: a number with s, m, h or d
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_time)]
    idle: Duration,

    /// Lock after so long in any case
    #[arg(long = "for", value_name = "TIME", default_value = "8h", value_parser = parse_time)]
    total: Duration,

    /// Stay in the foreground, for a service manager
    #[arg(long)]
    foreground: bool,
}

impl Unlock {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if !cfg!(unix) {
            // Before anyone is asked for a passphrase.
            return agent::run();
        }
        let limits = Limits { idle: self.idle, total: self.total };
        self.store.open.credential.passphrase.check(Input::Free)?;
        match self.store.hold()? {
            Held::Agent(connection) => return already(connection),
            // The store is let go again for whoever needs it while somebody types.
            Held::Here(vault) => drop(vault),
        }
        let secret = self.store.secret(Input::Free)?;
        let (place, anchor) = (self.store.place()?, self.store.open.anchor.as_deref());
        if self.foreground {
            let told = |freshness| {
                self.store.open.warn_of_anchor(freshness);
                print(unlocked(limits).as_bytes())
            };
            return agent::start_here(&place, anchor, limits, secret, told);
        }
        let patience = Instant::now() + PATIENCE;
        loop {
            match agent::start(&place, anchor, limits, &secret) {
                // A command that is about to end, or somebody else who unlocks it just now.
                Err(failure @ Failure::Error { exit: Exit::InUse, .. }) => {
                    match self.store.hold() {
                        Ok(Held::Agent(connection)) => return already(connection),
                        Ok(Held::Here(vault)) if Instant::now() < patience => drop(vault),
                        _ => return Err(failure),
                    }
                }
                started => {
                    self.store.open.warn_of_anchor(started?);
                    return print(unlocked(limits).as_bytes());
                }
            }
        }
    }
}

fn unlocked(limits: Limits) -> String {
    format!(
        "Unlocked. It locks when nothing is asked for {}, after {} in any case, and with `inmost lock`.\n",
        duration(limits.idle),
        duration(limits.total)
    )
}

fn already(mut connection: Connection) -> Result<(), Failure> {
    let agent = connection.facts()?;
    let text = format!(
        "It is unlocked already, by process {}. It locks when nothing is asked for {}, and in {} in any case.\n\
         To unlock it for another time: `inmost lock` first.\n",
        agent.process,
        duration(agent.limits.idle),
        duration(agent.total_left)
    );
    print(text.as_bytes())
}

/// A number and a unit. A month is longer than anyone means to leave a store unlocked.
fn parse_time(text: &str) -> Result<Duration, &'static str> {
    let expected = "a number with s, m, h or d, up to 31 days";
    let split = text.len().saturating_sub(1);
    let (number, unit) = text.split_at_checked(split).ok_or(expected)?;
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(expected),
    };
    let number = number.parse::<u64>().ok().filter(|number| *number > 0).ok_or(expected)?;
    let seconds = number.checked_mul(seconds).filter(|all| *all <= 31 * 86_400);
    seconds.map(Duration::from_secs).ok_or(expected)
}

/// How long a store that another process uses is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_with_a_unit() {
        for (text, seconds) in [("1s", 1), ("15m", 900), ("8h", 28_800), ("31d", 31 * 86_400)] {
            assert_eq!(parse_time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in
            ["", "m", "15", "0s", "-1m", "1.5h", "32d", "1w", "99999999999999999999s", "1\u{e9}"]
        {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
