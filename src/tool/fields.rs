//! The fields of a tool call: which were sent, under which name, and with which type.

use super::command::ViewRange;
use super::error::{Expected, ToolError};
use super::json::{self, NoObject};
use super::wording::reason;
use inmost_format::secret::Wiped;
use serde_json::value::RawValue;

/// A field of a command; the alias counts if the real name is absent or null.
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

/// The fields of an object, typed only when they are used.
pub(super) struct Fields<'j>(json::Object<'j>);

impl<'j> Fields<'j> {
    pub(super) fn parse(json: &'j str) -> Result<Self, ToolError> {
        json::object(json).map(Self).map_err(|error| {
            let reason = match error {
                NoObject::NotAnObject => reason::NOT_AN_OBJECT,
                NoObject::NotJson => reason::NOT_JSON,
            };
            ToolError::InvalidInput { reason }
        })
    }

    pub(super) fn present(&self, name: &str) -> Option<&'j RawValue> {
        self.0.get(name).filter(|raw| raw.get() != "null")
    }

    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.present(name).and_then(json::string).is_some_and(|text| *text == value)
    }

    /// Empty if there is none.
    pub(super) fn command_name(&self) -> Result<Wiped<String>, ToolError> {
        let Some(raw) = self.present("command") else { return Ok(Wiped::default()) };
        let wrong = ToolError::WrongType { field: "command", expected: Expected::String };
        json::string(raw).ok_or(wrong)
    }

    /// The fields as those of `command`.
    pub(super) fn call(&self, command: &'static str) -> Call<'_, 'j> {
        Call { fields: self, command }
    }
}

/// The fields of a known command.
pub(super) struct Call<'f, 'j> {
    fields: &'f Fields<'j>,
    command: &'static str,
}

impl<'j> Call<'_, 'j> {
    /// The value of a field, and the name under which it was sent.
    fn sent(&self, field: Field) -> Option<(&'static str, &'j RawValue)> {
        let named = |name| self.fields.present(name).map(|raw| (name, raw));
        named(field.name).or_else(|| field.alias.and_then(named))
    }

    fn required(&self, field: Field) -> Result<(&'static str, &'j RawValue), ToolError> {
        let missing = ToolError::MissingParameter { field: field.name, command: self.command };
        self.sent(field).ok_or(missing)
    }

    pub(super) fn string(&self, field: Field) -> Result<Wiped<String>, ToolError> {
        let (field, raw) = self.required(field)?;
        json::string(raw).ok_or(ToolError::WrongType { field, expected: Expected::String })
    }

    pub(super) fn optional_string(&self, field: Field) -> Result<Option<Wiped<String>>, ToolError> {
        self.sent(field).map(|_| self.string(field)).transpose()
    }

    pub(super) fn integer(&self, field: Field) -> Result<i64, ToolError> {
        let (field, raw) = self.required(field)?;
        json::integer(raw).ok_or(ToolError::WrongType { field, expected: Expected::Integer })
    }

    /// Never refused here: for a folder it does not matter what it is.
    pub(super) fn view_range(&self, field: Field) -> Option<ViewRange> {
        let (_, raw) = self.sent(field)?;
        Some(match json::two_integers(raw) {
            Some((start, end)) => ViewRange::new(start, end),
            None => ViewRange::unreadable(json::compact(raw)),
        })
    }
}
