//! What a person confirms, and what is then launched.
//!
//! A [`Launch`] is the unexpanded snapshot: variables and secrets stand in it by name. [`resolve`](super::resolve) makes
//! a [`ResolvedLaunch`] of it, which the session spawns exactly as it is. What a person must know before they say yes is
//! here too: [`Launch::uses`], and [`Launch::cautions`](super::caution).

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fmt,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    SecretValue,
    jsonc::join,
    runner,
    variable::{Source, Template},
};
use crate::model::TransportKind;

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

/// Something from outside of the file that goes to the server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// Where it goes, as a JSON pointer in the entry.
    pub field: String,
    /// What it is.
    pub source: Source,
    /// The variable's name, or the id.
    pub name: String,
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
        match self {
            Self::Stdio(launch) => runner::runner(&launch.command, &launch.args).map(|runner| runner.name),
            Self::Http(_) | Self::Sse(_) => None,
        }
    }

    /// Everything from outside of the file that will go to this server: the host's variables, secrets and answers that
    /// its texts name, and what `envPassthrough` hands on. A shared file could otherwise carry off the environment.
    pub fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (field, text) in self.texts() {
            let Ok(template) = Template::parse(&text) else { continue };
            for reference in template.references() {
                let own = match self {
                    Self::Stdio(launch) => {
                        !field.starts_with("/env/")
                            && reference.source == Source::Variable
                            && launch.env.contains_key(&reference.name)
                    }
                    Self::Http(_) | Self::Sse(_) => false,
                };
                if !own {
                    uses.push(Use { field: field.clone(), source: reference.source, name: reference.name.clone() });
                }
            }
        }
        if let Self::Stdio(launch) = self {
            uses.extend(launch.env_passthrough.iter().map(|name| Use {
                field: "/envPassthrough".to_owned(),
                source: Source::Variable,
                name: name.clone(),
            }));
        }
        uses
    }

    /// Its texts, each with its JSON pointer in the entry, in reading order.
    pub(super) fn texts(&self) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        let mut put = |field: String, text: &str| texts.push((field, text.to_owned()));
        match self {
            Self::Stdio(launch) => {
                put("/command".to_owned(), &launch.command);
                for (index, arg) in launch.args.iter().enumerate() {
                    put(join("/args", &index.to_string()), arg);
                }
                if let Some(cwd) = &launch.cwd {
                    put("/cwd".to_owned(), cwd);
                }
                for (name, value) in &launch.env {
                    put(join("/env", name), value);
                }
            }
            Self::Http(endpoint) | Self::Sse(endpoint) => {
                put("/url".to_owned(), &endpoint.url);
                for (name, value) in &endpoint.headers {
                    put(join("/headers", name), value);
                }
            }
        }
        texts
    }
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
