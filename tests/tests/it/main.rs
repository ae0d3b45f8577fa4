//! Integration: real child processes, real servers from npm and PyPI, the real `mcp-host` binary.

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
