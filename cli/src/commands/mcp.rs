//! `inmost mcp`

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use crate::args::{ActorArgs, StoreArgs};
use crate::exit::Failure;
use crate::mcp;
use crate::mcp::client_config::{Client, Install, Server};
use crate::output::print;
use crate::passphrase::Input;
use crate::store::restrictions::Restrictions;
use crate::streams;

/// Serve the memory tool to an MCP client, on standard input and output
///
/// The client starts this command. --install writes the configuration for it into the client's own file, after it has shown
/// what changes; --print-config prints it. The store is opened at the first call, through the key daemon if `inmost unlock` started one, else with the passphrase options. This command never asks for a
/// passphrase. While the store cannot be opened, every call tries again and returns `Error: Memory is locked.`, with a hint
/// for the user, or `Error: Memory is unavailable.`; the reason is printed on standard error.
///
/// After the key daemon has locked the store, a server that was given a passphrase opens it itself at its next call.
///
/// The history of the store shows the client's name as the actor of its changes, unless --as gives another.
///
/// Ends at the end of standard input, and on Unix soon after the program that started it has ended.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost mcp --store notes.inmost --install claude-desktop\n  \
    inmost mcp --store notes.inmost --print-config codex\n  \
    inmost mcp --store work.inmost --install claude-code --name work --tool-name work_memory\n  \
    inmost mcp --store notes.inmost --passphrase-file secret --subtree /memories/project-x")]
pub(crate) struct Mcp {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    #[command(flatten)]
    restrictions: Restrictions,

    /// The name of the tool: up to 64 letters, digits, - and _, for a client that connects two stores [default: memory]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    tool_name: Option<String>,

    /// Offer a second tool, `memory_search` (with --tool-name `NAME_search`), that finds files by words. It reads all texts at its
    /// first call, and keeps hashes of their words in memory until the lock
    #[arg(long)]
    search: bool,

    /// With --install or --print-config: the name of the entry, so that a client can connect several stores
    #[arg(long, value_name = "NAME", default_value = "inmost", value_parser = parse_name)]
    name: String,

    /// Print the configuration that makes this client start the server with the other options given, and exit
    #[arg(long, value_name = "CLIENT", conflicts_with = "install")]
    print_config: Option<Client>,

    /// Write that configuration into the file that this client reads, and exit. Shows the change and asks; the file as it
    /// was is kept beside it
    #[arg(long, value_name = "CLIENT")]
    install: Option<Client>,

    /// With --install: the configuration file, if it is not the client's usual one
    #[arg(long, value_name = "FILE", requires = "install")]
    config_file: Option<PathBuf>,

    /// With --install: do not ask
    #[arg(long, requires = "install")]
    yes: bool,
}

impl Mcp {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.restrictions.check()?;
        self.store.open.credential.passphrase.check(Input::Unattended)?;
        let server = || {
            Server::new(
                &self.name,
                self.tool_name.as_deref(),
                self.search,
                &self.store,
                &self.actor,
                &self.restrictions,
            )
        };
        if let Some(client) = self.print_config {
            return print(client.configuration(&server()?).as_bytes());
        }
        let Some(client) = self.install else {
            if io::stdin().is_terminal() {
                streams::hint(
                    "This waits for an MCP client on standard input. `inmost mcp --install claude-code` connects one. Ctrl-C ends.",
                );
            }
            return mcp::serve(
                &self.store,
                self.actor.actor(),
                self.tool_name.as_deref(),
                self.search,
                &self.restrictions,
            );
        };
        let file = self.config_file.as_deref();
        Install { client, file, yes: self.yes }.run(&server()?, &self.store.place()?)
    }
}

/// A name that all clients and models accept.
fn parse_name(text: &str) -> Result<String, &'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_valid = (1..=64).contains(&text.len()) && text.bytes().all(is_plain);
    if is_valid { Ok(text.to_owned()) } else { Err("expected up to 64 letters, digits, - and _") }
}
