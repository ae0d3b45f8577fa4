//! What the person's decisions leave behind, and how it may be edited.
//!
//! [`PolicyState`] is one store, [`Pins`](super::pin::Pins) and [`Uses`] are two others: a store's revision is the
//! policy's, and neither a damaged pin nor the use of a rule may change the rules. [`SessionRules`] live in memory.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{
    class::Class,
    mode::Mode,
    rate::RateLimit,
    rule::{Callers, Effect, MadeBy, Rule, RuleId, Scope},
};
use crate::{
    config::Launch,
    error::{Error, Result},
    model::ServerId,
};

/// A rule of one session counts at most so long.
pub const SESSION: Duration = Duration::from_secs(8 * 60 * 60);

/// Rules, modes, classifications, trust and confirmations. Every change that is written is a new revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyState {
    #[serde(default, deserialize_with = "storable_rules")]
    rules: Vec<Rule>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "storable_mode")]
    mode: Option<Mode>,
    #[serde(default)]
    servers: BTreeMap<ServerId, ServerPolicy>,
}

/// What the person has set for one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerPolicy {
    /// Its own mode.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "storable_mode")]
    pub mode: Option<Mode>,
    /// Its annotations are believed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trust_annotations: bool,
    /// What was said about its launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchRecord>,
    /// For each of its tools that has no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// What the person has set for single tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolPolicy>,
}

/// What the person has set for one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolPolicy {
    /// What it was classed as, and which definition of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Classification>,
    /// It always asks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub costly: bool,
    /// Its own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
}

/// What the person classed a definition as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Classification {
    /// The class.
    pub class: Class,
    /// The hash of the definition: of another it says nothing.
    pub definition: String,
}

/// What the person said about a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LaunchRecord {
    /// The fingerprint of what was shown.
    pub fingerprint: String,
    /// Yes or no.
    pub confirmed: bool,
    /// What was shown: this is what is launched, whatever the file says later.
    pub launch: Launch,
    /// When.
    pub at: Timestamp,
    /// By what act.
    pub by: MadeBy,
    /// A yes does not count from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Where a launch stands against what the person confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaunchState {
    /// It may be started.
    Confirmed,
    /// Nobody has been asked.
    New,
    /// It is not what was confirmed.
    Changed,
    /// The confirmation was for a time.
    Expired,
    /// The person said no to it.
    Denied,
}

impl LaunchState {
    /// As `trust list` writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::New => "unconfirmed",
            Self::Changed => "changed",
            Self::Expired => "expired",
            Self::Denied => "denied",
        }
    }
}

/// One edit of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say which server, which tool, and the new value")]
pub enum Edit {
    /// A new rule, or another in place of the one with its id.
    PutRule(Box<Rule>),
    /// A rule is revoked.
    RemoveRule(RuleId),
    /// The host's mode; `None` = the default.
    SetMode(Option<Mode>),
    /// A server's own mode; `None` = the host's.
    SetServerMode(ServerId, Option<Mode>),
    /// A server's annotations are, or are not, believed.
    SetTrustAnnotations(ServerId, bool),
    /// A tool is classed; `None` = nothing is said of it.
    Classify { server: ServerId, tool: String, class: Option<Classification> },
    /// A tool is, or is not, marked as costly.
    SetCostly { server: ServerId, tool: String, costly: bool },
    /// How often a tool, or each tool of a server, may be called.
    SetRateLimit { server: ServerId, tool: Option<String>, limit: Option<RateLimit> },
    /// The person's word about a launch.
    RecordLaunch(ServerId, Box<LaunchRecord>),
    /// It is as if nobody had been asked about the launch.
    ForgetLaunch(ServerId),
}

