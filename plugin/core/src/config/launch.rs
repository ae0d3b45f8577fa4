//! What a person confirms, and what is then launched.
//!
//! A [`Launch`] is the unexpanded snapshot: variables and secrets stand in it by name. [`resolve`] makes a
//! [`ResolvedLaunch`] of it, which the session spawns exactly as it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fmt,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use url::Url;

use super::{Environment, SecretValue, Secrets};
use crate::{
    error::{Error, Result},
    model::{ServerId, TransportKind},
};

/// What to launch or to reach, unexpanded. The confirmed one is kept and is what runs, whatever the file says later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "transport", rename_all = "lowercase")]
pub enum Launch {
    /// A child process.
    Stdio(StdioLaunch),
    /// Streamable HTTP.
    Http(EndpointLaunch),
    /// The 2024-11-05 HTTP+SSE transport.
    Sse(EndpointLaunch),
}

/// A child process, unexpanded.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StdioLaunch {
    /// The program: a name to look up, or a path.
    pub command: String,
    /// Its arguments, exactly.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its working folder; absent = the host's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names of the host's variables that it gets too.
    #[serde(default)]
    pub env_passthrough: BTreeSet<String>,
}

/// An HTTP endpoint, unexpanded.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointLaunch {
    /// The endpoint.
    pub url: String,
    /// Headers that go to this origin only.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// A launch with everything looked up.
#[derive(Debug)]
pub enum Resolved {
    /// To be spawned.
    Stdio(ResolvedLaunch),
    /// To be connected to.
    Endpoint(ResolvedEndpoint),
}

/// A child process as it will be spawned: nothing is inherited, nothing goes through a shell, nothing is looked up again.
pub struct ResolvedLaunch {
    /// The program's path.
    pub program: PathBuf,
    /// Its arguments, exactly.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working folder, checked; absent = the host's own.
    pub cwd: Option<PathBuf>,
    /// What must be masked in whatever it writes.
    pub secrets: Vec<SecretValue>,
}

/// An endpoint as it will be reached.
pub struct ResolvedEndpoint {
    /// Streamable HTTP or HTTP+SSE.
    pub transport: TransportKind,
    /// The endpoint.
    pub url: Url,
    /// Headers, for this origin only.
    pub headers: Vec<(String, SecretValue)>,
    /// What must be masked in whatever it writes.
    pub secrets: Vec<SecretValue>,
}

impl Launch {
    /// How it is reached.
    pub fn transport(&self) -> TransportKind {
        match self {
            Self::Stdio(_) => TransportKind::Stdio,
            Self::Http(_) => TransportKind::Http,
            Self::Sse(_) => TransportKind::Sse,
        }
    }

    /// The program that may have to download before it starts (`npx`, `uvx`, `docker`…), if it is one.
    pub fn downloads_with(&self) -> Option<&'static str> {
        None
    }
}

/// Looks everything up: variables, secrets, the program, the folder, the environment of the child.
///
/// Blocks on the file system only.
///
/// # Errors
///
/// [`Error::LaunchFailed`] with reason `unresolved_variable`, `not_found`, `not_executable` or `bad_cwd`.
pub fn resolve(
    server: &ServerId,
    launch: &Launch,
    environment: &Environment,
    secrets: &dyn Secrets,
) -> Result<Resolved> {
    let _ = (server, launch, environment, secrets);
    Err(Error::internal("launches are not resolved yet"))
}

impl fmt::Debug for StdioLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioLaunch")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("cwd", &self.cwd)
            .field("env", &self.env.keys())
            .field("env_passthrough", &self.env_passthrough)
            .finish()
    }
}

impl fmt::Debug for EndpointLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointLaunch").field("headers", &self.headers.keys()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ResolvedLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedLaunch")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ResolvedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedEndpoint")
            .field("transport", &self.transport)
            .field("origin", &self.url.origin().ascii_serialization())
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
