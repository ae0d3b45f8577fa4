//! The built `mcp-host` as a script, or a person at a terminal, runs it. What needs servers of other people is in the
//! workspace's `tests` crate.

#![allow(clippy::unwrap_used, clippy::panic)]

mod command;
mod output;
#[cfg(unix)]
mod person;
mod server;
mod usage;
