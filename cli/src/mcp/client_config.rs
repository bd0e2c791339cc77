//! The configuration that makes an MCP client start this server: printed, or written into the client's own file.

mod client;
mod document;
mod install;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

pub(crate) use client::Client;
pub(crate) use install::Install;

use crate::args::{ActorArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::passphrase::PassphraseArgs;
use crate::store::database;
use crate::store::restrictions::Restrictions;

/// How a client starts this program on the same store, with the same actor, restrictions and passphrase options as now.
/// Paths are absolute, because a client has another working folder.
pub(crate) struct Server {
    /// The name of the entry in the client's configuration.
    name: String,
    program: String,
    args: Vec<String>,
    /// The environment variables that locate the key daemon's socket. Many clients pass on only few variables.
    env: Vec<(String, String)>,
}

impl Server {
    /// With the name of the entry, and that of the tool if it is not the usual one.
    pub(crate) fn new(
        name: &str,
        tool: Option<&str>,
        search: bool,
        store: &StoreArgs,
        actor: &ActorArgs,
        restrictions: &Restrictions,
    ) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::io(
                "The path of the inmost program cannot be determined",
                &error,
                "Write the configuration by hand; docs/PROGRAM.md shows an example.",
            )
        })?;
        let mut args = vec!["mcp".to_owned()];
        args.extend(store_args(store)?);
        if let Some(actor) = actor.actor() {
            args.extend(["--as".to_owned(), actor.to_owned()]);
        }
        args.extend(restriction_args(restrictions));
        if let Some(tool) = tool {
            args.extend(["--tool-name".to_owned(), tool.to_owned()]);
        }
        if search {
            args.push("--search".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            program: text(program.into())?,
            args,
            env: environment()?,
        })
    }
}

fn environment() -> Result<Vec<(String, String)>, Failure> {
    // The first one that is set decides.
    for name in ["XDG_RUNTIME_DIR", "TMPDIR"] {
        if let Some(value) = std::env::var_os(name) {
            return Ok(vec![(name.to_owned(), text(value)?)]);
        }
    }
    Ok(Vec::new())
}

fn store_args(store: &StoreArgs) -> Result<Vec<String>, Failure> {
    let open = &store.open;
    let mut args = vec!["--store".to_owned(), absolute(&store.place()?)?];
    for (option, path) in [("--anchor", &open.anchor), ("--keyfile", &open.credential.keyfile)] {
        if let Some(path) = path {
            args.extend([option.to_owned(), absolute(path)?]);
        }
    }
    if let Some(wait) = open.wait {
        let seconds = wait.as_secs();
        let wait = if seconds == 0 { "0".to_owned() } else { format!("{seconds}s") };
        args.extend(["--wait".to_owned(), wait]);
    }
    for (option, is_set) in
        [("--recovery", store.recovery), ("--require-fresh", open.require_fresh)]
    {
        if is_set {
            args.push(option.to_owned());
        }
    }
    args.extend(passphrase_args(&open.credential.passphrase)?);
    Ok(args)
}

fn passphrase_args(passphrase: &PassphraseArgs) -> Result<Vec<String>, Failure> {
    if let Some(path) = &passphrase.file {
        return Ok(vec!["--passphrase-file".to_owned(), absolute(path)?]);
    }
    if passphrase.fd.is_some() {
        return Err(Failure::usage(
            "A client cannot pass a file descriptor to the server.",
            "Use --passphrase-command or --passphrase-file.",
        ));
    }
    match &passphrase.command {
        Some(command) => Ok(vec!["--passphrase-command".to_owned(), text(command.clone())?]),
        None => Ok(Vec::new()),
    }
}

fn restriction_args(restrictions: &Restrictions) -> Vec<String> {
    let mut args = Vec::new();
    if restrictions.read_only {
        args.push("--read-only".to_owned());
    }
    if let Some(folder) = &restrictions.subtree {
        args.extend(["--subtree".to_owned(), folder.clone()]);
    }
    if restrictions.create_overwrites {
        args.push("--create-overwrites".to_owned());
    }
    if restrictions.delete_forgets {
        args.push("--delete-forgets".to_owned());
    }
    if let Some(on_find) = restrictions.screen.and_then(|on_find| on_find.to_possible_value()) {
        args.extend(["--screen".to_owned(), on_find.get_name().to_owned()]);
    }
    args.extend(restrictions.limit_args());
    args
}

fn absolute(path: &Path) -> Result<String, Failure> {
    if let Some(url) = database::url(path) {
        return Ok(url.to_owned());
    }
    let path: PathBuf = std::path::absolute(path).map_err(|error| {
        Failure::io("The working folder cannot be determined", &error, "Use absolute paths.")
    })?;
    text(path.into())
}

fn text(name: OsString) -> Result<String, Failure> {
    name.into_string().map_err(|_| {
        Failure::new(
            Exit::Other,
            "A path or command is not UTF-8, so it cannot be written into a configuration.",
            "Rename it, or use a link with a UTF-8 name.",
        )
    })
}
