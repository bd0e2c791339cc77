//! Which screen a tool has.

use std::sync::Arc;

use super::{Screen, SecretScreen};

/// The screen of a tool; none by default.
#[derive(Clone, Default)]
pub(crate) enum ScreenSetting {
    /// Nothing is screened.
    #[default]
    Off,
    /// The built-in screen.
    Secrets(SecretScreen),
    /// A screen of the application, which only its own process can run.
    Custom(Arc<dyn Screen>),
}

impl ScreenSetting {
    /// The screen, if there is one.
    pub(crate) fn screen(&self) -> Option<&dyn Screen> {
        match self {
            Self::Off => None,
            Self::Secrets(screen) => Some(screen),
            Self::Custom(screen) => Some(screen.as_ref()),
        }
    }

    /// Whether nothing is screened.
    pub(crate) fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }
}

/// Serializes the built-in screen. A screen of the application is an error: without it, the other process would save
/// what it refuses.
#[cfg(feature = "serde")]
mod serialized {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error};

    use super::{ScreenSetting, SecretScreen};

    impl Serialize for ScreenSetting {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Off => serializer.serialize_none(),
                Self::Secrets(screen) => serializer.serialize_some(screen),
                Self::Custom(_) => Err(S::Error::custom("a custom screen cannot be sent")),
            }
        }
    }

    impl<'de> Deserialize<'de> for ScreenSetting {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let screen = Option::<SecretScreen>::deserialize(deserializer)?;
            Ok(screen.map_or(Self::Off, Self::Secrets))
        }
    }
}
