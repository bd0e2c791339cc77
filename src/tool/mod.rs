//! The tool layer.
