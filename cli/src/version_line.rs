//! Versions as lines for people and for scripts, and the names that options take.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use inmost::{FileText, VersionChannel, VersionInfo, VersionKind, VersionText, human_size};
use inmost_console::version::actor;
use serde::Serialize;

use crate::json_line::milliseconds;
use crate::{display, times};

/// A version as a line: number, local time, kind, channel, actor, size and path, and whether its text is gone.
pub(crate) fn line(version: &VersionInfo) -> String {
    let size = match version.path {
        Some(_) if version.file.is_some() => human_size(version.bytes),
        _ => "-".to_owned(),
    };
    let actor = display::path(actor(version));
    let gone = if version.text == VersionText::Gone { "  (text gone)" } else { "" };
    format!(
        "{:>7}  {}  {:<9}  {:<7}  {:<16}  {size:>6}  {}{gone}\n",
        version.number,
        times::local(version.time),
        version.kind.name(),
        version.channel.name(),
        actor,
        path(version)
    )
}

/// The path of a version, with the old one of a rename.
fn path(version: &VersionInfo) -> String {
    match (&version.old_path, &version.path) {
        (Some(old), Some(new)) if old != new => {
            format!("{} -> {}", display::path(old.as_str()), display::path(new.as_str()))
        }
        (_, Some(path)) => display::path(path.as_str()),
        (_, None) => "-".to_owned(),
    }
}

/// A version as a line of JSON.
#[derive(Serialize)]
pub(crate) struct Object<'a> {
    version: u64,
    time: u64,
    kind: &'static str,
    channel: &'static str,
    actor: &'a str,
    file: Option<u64>,
    previous: Option<u64>,
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<&'a str>,
    bytes: u64,
    lines: u64,
    text: &'static str,
}

impl<'a> Object<'a> {
    pub(crate) fn of(version: &'a VersionInfo) -> Self {
        Self {
            version: version.number,
            time: milliseconds(version.time),
            kind: version.kind.name(),
            channel: version.channel.name(),
            actor: version.actor.as_str(),
            file: version.file,
            previous: version.previous,
            path: version.path.as_ref().map(FileText::as_str),
            old_path: version.old_path.as_ref().map(FileText::as_str),
            bytes: version.bytes,
            lines: version.lines,
            text: version.text.name(),
        }
    }
}

/// Parses the name of a kind.
pub(crate) fn kinds() -> impl TypedValueParser<Value = VersionKind> {
    PossibleValuesParser::new(VersionKind::ALL.map(VersionKind::name))
        .try_map(|name| VersionKind::from_name(&name).ok_or("no kind"))
}

/// Parses the name of a channel.
pub(crate) fn channels() -> impl TypedValueParser<Value = VersionChannel> {
    PossibleValuesParser::new(VersionChannel::ALL.map(VersionChannel::name))
        .try_map(|name| VersionChannel::from_name(&name).ok_or("no channel"))
}
