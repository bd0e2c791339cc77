//! The fields of a tool call: their names, aliases and types.

use inmost_format::secret::Wiped;
use serde_json::value::RawValue;

use super::command::ViewRange;
use super::error::ToolError;
use super::json::{self, Object, SentRange};

/// A field of a command. The alias is used if the real name is absent or null.
#[derive(Clone, Copy)]
pub(super) struct Field {
    name: &'static str,
    alias: Option<&'static str>,
}

impl Field {
    pub(super) const fn named(name: &'static str) -> Self {
        Self { name, alias: None }
    }

    pub(super) const fn or(self, alias: &'static str) -> Self {
        Self { name: self.name, alias: Some(alias) }
    }
}

impl Object<'_> {
    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.present(name).and_then(json::string).is_some_and(|text| *text == value)
    }

    /// The name of the command; empty if it is missing.
    pub(super) fn command_name(&self) -> Result<Wiped<String>, ToolError> {
        let Some(value) = self.present("command") else { return Ok(Wiped::default()) };
        json::string(value).ok_or(ToolError::WrongType { field: "command", expected: "a string" })
    }

    /// The fields, read as those of `command`.
    pub(super) fn call(&self, command: &'static str) -> Call<'_> {
        Call { fields: self, command }
    }
}

/// The fields of a known command. Their types are checked only when they are used.
pub(super) struct Call<'f> {
    fields: &'f Object<'f>,
    command: &'static str,
}

impl Call<'_> {
    /// The value of a field, and the name under which it was sent.
    fn sent(&self, field: Field) -> Option<(&'static str, &RawValue)> {
        let named = |name| self.fields.present(name).map(|value| (name, value));
        named(field.name).or_else(|| field.alias.and_then(named))
    }

    fn required(&self, field: Field) -> Result<(&'static str, &RawValue), ToolError> {
        let missing = ToolError::MissingParameter { field: field.name, command: self.command };
        self.sent(field).ok_or(missing)
    }

    pub(super) fn string(&self, field: Field) -> Result<Wiped<String>, ToolError> {
        let (field, value) = self.required(field)?;
        json::string(value).ok_or(ToolError::WrongType { field, expected: "a string" })
    }

    pub(super) fn optional_string(&self, field: Field) -> Result<Option<Wiped<String>>, ToolError> {
        self.sent(field).map(|_| self.string(field)).transpose()
    }

    pub(super) fn integer(&self, field: Field) -> Result<i64, ToolError> {
        let (field, value) = self.required(field)?;
        json::integer(value).ok_or(ToolError::WrongType { field, expected: "an integer" })
    }

    /// Never refused here, because a folder ignores even an invalid range.
    pub(super) fn view_range(&self, field: Field) -> Option<ViewRange> {
        let (_, value) = self.sent(field)?;
        match json::range(value) {
            SentRange::Empty => None,
            SentRange::Lines(start, end) => Some(ViewRange::new(start, end)),
            SentRange::Unreadable => Some(ViewRange::unreadable(json::compact(value))),
        }
    }
}
