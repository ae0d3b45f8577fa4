//! From a launch to a session, with an honest reason where that fails.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{
    output::{Mask, Output},
    process::Processes,
};
use crate::{
    config::ResolvedLaunch,
    model::{Capabilities, Implementation, ServerId},
};

/// A folder that a server may know of (`roots/list`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// A name for people.
    pub name: Option<String>,
}

/// What a server said about itself in the handshake, repaired; untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// The negotiated revision.
    pub protocol_version: String,
    /// What it declared, as the contract shows it.
    pub capabilities: Capabilities,
    /// It completes arguments.
    pub completions: bool,
    /// It takes subscriptions to resources.
    pub subscribe: bool,
    /// It logs.
    pub logging: bool,
    /// What it says it is.
    pub server_info: Option<Implementation>,
    /// Never put into a prompt by the host.
    pub instructions: Option<String>,
    /// What was repaired, in words.
    pub diagnostics: Vec<String>,
}

/// How to connect.
pub struct Connect {
    pub(super) server: ServerId,
    pub(super) launch: ResolvedLaunch,
    pub(super) processes: Processes,
    pub(super) timeout: Duration,
    pub(super) cancel: CancellationToken,
    pub(super) output: Output,
    pub(super) mask: Option<Mask>,
    pub(super) roots: Vec<Root>,
}

impl Connect {
    /// Over stdin and stdout of a child that is started for it.
    pub fn stdio(server: ServerId, launch: ResolvedLaunch, processes: Processes) -> Self {
        Self {
            server,
            launch,
            processes,
            timeout: Duration::from_secs(30),
            cancel: CancellationToken::new(),
            output: Output::default(),
            mask: None,
            roots: Vec::new(),
        }
    }

    /// The time from here to the end of the handshake; 30 s by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Gives up when cancelled.
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Where stderr and noise are kept.
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Masks secrets in stderr, noise and logs.
    pub fn mask(mut self, mask: Mask) -> Self {
        self.mask = Some(mask);
        self
    }

    /// What `roots/list` answers; none by default.
    pub fn roots(mut self, roots: Vec<Root>) -> Self {
        self.roots = roots;
        self
    }
}
