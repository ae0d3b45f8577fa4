//! Rules: what the person has said about calls to come.
//!
//! A rule that lets something happen is bound to what the person saw: the server's fingerprint, and for a single tool its
//! definition. A rule that stops something, or asks, is bound to neither: a changed server does not shake it off.

use std::{collections::BTreeSet, fmt};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    condition::{Conditions, uri::UriGlob},
    mode::Mode,
    subject::Subject,
};
use crate::{
    error::{Error, Result},
    model::{CallerKind, ServerId, hex},
};

/// A rule's id: 8 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RuleId(String);

impl RuleId {
    /// A new one. Fails only where the operating system gives no randomness.
    pub fn random() -> Result<Self> {
        let mut bytes = [0_u8; 4];
        getrandom::fill(&mut bytes).map_err(Error::internal)?;
        Ok(Self(hex(&bytes)))
    }

    /// The id as a person typed it.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "self-explanatory")]
pub enum Effect {
    Allow,
    Ask,
    Deny,
}

impl Effect {
    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Which resources of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Resources {
    /// Those that the server itself lists, and completion for its templates.
    Listed,
    /// Those whose URI matches; [`UriGlob`].
    Uri(String),
}

/// What of a server a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// `SERVER/*`: all tools for allow and ask, everything for deny.
    All,
    /// One tool, by its exact own name.
    Tool(String),
    /// Reading and subscribing.
    Resources(Resources),
    /// One prompt by its exact name, or all of them; completion of their arguments too.
    Prompts(Option<String>),
}

/// The kinds of caller that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Callers {
    /// Whoever asks.
    Every,
    /// These.
    Only(BTreeSet<CallerKind>),
}

impl Callers {
    /// One kind.
    pub fn one(kind: CallerKind) -> Self {
        Self::Only([kind].into())
    }

    /// Whether the rule is for that kind.
    pub fn contains(&self, kind: CallerKind) -> bool {
        match self {
            Self::Every => true,
            Self::Only(kinds) => kinds.contains(&kind),
        }
    }

    /// The kinds, for a list.
    pub fn kinds(&self) -> Vec<CallerKind> {
        CallerKind::ALL.into_iter().filter(|kind| self.contains(*kind)).collect()
    }
}

/// How long a rule counts, from the shortest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// For one call; removed before it is sent.
    Once,
    /// In the memory of the process that asked, at most eight hours.
    Session,
    /// Until it is revoked or expires.
    Always,
}

impl Scope {
    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
        }
    }
}

/// Whose act a rule was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MadeBy {
    /// An answer to a question.
    Dialog,
    /// A command.
    Cli,
    /// The settings window, natively confirmed where it widens.
    Settings,
}

impl MadeBy {
    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dialog => "dialog",
            Self::Cli => "cli",
            Self::Settings => "settings",
        }
    }
}

/// One rule. Its uses are counted elsewhere ([`Uses`](super::state::Uses)), so that being used does not change the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Its id.
    pub id: RuleId,
    /// What it does.
    pub effect: Effect,
    /// For whom.
    pub callers: Callers,
    /// On which server; absent = on every one (deny only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerId>,
    /// What of it.
    pub target: Target,
    /// How long.
    pub scope: Scope,
    /// It does not count from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// It counts only while this is the effective mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What the arguments must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// The server's confirmed fingerprint when the rule was made. An allow for another does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The hash of the tool's definition that the person saw. An allow for another does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Whose act it was.
    pub made_by: MadeBy,
    /// When.
    pub made_at: Timestamp,
}

/// How narrow a rule is: of several that match, the narrowest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Every tool of the server, its listed resources, its prompts.
    Server,
    /// One tool or prompt.
    Tool,
    /// Conditions on arguments, URIs.
    Conditions,
    /// These arguments.
    Exact,
}

/// Why a rule does not count now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dormant {
    /// Its time is over.
    Expired,
    /// The server was changed since.
    ServerChanged,
    /// The tool was changed since.
    DefinitionChanged,
}

