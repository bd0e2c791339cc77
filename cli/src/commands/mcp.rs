//! `inmost mcp`

use crate::args::{ActorArgs, StoreArgs};
use crate::exit::Failure;
use crate::mcp::{self, client_config};
use crate::output::print;
use crate::passphrase::Input;
use crate::store::restrictions::Restrictions;

/// Serve the memory tool to an MCP client, on standard input and output
///
/// The client starts this command; --print-config prints the configuration for it. The store is opened at the first call,
/// through the key agent if `inmost unlock` started one, else with the passphrase options. This command never asks for a
/// passphrase. While the store cannot be opened, every call tries again and returns `Error: Memory is locked.`, with a hint
/// for the user, or `Error: Memory is unavailable.`; the reason is printed on standard error.
///
/// After the key agent has locked the store, a server that was given a passphrase opens it itself at its next call.
///
/// The history of the store shows the client's name as the actor of its changes, unless --as gives another.
///
/// Ends at the end of standard input.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost mcp --store notes.inmost --print-config claude-code\n  \
    inmost mcp --store notes.inmost --passphrase-file secret --subtree /memories/project-x")]
pub(crate) struct Mcp {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    #[command(flatten)]
    restrictions: Restrictions,

    /// Print the configuration that makes this client start the server with the other options given, and exit
    #[arg(long, value_name = "CLIENT")]
    print_config: Option<client_config::Client>,
}

impl Mcp {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.restrictions.check()?;
        self.store.open.credential.passphrase.check(Input::Unattended)?;
        match self.print_config {
            Some(client) => {
                let block =
                    client_config::block(client, &self.store, &self.actor, &self.restrictions)?;
                print(block.as_bytes())
            }
            None => mcp::serve(&self.store, self.actor.actor(), &self.restrictions),
        }
    }
}
