//! The program as others see it: arguments, streams and exit codes.
#![cfg(unix)]

mod call;
mod commands;
mod failures;
mod first_session;
mod inmost;
mod passphrase;
mod terminal;