impl Dormant {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "it expired",
            Self::ServerChanged => "the server was changed since",
            Self::DefinitionChanged => "the tool's definition was changed since",
        }
    }
}

/// The circumstances in which rules are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// Which server is asked.
    pub server: &'a ServerId,
    /// Its confirmed fingerprint.
    pub fingerprint: &'a str,
    /// Who asks.
    pub caller: CallerKind,
    /// The effective mode.
    pub mode: Mode,
    /// What time it is.
    pub now: Timestamp,
}

impl Rule {
    /// A rule that counts until it is revoked, for everybody named in `callers`, without conditions.
    pub fn new(
        effect: Effect,
        server: Option<ServerId>,
        target: Target,
        callers: Callers,
        made_by: MadeBy,
        made_at: Timestamp,
    ) -> Result<Self> {
        Ok(Self {
            id: RuleId::random()?,
            effect,
            callers,
            server,
            target,
            scope: Scope::Always,
            expires_at: None,
            mode: None,
            conditions: None,
            fingerprint: None,
            definition: None,
            made_by,
            made_at,
        })
    }

    /// Binds it to what the person saw.
    pub fn bound_to(mut self, fingerprint: impl Into<String>, definition: Option<String>) -> Self {
        self.fingerprint = Some(fingerprint.into());
        self.definition = definition;
        self
    }

    /// Narrows it.
    pub fn with_conditions(mut self, conditions: Conditions) -> Self {
        self.conditions = Some(conditions);
        self
    }

    /// Makes it count for so long.
    pub fn lasting(mut self, scope: Scope, expires_at: Option<Timestamp>) -> Self {
        self.scope = scope;
        self.expires_at = expires_at;
        self
    }

    /// Whether it can be meant.
    ///
    /// # Errors
    ///
    /// `invalid_input` naming the field.
    pub fn check(&self) -> Result<()> {
        let invalid = |path: &str, problem: &str| Err(Error::invalid_input(path, problem));
        let allows = self.effect == Effect::Allow;
        if self.server.is_none() && self.effect != Effect::Deny {
            return invalid("/server", "a rule for every server can only be a deny; name the server (`SERVER/TOOL`)");
        }
        if allows && self.fingerprint.is_none() && self.server.as_ref().is_none_or(|id| id.as_str() != ServerId::LOCAL)
        {
            return invalid("/fingerprint", "an allow must be bound to the server as it was confirmed");
        }
        if matches!(&self.callers, Callers::Only(kinds) if kinds.is_empty()) {
            return invalid("/callers", "a rule for no caller; name at least one kind");
        }
        if let Target::Resources(Resources::Uri(pattern)) = &self.target
            && let Err(problem) = UriGlob::new(pattern)
        {
            return invalid("/uri", &format!("`{pattern}` cannot be used as a URI glob: {problem}"));
        }
        if let Some(conditions) = &self.conditions {
            match self.target {
                Target::Tool(_) => {}
                Target::All if self.effect == Effect::Deny => {}
                // Else a broad rule would outrank what is said of one tool.
                _ => return invalid("/conditions", "conditions on arguments need one tool; name it (`SERVER/TOOL`)"),
            }
            conditions.check()?;
        }
        Ok(())
    }

