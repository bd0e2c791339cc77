//! The record layer.
