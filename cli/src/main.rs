//! The `inmost` command.
fn main() {}
