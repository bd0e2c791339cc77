//! Adds the server to the text of a client's configuration. Everything else in the text stays as it is, comments and order
//! included. Does no I/O.

use std::fmt;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::client::Format;

/// The text with the server added.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Edited {
    pub(super) text: String,
    /// The arguments of another entry of this name that the text had.
    pub(super) replaced: Option<Vec<String>>,
}

/// Why a text cannot be edited.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// It is not valid; what is wrong, and where.
    NotValid(String),
    /// This member of it is something else than expected.
    WrongType(String),
    /// This member occurs twice, so it is unclear which one the client reads.
    Twice(String),
    /// The edit would have changed something else.
    NotSafe,
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotValid(reason) => write!(formatter, "it cannot be parsed: {reason}"),
            Self::WrongType(name) => write!(formatter, "{name} is not a set of named values"),
            Self::Twice(name) => write!(formatter, "it has `{name}` twice"),
            Self::NotSafe => formatter.write_str("it cannot be edited without other changes"),
        }
    }
}

/// Adds the entry of the server. `None` if the text has it already.
pub(super) fn with_server(
    format: Format,
    text: &str,
    name: &str,
    entry: &Value,
) -> Result<Option<Edited>, Refused> {
    let (mark, body) =
        text.strip_prefix(BYTE_ORDER_MARK).map_or(("", text), |body| (BYTE_ORDER_MARK, body));
    // The editors below write line feeds. A text with both kinds of line ends is left as it is.
    let is_windows =
        body.contains('\n') && body.matches('\n').count() == body.matches("\r\n").count();
    let unix = if is_windows { body.replace("\r\n", "\n") } else { body.to_owned() };
    let edited = match format {
        Format::Json(section) => with_json_entry(section, &unix, name, entry)?,
        Format::Toml(section) => with_toml_entry(section, &unix, name, entry)?,
    };
    Ok(edited.map(|Edited { text, replaced }| {
        let text = if is_windows { text.replace('\n', "\r\n") } else { text };
        Edited { text: format!("{mark}{text}"), replaced }
    }))
}

/// Some programs on Windows write it at the beginning of files.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A TOML document with only this entry.
pub(super) fn new_toml(section: &str, name: &str, entry: &Value) -> String {
    // An empty document is valid and has no entry.
    with_toml_entry(section, "", name, entry).ok().flatten().map(|it| it.text).unwrap_or_default()
}

fn with_json_entry(
    section: &str,
    text: &str,
    name: &str,
    entry: &Value,
) -> Result<Option<Edited>, Refused> {
    let root = parse_json(text)?;
    let before = root.to_serde_value().unwrap_or_else(|| Value::Object(Map::new()));
    let object = root.object_value_or_create().ok_or_else(|| wrong_type("the file"))?;
    only_once(&object, section)?;
    let servers = object.object_value_or_create(section).ok_or_else(|| wrong_type(section))?;
    only_once(&servers, name)?;
    let old = servers.get(name);
    let known = old.as_ref().and_then(|old| old.value()?.to_serde_value());
    if known.as_ref() == Some(entry) {
        return Ok(None);
    }
    let replaced = old.as_ref().map(|_| args(known.as_ref().unwrap_or(&Value::Null)));
    match old {
        Some(old) => old.set_value(json_input(entry)),
        None => drop(servers.append(name, json_input(entry))),
    }
    let mut text = root.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut expected = before;
    let section = expected
        .as_object_mut()
        .map(|object| object.entry(section).or_insert_with(|| Value::Object(Map::new())));
    if let Some(servers) = section.and_then(Value::as_object_mut) {
        servers.insert(name.to_owned(), entry.clone());
    }
    if parse_json(&text)?.to_serde_value().as_ref() != Some(&expected) {
        return Err(Refused::NotSafe);
    }
    Ok(Some(Edited { text, replaced }))
}

/// The arguments of an entry.
pub(super) fn args(entry: &Value) -> Vec<String> {
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
    args.filter_map(|arg| Some(arg.as_str()?.to_owned())).collect()
}

/// JSON with comments and trailing commas, which some clients allow.
fn parse_json(text: &str) -> Result<CstRootNode, Refused> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        Refused::NotValid(format!("{} in line {line}, column {column}", error.kind()))
    })
}

