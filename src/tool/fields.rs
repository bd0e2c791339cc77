//! The fields of a tool call: their names, aliases and types.

use inmost_format::secret::Wiped;

use super::command::ViewRange;
use super::error::ExpectedType;
use super::error::ToolError;

/// A JSON value as it was sent. It is read only when it is used.
pub(super) trait JsonValue {
    fn is_null(&self) -> bool;

    /// The value as a string.
    fn string(&self) -> Option<Wiped<String>>;

    /// The value as an integer: an integral number in any notation, or a string of the form `-?[0-9]+`.
    fn integer(&self) -> Option<i64>;

    /// The value as a range of lines.
    fn range(&self) -> SentRange;

    /// The value as it was sent, without the white space between tokens.
    fn compact(&self) -> Wiped<String>;
}

/// What a value says as a range of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SentRange {
    /// Nothing: a model has filled in a field that it does not use.
    Empty,
    /// The first and the last line.
    Lines(i64, i64),
    /// Something else.
    Unreadable,
}

/// The values of an object by name.
pub(super) trait JsonObject {
    type Value: JsonValue + ?Sized;

    /// The value with this name; of duplicate names, the last.
    fn get(&self, name: &str) -> Option<&Self::Value>;
}

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

/// The fields of an object. Their types are checked only when they are used.
pub(super) struct Fields<O>(pub(super) O);

impl<O: JsonObject> Fields<O> {
    pub(super) fn present(&self, name: &str) -> Option<&O::Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.present(name).and_then(JsonValue::string).is_some_and(|text| *text == value)
    }

    /// The name of the command; empty if it is missing.
    pub(super) fn command_name(&self) -> Result<Wiped<String>, ToolError> {
        let Some(value) = self.present("command") else { return Ok(Wiped::default()) };
        let wrong = ToolError::WrongType { field: "command", expected: ExpectedType::String };
        value.string().ok_or(wrong)
    }

    /// The fields, read as those of `command`.
    pub(super) fn call(&self, command: &'static str) -> Call<'_, O> {
        Call { fields: self, command }
    }
}

/// The fields of a known command.
pub(super) struct Call<'f, O> {
    fields: &'f Fields<O>,
    command: &'static str,
}

impl<O: JsonObject> Call<'_, O> {
    /// The value of a field, and the name under which it was sent.
    fn sent(&self, field: Field) -> Option<(&'static str, &O::Value)> {
        let named = |name| self.fields.present(name).map(|value| (name, value));
        named(field.name).or_else(|| field.alias.and_then(named))
    }

    fn required(&self, field: Field) -> Result<(&'static str, &O::Value), ToolError> {
        let missing = ToolError::MissingParameter { field: field.name, command: self.command };
        self.sent(field).ok_or(missing)
    }

    pub(super) fn string(&self, field: Field) -> Result<Wiped<String>, ToolError> {
        let (field, value) = self.required(field)?;
        value.string().ok_or(ToolError::WrongType { field, expected: ExpectedType::String })
    }

    pub(super) fn optional_string(&self, field: Field) -> Result<Option<Wiped<String>>, ToolError> {
        self.sent(field).map(|_| self.string(field)).transpose()
    }

    pub(super) fn integer(&self, field: Field) -> Result<i64, ToolError> {
        let (field, value) = self.required(field)?;
        value.integer().ok_or(ToolError::WrongType { field, expected: ExpectedType::Integer })
    }

    /// Never refused here, because a folder ignores even an invalid range.
    pub(super) fn view_range(&self, field: Field) -> Option<ViewRange> {
        let (_, value) = self.sent(field)?;
        match value.range() {
            SentRange::Empty => None,
            SentRange::Lines(start, end) => Some(ViewRange::new(start, end)),
            SentRange::Unreadable => Some(ViewRange::unreadable(value.compact())),
        }
    }
}
