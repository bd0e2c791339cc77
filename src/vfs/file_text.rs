//! Text from the store, on its way to the host.

use std::fmt;

use inmost_format::secret::Wiped;

/// A text or a path from the store. It is wiped on drop, and `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FileText(Wiped<String>);

impl FileText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes the text without a copy.
    ///
    /// # Security
    /// The caller must wipe it.
    #[must_use]
    pub fn into_string(mut self) -> String {
        std::mem::take(&mut *self.0)
    }
}

impl From<String> for FileText {
    fn from(text: String) -> Self {
        Self(Wiped::new(text))
    }
}

impl From<Wiped<String>> for FileText {
    fn from(text: Wiped<String>) -> Self {
        Self(text)
    }
}

impl fmt::Debug for FileText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileText(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_not_printed() {
        assert_eq!(format!("{:?}", FileText::from("secret".to_owned())), "FileText(..)");
    }
}
