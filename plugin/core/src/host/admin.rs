//! What only a person may do: servers, confirmations, rules, modes, the log. Widening ends in the prompter, tightening
//! does not; on the command line the command itself is the person's act.

use std::collections::BTreeMap;

use crate::{
    error::Result,
    model::{
        Caller, CallerKind,
        admin::{
            AuditFilter, AuditPage, CheckView, LogLine, Overview, RuleView, ServerDetails, TrustView, WaitingView,
        },
        json,
    },
};

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantTarget {
    /// `SERVER/TOOL`; without a server only for deny or a local tool.
    Tool { server: Option<String>, tool: String },
    /// `SERVER/*`.
    Server(String),
    /// `SERVER --resources[=GLOB]`.
    Resources { server: String, uri: Option<String> },
    /// `SERVER --prompts`.
    Prompts { server: String },
}

/// A rule to be made.
#[derive(Clone, Debug, Default)]
pub struct NewRule {
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// What it is about.
    pub target: Option<GrantTarget>,
    /// Empty = the default of serve.md.
    pub callers: Vec<CallerKind>,
    /// `once` or `always`.
    pub scope: String,
    /// RFC 3339.
    pub expires_at: Option<String>,
    /// `--args-exact`.
    pub exact: Option<json::Value>,
    /// JSON pointer → JSON.
    pub equals: BTreeMap<String, json::Value>,
    /// JSON pointer → glob.
    pub path_globs: BTreeMap<String, String>,
    /// JSON pointer → words.
    pub word_prefixes: BTreeMap<String, String>,
    /// JSON pointers.
    pub any: Vec<String>,
}

/// A change of servers.json.
#[derive(Clone, Debug)]
pub enum ServerChange {
    /// `snippet`: anything that config can read as one or more entries; `key`: the name, where the snippet has none.
    Add { key: Option<String>, snippet: String },
    /// The whole entry anew, as JSON text.
    Edit { server: String, entry: String },
    /// Out of the file.
    Remove { server: String },
    /// Turn on or off.
    SetEnabled { server: String, enabled: bool },
}

/// The person's own acts. `by` says whose: [`Caller::Settings`] is asked natively before anything is widened,
/// [`Caller::Cli`] has acted by running the command. Any other caller is refused.
#[derive(Clone)]
pub struct Admin {
    #[allow(dead_code)]
    host: super::Host,
}

#[allow(unused_variables, clippy::todo, missing_docs)]
impl Admin {
    pub fn overview(&self) -> Overview {
        todo!()
    }

    pub async fn server(&self, server: &str) -> Result<ServerDetails> {
        todo!()
    }

    /// The stderr tail, stdout noise and MCP log messages, oldest first.
    pub fn server_log(&self, server: &str) -> Result<Vec<LogLine>> {
        todo!()
    }

    /// Changes servers.json; returns the ids that were touched. Add and edit confirm the launch (a dialog for Settings).
    pub async fn change_server(&self, change: ServerChange, by: &Caller) -> Result<Vec<String>> {
        todo!()
    }

    /// Confirms the launch as it stands now.
    pub async fn confirm_server(&self, server: &str, expires_at: Option<String>, by: &Caller) -> Result<()> {
        todo!()
    }

    pub async fn restart_server(&self, server: &str) -> Result<()> {
        todo!()
    }

    /// Pins the definitions of these tools (all where `tools` is `None`); connects if needed.
    pub async fn pin_tools(&self, server: &str, tools: Option<Vec<String>>, by: &Caller) -> Result<Vec<String>> {
        todo!()
    }

    /// `trust revoke`: the confirmation and all pins, or `trust deny`: an explicit no.
    pub async fn revoke_trust(&self, server: &str, tools: Option<Vec<String>>, deny: bool, by: &Caller) -> Result<()> {
        todo!()
    }

    pub fn trust(&self) -> Result<Vec<TrustView>> {
        todo!()
    }

    pub fn rules(&self) -> Result<Vec<RuleView>> {
        todo!()
    }

    /// Makes a rule; returns its id. For an allow of a tool it connects, shows and pins (`approval grant`).
    pub async fn add_rule(&self, rule: NewRule, by: &Caller) -> Result<String> {
        todo!()
    }

    pub async fn revoke_rule(&self, id: &str, by: &Caller) -> Result<()> {
        todo!()
    }

    /// What would be decided, and why. Makes nothing happen.
    pub async fn check(
        &self,
        server: Option<&str>,
        tool: &str,
        arguments: Option<json::Value>,
        caller: CallerKind,
    ) -> Result<CheckView> {
        todo!()
    }

    pub async fn set_mode(&self, server: Option<&str>, mode: Option<&str>, by: &Caller) -> Result<()> {
        todo!()
    }

    /// `class`: `Some("read-only")`, `Some("costly")` or `None` for neither.
    pub async fn classify_tool(&self, server: &str, tool: &str, class: Option<&str>, by: &Caller) -> Result<()> {
        todo!()
    }

    pub async fn set_trust_annotations(&self, server: &str, trust: bool, by: &Caller) -> Result<()> {
        todo!()
    }

    /// Pauses every call that is not the person's own.
    pub fn set_paused(&self, paused: bool) {
        todo!()
    }

    pub fn waiting(&self) -> Vec<WaitingView> {
        todo!()
    }

    /// Brings a waiting question's dialog to the front, or forward in the queue.
    pub fn raise_waiting(&self, id: &str) -> Result<()> {
        todo!()
    }

    pub fn cancel_waiting(&self, id: &str) -> Result<()> {
        todo!()
    }

    pub async fn audit(&self, filter: AuditFilter) -> Result<AuditPage> {
        todo!()
    }

    /// Verifies one run, or all of them, or the one file at `path`; the report of audit.md.
    pub async fn verify_audit(&self, run: Option<&str>, path: Option<&std::path::Path>) -> Result<serde_json::Value> {
        todo!()
    }
}
