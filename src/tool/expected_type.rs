//! The types that fields of a tool call can have.

/// The expected type of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExpectedType {
    /// A JSON string.
    String,
    /// An integer, an integral number, or a string of digits.
    Integer,
}