    /// `call`, `read` or `prompt`.
    pub fn operation(&self) -> &'static str {
        match self.target {
            Target::All | Target::Tool(_) => "call",
            Target::Resources(_) => "read",
            Target::Prompts(_) => "prompt",
        }
    }

    /// The tool, prompt or URI glob that it names, if it names one.
    pub fn subject_name(&self) -> Option<&str> {
        match &self.target {
            Target::Tool(name) | Target::Prompts(Some(name)) | Target::Resources(Resources::Uri(name)) => Some(name),
            Target::All | Target::Resources(Resources::Listed) | Target::Prompts(None) => None,
        }
    }

    /// How narrow it is.
    pub fn rank(&self) -> Rank {
        match (&self.conditions, &self.target) {
            (Some(Conditions::Exact(_)), _) => Rank::Exact,
            (Some(Conditions::Each(_)), _) | (None, Target::Resources(Resources::Uri(_))) => Rank::Conditions,
            (None, Target::Tool(_) | Target::Prompts(Some(_))) => Rank::Tool,
            (None, Target::All | Target::Resources(Resources::Listed) | Target::Prompts(None)) => Rank::Server,
        }
    }

    /// Why it does not count now, if it does not. `fingerprint` is the server's, `definition` the tool's, where known.
    pub fn dormant(&self, now: Timestamp, fingerprint: Option<&str>, definition: Option<&str>) -> Option<Dormant> {
        let other = |bound: &Option<String>, is: Option<&str>| {
            bound.as_deref().is_some_and(|bound| is.is_some_and(|is| is != bound))
        };
        if self.expires_at.is_some_and(|expires_at| expires_at <= now) {
            Some(Dormant::Expired)
        } else if self.effect == Effect::Allow && other(&self.fingerprint, fingerprint) {
            Some(Dormant::ServerChanged)
        } else if self.effect == Effect::Allow && other(&self.definition, definition) {
            Some(Dormant::DefinitionChanged)
        } else {
            None
        }
    }

    /// Whether it is about what is asked, and counts.
    pub fn matches(&self, subject: &Subject<'_>, circumstances: &Circumstances<'_>) -> bool {
        let Circumstances { server, fingerprint, caller, mode, now } = *circumstances;
        self.callers.contains(caller)
            && self.server.as_ref().is_none_or(|one| one == server)
            && self.mode.is_none_or(|one| one == mode)
            && self.is_about(subject)
            && self.dormant(now, Some(fingerprint), subject.definition()).is_none()
            && (self.effect != Effect::Allow || self.check().is_ok())
            && self.arguments_match(subject)
    }

    fn is_about(&self, subject: &Subject<'_>) -> bool {
        match (&self.target, subject) {
            // With conditions it is about calls, since only those have arguments that conditions look at.
            (Target::All, Subject::Call { .. }) => true,
            (Target::All, _) => self.effect == Effect::Deny && self.conditions.is_none(),
            (Target::Tool(name), Subject::Call { tool, .. }) => name == tool,
            (Target::Resources(which), Subject::Resource { uri, listed, .. }) => match which {
                Resources::Listed => *listed,
                Resources::Uri(pattern) => self.uri_matches(pattern, uri),
            },
            (Target::Resources(which), Subject::TemplateCompletion { uri_template, .. }) => match which {
                // A template that is not listed cannot be asked about.
                Resources::Listed => true,
                Resources::Uri(pattern) => self.effect != Effect::Allow && may_overlap(pattern, uri_template),
            },
            (Target::Prompts(which), Subject::Prompt { name, .. } | Subject::PromptCompletion { name, .. }) => {
                which.as_deref().is_none_or(|one| one == *name)
            }
            _ => false,
        }
    }

    fn uri_matches(&self, pattern: &str, uri: &str) -> bool {
        match UriGlob::new(pattern) {
            Ok(glob) if self.effect == Effect::Allow => glob.permits(uri),
            Ok(glob) => glob.forbids(uri),
            Err(_) => self.effect != Effect::Allow,
        }
    }

    fn arguments_match(&self, subject: &Subject<'_>) -> bool {
        let Some(conditions) = &self.conditions else { return true };
        match (subject, self.effect) {
            (Subject::Call { arguments: Some(arguments), .. }, Effect::Allow) => conditions.permit(arguments),
            (Subject::Call { arguments: Some(arguments), .. }, Effect::Ask | Effect::Deny) => {
                conditions.forbid(arguments)
            }
            // Of arguments that are not known yet nothing is said.
            _ => false,
        }
    }
}

/// Whether a template can stand for a URI that the glob matches, judged by what both begin with.
fn may_overlap(glob: &str, template: &str) -> bool {
    let (glob, _) = glob.split_once('*').unwrap_or((glob, ""));
    let (template, _) = template.split_once('{').unwrap_or((template, ""));
    glob.starts_with(template) || template.starts_with(glob)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
