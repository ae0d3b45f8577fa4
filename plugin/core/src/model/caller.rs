//! Who asks. Part of every decision, rule, token and log line.

use serde::{Deserialize, Serialize};

/// The kinds of caller that a rule can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "lowercase")]
pub enum CallerKind {
    /// All scripts of the main webview: one principal, none can be told from another.
    Page,
    /// A model's run, through the `ToolRegistry`.
    Agent,
    /// An MCP client of `mcp-host serve`.
    Serve,
    /// The person at a command line.
    Cli,
    /// The person in the settings window.
    Settings,
}

impl CallerKind {
    /// Every kind, in the order in which they are listed to a person.
    pub const ALL: [Self; 5] = [Self::Page, Self::Agent, Self::Serve, Self::Cli, Self::Settings];

    /// As written in rules and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Agent => "agent",
            Self::Serve => "serve",
            Self::Cli => "cli",
            Self::Settings => "settings",
        }
    }
}

/// One caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The scripts of one loaded document.
    Page {
        /// The webview's label.
        window: String,
        /// Which load of the document; a reload is another document, and what belonged to the old one is void.
        document: u64,
    },
    /// A model's run.
    Agent {
        /// The run's id.
        run_id: String,
    },
    /// An MCP client.
    Serve {
        /// The protocol session.
        session: String,
        /// What the client calls itself; untrusted.
        client: String,
        /// The client's process and program, where the transport tells.
        process: Option<(u32, String)>,
    },
    /// The person at a command line.
    Cli,
    /// The person in the settings window.
    Settings,
}

impl Caller {
    /// The kind that rules name.
    pub fn kind(&self) -> CallerKind {
        match self {
            Self::Page { .. } => CallerKind::Page,
            Self::Agent { .. } => CallerKind::Agent,
            Self::Serve { .. } => CallerKind::Serve,
            Self::Cli => CallerKind::Cli,
            Self::Settings => CallerKind::Settings,
        }
    }
}
