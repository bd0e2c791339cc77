//! The vfs layer.
