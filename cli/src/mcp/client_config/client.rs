//! The clients whose configuration is known: its format, and where it lies.

use std::env;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::Server;
use super::document;
use crate::display;

/// The clients whose configuration is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Client {
    /// `.mcp.json` in the folder of a project
    ClaudeCode,
    /// The `claude mcp add` line, which connects Claude Code in every project
    ClaudeCommand,
    /// `claude_desktop_config.json`
    ClaudeDesktop,
    /// `mcp.json` of the user; the format of `.vscode/mcp.json` is the same
    Vscode,
    /// `~/.cursor/mcp.json`
    Cursor,
    /// `~/.codex/config.toml`
    Codex,
    /// `~/.gemini/settings.json`
    Gemini,
    /// The JSON that most other clients use
    Generic,
}

/// The format of a configuration file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    /// JSON, often with comments. The servers are the members of this object.
    Json(&'static str),
    /// TOML with a table of this name, which has a table for each server.
    Toml(&'static str),
}

impl Client {
    /// The name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::ClaudeCommand => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Vscode => "Visual Studio Code",
            Self::Cursor => "Cursor",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Generic => "the client",
        }
    }

    /// The format of the file; `None` if the client is configured with a command.
    pub(super) fn format(self) -> Option<Format> {
        match self {
            Self::ClaudeCommand => None,
            Self::Vscode => Some(Format::Json("servers")),
            Self::Codex => Some(Format::Toml("mcp_servers")),
            Self::ClaudeCode
            | Self::ClaudeDesktop
            | Self::Cursor
            | Self::Gemini
            | Self::Generic => Some(Format::Json("mcpServers")),
        }
    }

    /// The file that the client reads, below this home folder; `None` if it is unknown.
    pub(super) fn file(self, home: &Path) -> Option<PathBuf> {
        match self {
            Self::ClaudeCode => Some(PathBuf::from(".mcp.json")),
            Self::ClaudeDesktop => {
                Some(settings(home).join("Claude").join("claude_desktop_config.json"))
            }
            Self::Vscode => Some(settings(home).join("Code").join("User").join("mcp.json")),
            Self::Cursor => Some(home.join(".cursor").join("mcp.json")),
            Self::Codex => {
                let folder = env::var_os("CODEX_HOME").filter(|folder| !folder.is_empty());
                let folder = folder.map_or_else(|| home.join(".codex"), PathBuf::from);
                Some(folder.join("config.toml"))
            }
            Self::Gemini => Some(home.join(".gemini").join("settings.json")),
            Self::ClaudeCommand | Self::Generic => None,
        }
    }

    /// The entry of the server in the configuration.
    pub(super) fn entry(self, server: &Server) -> Value {
        let mut entry = Map::new();
        if matches!(self, Self::ClaudeCode | Self::Vscode) {
            entry.insert("type".to_owned(), "stdio".into());
        }
        entry.insert("command".to_owned(), server.program.as_str().into());
        entry.insert("args".to_owned(), server.args.as_slice().into());
        if !server.env.is_empty() {
            let env = server.env.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
            entry.insert("env".to_owned(), Value::Object(env.collect()));
        }
        Value::Object(entry)
    }

    /// A whole configuration with only this server, or the command.
    pub(crate) fn configuration(self, server: &Server) -> String {
        match self.format() {
            None => command(server),
            Some(Format::Json(section)) => {
                let block = json!({ section: { &server.name: self.entry(server) } });
                // Serialising strings cannot fail.
                serde_json::to_string_pretty(&block).unwrap_or_default() + "\n"
            }
            Some(Format::Toml(section)) => {
                document::new_toml(section, &server.name, &self.entry(server))
            }
        }
    }
}

/// The folder in which programs of this platform keep their settings.
fn settings(home: &Path) -> PathBuf {
    if cfg!(target_os = "macos") {
        return home.join("Library").join("Application Support");
    }
    let (variable, default) = if cfg!(windows) {
        ("APPDATA", home.join("AppData").join("Roaming"))
    } else {
        ("XDG_CONFIG_HOME", home.join(".config"))
    };
    env::var_os(variable)
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .unwrap_or(default)
}

/// The line that adds the server to the user's Claude Code.
fn command(server: &Server) -> String {
    let mut line = format!("claude mcp add {} --scope user", server.name);
    for (name, value) in &server.env {
        line.push_str(" --env ");
        line.push_str(&display::quoted(&format!("{name}={value}")));
    }
    line.push_str(" -- ");
    line.push_str(&display::quoted(&server.program));
    for arg in &server.args {
        line.push(' ');
        line.push_str(&display::quoted(arg));
    }
    line.push('\n');
    line
}
