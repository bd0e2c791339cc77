//! Serializes an error of the operating system as its code and its message. The code is valid on one system only: errors
//! cross between processes of a machine, not between machines.

use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The code keeps the kind of the error.
#[derive(Serialize, Deserialize)]
struct IoError {
    code: Option<i32>,
    message: String,
}

pub(super) fn serialize<S: Serializer>(
    error: &io::Error,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    IoError { code: error.raw_os_error(), message: error.to_string() }.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<io::Error, D::Error> {
    let IoError { code, message } = IoError::deserialize(deserializer)?;
    Ok(code.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error))
}