fn only_once(object: &CstObject, name: &str) -> Result<(), Refused> {
    let is_name = |it: &Option<String>| it.as_deref() == Some(name);
    let names = object.properties().into_iter().map(|property| property.decoded_name());
    if names.filter(is_name).count() > 1 {
        return Err(Refused::Twice(name.to_owned()));
    }
    Ok(())
}

fn json_input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(json_input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members.iter().map(|(name, value)| (name.clone(), json_input(value))).collect(),
        ),
    }
}

fn with_toml_entry(
    section: &str,
    text: &str,
    name: &str,
    entry: &Value,
) -> Result<Option<Edited>, Refused> {
    let mut document = parse_toml(text)?;
    let before = document.clone();
    let servers = document.entry(section).or_insert_with(|| {
        let mut table = Table::new();
        // Its own heading would be an empty table.
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| wrong_type(section))?;
    let replaced = match servers.get(name) {
        Some(old) if is_same(old, entry) => return Ok(None),
        old => old.map(|old| {
            let args = old.get("args").and_then(Item::as_array);
            args.into_iter().flatten().filter_map(|arg| Some(arg.as_str()?.to_owned())).collect()
        }),
    };
    servers.insert(name, Item::Table(toml_table(entry)));
    let text = document.to_string();
    // What the client reads must be the new entry, and all that was there before.
    let mut after = parse_toml(&text)?;
    let added = after.get(section).and_then(|servers| servers.get(name));
    if !added.is_some_and(|added| is_same(added, entry)) {
        return Err(Refused::NotSafe);
    }
    let mut before = before;
    for document in [&mut before, &mut after] {
        remove_server(document, section, name);
    }
    if plain(before.as_table()) != plain(after.as_table()) {
        return Err(Refused::NotSafe);
    }
    Ok(Some(Edited { text, replaced }))
}

fn parse_toml(text: &str) -> Result<DocumentMut, Refused> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        // The error's own text quotes the line, which may hold another server's secret.
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count().saturating_add(1);
        Refused::NotValid(format!("{} in line {line}", error.message().replace('\n', ", ")))
    })
}

fn remove_server(document: &mut DocumentMut, section: &str, name: &str) {
    if let Some(servers) = document.get_mut(section).and_then(Item::as_table_like_mut) {
        servers.remove(name);
        if servers.is_empty() {
            document.remove(section);
        }
    }
}

/// The values of a table without comments and layout.
fn plain(table: &dyn TableLike) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, item) in table.iter() {
        match item.as_table_like() {
            Some(inner) => {
                found.push((name.to_owned(), String::new()));
                let inner = plain(inner).into_iter();
                found.extend(inner.map(|(below, value)| (format!("{name}\n{below}"), value)));
            }
            None => found.push((name.to_owned(), item.to_string().trim().to_owned())),
        }
    }
    found.sort();
    found
}

/// Whether a TOML entry has exactly these members.
fn is_same(item: &Item, entry: &Value) -> bool {
    match entry {
        Value::String(text) => item.as_str() == Some(text),
        Value::Array(values) => item.as_array().is_some_and(|array| {
            array.len() == values.len()
                && array.iter().zip(values).all(|(one, other)| one.as_str() == other.as_str())
        }),
        Value::Object(members) => item.as_table_like().is_some_and(|table| {
            table.len() == members.len()
                && members
                    .iter()
                    .all(|(name, value)| table.get(name).is_some_and(|item| is_same(item, value)))
        }),
        _ => false,
    }
}

/// The entry as a table. Its members are strings, lists of strings and sets of strings.
fn toml_table(entry: &Value) -> Table {
    let mut table = Table::new();
    for (name, value) in entry.as_object().into_iter().flatten() {
        let item = match value {
            Value::Array(values) => {
                toml_edit::value(values.iter().filter_map(Value::as_str).collect::<Array>())
            }
            Value::Object(members) => {
                let strings = members
                    .iter()
                    .filter_map(|(name, value)| value.as_str().map(|text| (name.as_str(), text)));
                toml_edit::value(strings.collect::<InlineTable>())
            }
            value => toml_edit::value(value.as_str().unwrap_or_default()),
        };
        table.insert(name, item);
    }
    table
}

fn wrong_type(name: &str) -> Refused {
    Refused::WrongType(format!("`{name}`"))
}

#[cfg(test)]
mod tests;
