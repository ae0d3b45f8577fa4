//! `servers.json`: how each server is *reached*. What it may do is policy, and lives elsewhere.
//!
//! [`mod@file`] reads it and judges every entry by itself, [`edit`] changes it without touching the rest, [`watch`] notices
//! when another hand does, [`snippet`] and [`import`] understand what people paste and what other programs keep.
//! [`launch`] is the unexpanded snapshot that a person confirms, [`mod@fingerprint`] the hash it is known by, [`caution`]
//! what deserves a second look, [`variable`] what stands in its texts, [`environment`] where commands are looked for;
//! [`resolve`] puts it all together.
//!
//! Above: `model`, `error`, `clock`, `store`. Nothing here starts a process (but for the one login shell that is asked
//! for its PATH), opens a connection, or decides whether a server may run. No value of a variable or a secret leaves
//! this module except in a [`Resolved`], and none is ever part of an error or of `Debug`.

mod address;
pub mod caution;
pub mod edit;
mod entry;
pub mod environment;
pub mod file;
pub mod fingerprint;
pub mod foreign;
pub mod import;
mod jsonc;
pub mod launch;
mod resolve;
pub mod runner;
pub mod secret;
mod slug;
pub mod snippet;
mod splice;
pub mod variable;
pub mod watch;

use std::{collections::BTreeSet, time::Duration};

use crate::{
    error::Error,
    model::{ServerId, TransportKind},
};

pub use caution::Caution;
pub use edit::{Edit, Entry, ServersFile};
pub use environment::{Environment, SystemEnvironment};
pub use file::Configuration;
pub use fingerprint::{Change, Shown, difference, fingerprint};
pub use foreign::{Draft, Proposal};
pub use launch::{Launch, Resolved, ResolvedEndpoint, ResolvedLaunch, Use};
pub use resolve::{locate, resolve};
pub use secret::{NoSecrets, SecretSource, SecretValue};
pub use watch::Watch;

/// One entry of `servers.json`.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Its id: the slug of its key.
    pub id: ServerId,
    /// Its key, as the person wrote it.
    pub key: String,
    /// What people call it: `displayName`, else the key.
    pub display_name: String,
    /// How it is reached; for an entry that cannot be used, the best guess.
    pub transport: TransportKind,
    /// Whether the person has it turned on (`enabled: false` and `disabled: true` both turn it off).
    pub enabled: bool,
    /// Whether to connect when the host starts.
    pub auto_connect: bool,
    /// Tools, by their own names, that are turned off.
    pub disabled_tools: BTreeSet<String>,
    /// Its time limits, where they differ from ours.
    pub limits: Limits,
    /// What to launch, or why the entry cannot be used ([`Error::ConfigInvalid`]).
    pub launch: Result<Launch, Error>,
    /// What is odd about it and does no harm.
    pub warnings: Vec<Warning>,
}

/// An entry's own limits; absent ones are the host's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Until initialised.
    pub connect_ms: Option<u32>,
    /// A call without a sign of life.
    pub call_ms: Option<u32>,
    /// A call in all.
    pub max_ms: Option<u32>,
    /// Calls at the same time.
    pub max_concurrency: Option<u32>,
}

/// Something odd that does no harm: an unknown key, an empty `alwaysAllow`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where, as a JSON pointer into the file.
    pub path: String,
    /// What, and what to do.
    pub message: String,
}

impl ServerConfig {
    /// The launch, or the error that any use of this entry gives.
    pub fn launch(&self) -> Result<&Launch, Error> {
        self.launch.as_ref().map_err(Clone::clone)
    }

    /// How long connecting may take: its own limit, else 30 s, or 120 s where the command may have to download first.
    pub fn connect_limit(&self) -> Duration {
        let default = match &self.launch {
            Ok(launch) if launch.downloads_with().is_some() => 120_000,
            _ => 30_000,
        };
        Duration::from_millis(self.limits.connect_ms.unwrap_or(default).into())
    }
}
