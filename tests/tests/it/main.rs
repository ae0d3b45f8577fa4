//! Integration: real child processes, real servers from npm and PyPI, the real `mcp-host` binary.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod cli;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod leftover;
#[cfg(target_os = "linux")]
mod session;
mod tidy;