impl PolicyState {
    /// The stored rules, in the order in which they were made.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule of that id.
    pub fn rule(&self, id: &RuleId) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == *id)
    }

    /// The host's mode, if the person has set one.
    pub fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// What the person has set for a server, if anything.
    pub fn server(&self, id: &ServerId) -> Option<&ServerPolicy> {
        self.servers.get(id)
    }

    /// The servers for which anything is set.
    pub fn servers(&self) -> impl Iterator<Item = (&ServerId, &ServerPolicy)> {
        self.servers.iter()
    }

    /// A server's own mode, if the person has set one.
    pub fn server_mode(&self, id: &ServerId) -> Option<Mode> {
        self.server(id)?.mode
    }

    /// Whether a server's annotations are believed.
    pub fn trusts_annotations(&self, id: &ServerId) -> bool {
        self.server(id).is_some_and(|server| server.trust_annotations)
    }

    /// What the person classed this definition of a tool as.
    pub fn class(&self, server: &ServerId, tool: &str, definition: &str) -> Option<Class> {
        let class = self.tool(server, tool)?.class.as_ref()?;
        (class.definition == definition).then_some(class.class)
    }

    /// Whether the person marked the tool as costly.
    pub fn is_costly(&self, server: &ServerId, tool: &str) -> bool {
        self.tool(server, tool).is_some_and(|tool| tool.costly)
    }

    /// How often the tool may be called.
    pub fn rate_limit(&self, server: &ServerId, tool: &str) -> Option<RateLimit> {
        let own = self.tool(server, tool).and_then(|tool| tool.rate_limit);
        own.or_else(|| self.server(server)?.rate_limit)
    }

    fn tool(&self, server: &ServerId, tool: &str) -> Option<&ToolPolicy> {
        self.server(server)?.tools.get(tool)
    }

    /// What was said about a server's launch.
    pub fn launch(&self, server: &ServerId) -> Option<&LaunchRecord> {
        self.server(server)?.launch.as_ref()
    }

    /// Where a launch with that fingerprint stands.
    pub fn launch_state(&self, server: &ServerId, fingerprint: &str, now: Timestamp) -> LaunchState {
        match self.launch(server) {
            None => LaunchState::New,
            Some(record) if record.fingerprint != fingerprint => LaunchState::Changed,
            Some(record) if !record.confirmed => LaunchState::Denied,
            Some(record) if record.expires_at.is_some_and(|expires_at| expires_at <= now) => LaunchState::Expired,
            Some(_) => LaunchState::Confirmed,
        }
    }

    /// Makes an edit. The caller has seen to it that one that [widens](Self::widens) was confirmed.
    ///
    /// # Errors
    ///
    /// `invalid_input` for what cannot be meant; the state is then as it was.
    pub fn apply(&mut self, edit: Edit) -> Result<()> {
        match edit {
            Edit::PutRule(rule) => {
                storable(&rule)?;
                match self.rules.iter_mut().find(|old| old.id == rule.id) {
                    Some(old) => *old = *rule,
                    None => self.rules.push(*rule),
                }
            }
            Edit::RemoveRule(id) => {
                let before = self.rules.len();
                self.rules.retain(|rule| rule.id != id);
                if self.rules.len() == before {
                    return Err(Error::invalid_input(
                        "/id",
                        format!("there is no rule `{id}`; see the list of rules for those there are"),
                    ));
                }
            }
            Edit::SetMode(mode) => self.mode = keepable(mode)?,
            Edit::SetServerMode(server, mode) => {
                let mode = keepable(mode)?;
                self.edit_server(&server, |server| server.mode = mode);
            }
            Edit::SetTrustAnnotations(server, trust) => {
                self.edit_server(&server, |server| server.trust_annotations = trust);
            }
            Edit::Classify { server, tool, class } => self.edit_tool(&server, &tool, |tool| tool.class = class),
            Edit::SetCostly { server, tool, costly } => self.edit_tool(&server, &tool, |tool| tool.costly = costly),
            Edit::SetRateLimit { server, tool, limit } => {
                limit.as_ref().map_or(Ok(()), RateLimit::check)?;
                match tool {
                    Some(tool) => self.edit_tool(&server, &tool, |tool| tool.rate_limit = limit),
                    None => self.edit_server(&server, |server| server.rate_limit = limit),
                }
            }
            Edit::RecordLaunch(server, record) => self.edit_server(&server, |server| server.launch = Some(*record)),
            Edit::ForgetLaunch(server) => self.edit_server(&server, |server| server.launch = None),
        }
        Ok(())
    }

    /// Uses up a rule for one call, under the store's lock and before the call is sent. `false` if it is not there (any
    /// more): another call had it.
    pub fn consume_once(&mut self, id: &RuleId) -> bool {
        let before = self.rules.len();
        self.rules.retain(|rule| rule.id != *id || rule.scope != Scope::Once);
        self.rules.len() < before
    }

    /// Whether an edit lets more happen than before, unasked. Then it ends in a native dialog; else it does not.
    pub fn widens(&self, edit: &Edit) -> bool {
        match edit {
            Edit::PutRule(rule) => match self.rule(&rule.id) {
                Some(old) => !is_narrower(old, rule),
                None => rule.effect == Effect::Allow,
            },
            Edit::RemoveRule(id) => self.rule(id).is_some_and(|rule| rule.effect != Effect::Allow),
            Edit::SetMode(mode) => {
                // Of the servers without a mode of their own; and over a host that reads only, flags are held back too.
                let was = self.mode.unwrap_or_default();
                mode.unwrap_or_default() > was
            }
            Edit::SetServerMode(server, mode) => {
                let host = self.mode.unwrap_or_default();
                mode.unwrap_or(host) > self.server_mode(server).unwrap_or(host)
            }
            Edit::SetTrustAnnotations(server, trust) => *trust && !self.trusts_annotations(server),
            Edit::Classify { server, tool, class } => {
                let was = self.tool(server, tool).and_then(|tool| tool.class.as_ref());
                match class {
                    Some(class) => class.class == Class::ReadOnly && was != Some(class),
                    // Nothing is said any more against a server whose annotations are believed.
                    None => was.is_some_and(|was| was.class == Class::Other),
                }
            }
            Edit::SetCostly { server, tool, costly } => !costly && self.is_costly(server, tool),
            Edit::SetRateLimit { server, tool, limit } => {
                let was = match tool {
                    Some(tool) => self.rate_limit(server, tool),
                    None => self.server(server).and_then(|server| server.rate_limit),
                };
                match (was, limit) {
                    (None, _) => false,
                    (Some(_), None) => true,
                    (Some(was), Some(limit)) => {
                        limit.max_calls > was.max_calls || limit.window_seconds < was.window_seconds
                    }
                }
            }
            Edit::RecordLaunch(_, record) => record.confirmed,
            Edit::ForgetLaunch(_) => false,
        }
    }

    fn edit_server(&mut self, id: &ServerId, edit: impl FnOnce(&mut ServerPolicy)) {
        let server = self.servers.entry(id.clone()).or_default();
        edit(server);
        if *server == ServerPolicy::default() {
            self.servers.remove(id);
        }
    }

    fn edit_tool(&mut self, id: &ServerId, name: &str, edit: impl FnOnce(&mut ToolPolicy)) {
        self.edit_server(id, |server| {
            let tool = server.tools.entry(name.to_owned()).or_default();
            edit(tool);
            if *tool == ToolPolicy::default() {
                server.tools.remove(name);
            }
        });
    }
}

