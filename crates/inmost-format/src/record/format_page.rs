//! The numbers that docs/FORMAT.md gives in its examples.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "for tests, which panic"
)]

use std::collections::HashMap;

use crate::crypto::ids::StoreId;
use crate::crypto::unhex;
use crate::secret::SecretBytes;

/// Lines of the form `name = hex`; a longer value continues on indented lines.
pub struct Page(HashMap<String, String>);

impl Page {
    /// Reads the page.
    pub fn read() -> Self {
        let mut values = HashMap::new();
        let mut last: Option<String> = None;
        for line in include_str!("../../../../docs/FORMAT.md").lines() {
            let is_hex =
                |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
            if let Some((name, hex)) = line.split_once(" = ").filter(|(_, hex)| is_hex(hex)) {
                let name = name.trim().to_owned();
                let before = values.insert(name.clone(), hex.to_owned());
                assert!(before.is_none(), "FORMAT.md gives {name} twice");
                last = Some(name);
            } else if let Some(name) =
                last.take_if(|_| line.starts_with("  ") && is_hex(line.trim()))
            {
                values.entry(name.clone()).or_default().push_str(line.trim());
                last = Some(name);
            }
        }
        Self(values)
    }

    /// The bytes of this name.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.find(name).unwrap_or_else(|| panic!("FORMAT.md gives no {name}"))
    }

    /// The bytes of this name, if the page gives them.
    pub fn find(&self, name: &str) -> Option<Vec<u8>> {
        self.0.get(name).map(|hex| unhex(hex))
    }

    /// The bytes of this name, of which there are `N`.
    pub fn array<const N: usize>(&self, name: &str) -> [u8; N] {
        self.bytes(name).try_into().unwrap()
    }

    /// The secret of this name.
    pub fn secret(&self, name: &str) -> SecretBytes<32> {
        SecretBytes::init_with(|bytes| *bytes = self.array(name))
    }

    /// The id of the example store.
    pub fn store(&self) -> StoreId {
        StoreId(self.array("store id"))
    }
}
