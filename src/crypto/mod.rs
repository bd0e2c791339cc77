//! The crypto layer.