/// Whether a rule lets nothing happen that the one before it would not have let happen.
fn is_narrower(old: &Rule, new: &Rule) -> bool {
    let same_target = old.server == new.server && old.target == new.target && old.mode == new.mode;
    let fewer = |few: &Callers, many: &Callers| few.kinds().iter().all(|kind| many.contains(*kind));
    let sooner = |soon: Option<Timestamp>, late: Option<Timestamp>| match (soon, late) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(soon), Some(late)) => soon <= late,
    };
    match (old.effect, new.effect) {
        (Effect::Allow, Effect::Ask | Effect::Deny) => true,
        (Effect::Allow, Effect::Allow) => {
            same_target
                && old.fingerprint == new.fingerprint
                && old.definition == new.definition
                && (old.conditions == new.conditions || old.conditions.is_none())
                && fewer(&new.callers, &old.callers)
                && sooner(new.expires_at, old.expires_at)
                && new.scope <= old.scope
        }
        (Effect::Ask, Effect::Ask | Effect::Deny) | (Effect::Deny, Effect::Deny) => {
            same_target
                && (old.conditions == new.conditions || new.conditions.is_none())
                && fewer(&old.callers, &new.callers)
                && sooner(old.expires_at, new.expires_at)
                && old.scope <= new.scope
        }
        (Effect::Ask | Effect::Deny, _) => false,
    }
}

