//! Wiped buffers.
