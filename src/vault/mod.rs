//! The vault layer.