/// Whether a rule can be kept in the store.
fn storable(rule: &Rule) -> Result<()> {
    rule.check()?;
    if rule.scope == Scope::Session {
        let problem = "a rule for a session lives in the process that asked and is not stored; use `once` or `always`";
        return Err(Error::invalid_input("/scope", problem));
    }
    Ok(())
}

/// Whether a mode can be kept in the store.
fn keepable(mode: Option<Mode>) -> Result<Option<Mode>> {
    if mode == Some(Mode::DangerFullAccess) {
        let problem = "`danger-full-access` is never stored; it can be chosen for one run";
        return Err(Error::invalid_input("/mode", problem));
    }
    Ok(mode)
}

fn storable_rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    let rules = Vec::<Rule>::deserialize(deserializer)?;
    for (index, rule) in rules.iter().enumerate() {
        storable(rule).map_err(|error| D::Error::custom(format!("rule `{}`: {error}", rule.id)))?;
        if rules.iter().take(index).any(|other| other.id == rule.id) {
            return Err(D::Error::custom(format!("rule `{}` is there twice", rule.id)));
        }
    }
    Ok(rules)
}

fn storable_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Mode>, D::Error> {
    keepable(Option::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Rules for this process: those of a session, and grants for one call. A new revision with every change.
#[derive(Debug, Default)]
pub struct SessionRules {
    rules: Vec<Rule>,
    revision: u64,
}

impl SessionRules {
    /// The rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Counts the changes.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Adds a rule; a session's ends after [`SESSION`] at the latest.
    pub fn add(&mut self, mut rule: Rule, now: Timestamp) -> Result<()> {
        rule.check()?;
        if rule.scope == Scope::Always {
            return Err(Error::internal("a rule that always counts belongs into the store"));
        }
        let end =
            now.checked_add(SignedDuration::try_from(SESSION).map_err(Error::internal)?).map_err(Error::internal)?;
        rule.expires_at = Some(rule.expires_at.map_or(end, |expires_at| expires_at.min(end)));
        self.rules.retain(|rule| rule.expires_at.is_none_or(|expires_at| expires_at > now));
        self.rules.push(rule);
        self.revision += 1;
        Ok(())
    }

    /// Revokes a rule; `false` if it is not there.
    pub fn remove(&mut self, id: &RuleId) -> bool {
        self.retain(|rule| rule.id != *id)
    }

    /// See [`PolicyState::consume_once`].
    pub fn consume_once(&mut self, id: &RuleId) -> bool {
        self.retain(|rule| rule.id != *id || rule.scope != Scope::Once)
    }

    fn retain(&mut self, keep: impl Fn(&Rule) -> bool) -> bool {
        let before = self.rules.len();
        self.rules.retain(keep);
        let changed = self.rules.len() < before;
        self.revision += u64::from(changed);
        changed
    }
}

/// How often rules were used, and when last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Uses {
    #[serde(default)]
    rules: BTreeMap<RuleId, Use>,
}

/// The uses of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Use {
    /// How many.
    pub count: u32,
    /// The last one.
    pub last: Timestamp,
}

impl Uses {
    /// Counts a use.
    pub fn count(&mut self, rule: &RuleId, now: Timestamp) {
        let used = self.rules.entry(rule.clone()).or_insert(Use { count: 0, last: now });
        *used = Use { count: used.count.saturating_add(1), last: used.last.max(now) };
    }

    /// The uses of a rule.
    pub fn of(&self, rule: &RuleId) -> Option<Use> {
        self.rules.get(rule).copied()
    }

    /// Forgets rules that are no longer there.
    pub fn keep_only<'a>(&mut self, rules: impl IntoIterator<Item = &'a Rule>) {
        let there: std::collections::HashSet<_> = rules.into_iter().map(|rule| &rule.id).collect();
        self.rules.retain(|id, _| there.contains(id));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
