//! What JavaScript may ask: page commands for untrusted scripts, admin commands for the settings window.
//!
//! Each command takes one `input`, reads it strictly ([`input`]), knows who asks ([`caller`]) and calls one method of
//! the core. No command decides, words or stores anything; an admin command never answers another webview.

pub(crate) mod admin;
pub(crate) mod caller;
pub(crate) mod input;
pub(crate) mod page;

#[cfg(test)]
include!("command/name.rs");

use mcp_host_core::error::{Audience, Error, ErrorInfo};

/// An error as an untrusted script may read it.
#[allow(clippy::needless_pass_by_value, reason = "it is what `map_err` calls")]
pub(crate) fn for_page(error: Error) -> ErrorInfo {
    tracing::debug!(%error, "a page's request failed");
    error.info(Audience::Page)
}

/// An error as the person may read it.
#[allow(clippy::needless_pass_by_value, reason = "used as `map_err(for_person)`")]
pub(crate) fn for_person(error: Error) -> ErrorInfo {
    error.info(Audience::Person)
}

#[cfg(test)]
mod tests;
