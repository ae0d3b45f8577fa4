//! The one decision. Pure: everything it looks at is in [`Facts`], everything it says in [`Decision`].

mod name;

use jiff::Timestamp;
use shell_words::quote;

pub use name::RuleName;

use super::{
    class::Class,
    fatigue::Silence,
    mode::{EffectiveMode, Mode, ModeSource},
    own_folder::OwnFolders,
    rule::{Circumstances, Effect, Rule, RuleId, Scope},
    state::LaunchState,
    subject::Subject,
    token::TokenState,
};
use crate::{
    error::Error,
    model::{CallerKind, Permission, ServerId, admin::PinState},
};

/// Arguments larger than this are not approvable in a dialog, in bytes.
pub const MAX_SHOWN_BYTES: usize = 256 * 1024;

/// Arguments larger than this are approvable once, never "always", in bytes.
pub const MAX_ALWAYS_BYTES: usize = 64 * 1024;

/// Everything that a decision depends on. Plain data; the host fills it in anew for every decision.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Which server is asked.
    pub server: &'a ServerId,
    /// For what.
    pub subject: Subject<'a>,
    /// By whom.
    pub caller: CallerKind,
    /// Why it cannot be asked at all: server unknown or disabled, capability or tool disabled, name quarantined.
    pub obstacle: Option<Error>,
    /// Where its launch stands against what the person confirmed; confirmed for local tools.
    pub launch: LaunchState,
    /// The fingerprint of the launch.
    pub fingerprint: &'a str,
    /// The mode that counts for this server.
    pub mode: EffectiveMode,
    /// The tool's class; whatever it is where no tool is called.
    pub class: Class,
    /// The person marked the tool as costly.
    pub costly: bool,
    /// Where the tool's definition stands against what the person approved.
    pub pin: PinState,
    /// All rules there are, stored and of this process.
    pub rules: &'a [&'a Rule],
    /// What the token that came with the request is worth for exactly this call.
    pub token: TokenState,
    /// A digest given at start approves exactly this call.
    pub scoped_digest: bool,
    /// Our own folders.
    pub own_folders: &'a OwnFolders,
    /// The host looked at the disk, and a path in the arguments leads into our own folders by a link.
    pub linked_to_own_folders: bool,
    /// What the person does not want to be asked now.
    pub silence: Option<Silence>,
    /// There is somebody to ask.
    pub prompter: bool,
    /// What time it is.
    pub now: Timestamp,
}

/// What is decided.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Yes, no, or a question.
    pub verdict: Verdict,
    /// What decided; what sent it to the person, where the verdict is a question or there is nobody to ask. `None` where
    /// an obstacle is not a matter of policy.
    pub rule: Option<RuleName>,
    /// The stored rule that decided: its use is to be counted, and one for a single call consumed before it is sent.
    pub used: Option<(RuleId, Scope)>,
    /// The steps of policy.md §3 that were looked at, in order, in words.
    pub order: Vec<String>,
}

/// Yes, no, or a question.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It may be done.
    Allow,
    /// The person is to be asked.
    Ask,
    /// It may not.
    Deny(Denial),
    /// It cannot.
    Fail(Error),
}

/// Why something may not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// A rule, a mode or a silence that the person wanted says no.
    Policy,
    /// A person would have to look at more than can be shown.
    TooLarge,
    /// A person would have to say yes, and there is none.
    NobodyToAsk,
}

impl Facts<'_> {
    fn is_local(&self) -> bool {
        self.server.as_str() == ServerId::LOCAL
    }

    fn is_call(&self) -> bool {
        matches!(self.subject, Subject::Call { .. })
    }

    /// Everything but a tool is of read-only class.
    fn reads_only(&self) -> bool {
        !self.is_call() || self.class == Class::ReadOnly
    }

    /// Whether the launch is confirmed, or waived: by a flag for this run of a process that cannot ask.
    fn may_launch(&self) -> bool {
        let waived = self.mode == EffectiveMode { mode: Mode::DangerFullAccess, source: ModeSource::Run };
        self.launch == LaunchState::Confirmed || self.is_local() || (waived && !self.prompter)
    }

    fn circumstances(&self) -> Circumstances<'_> {
        Circumstances {
            server: self.server,
            fingerprint: self.fingerprint,
            caller: self.caller,
            mode: self.mode.mode,
            now: self.now,
        }
    }

    /// The rules with that effect that match, in their order.
    fn matching(&self, effect: Effect) -> impl Iterator<Item = &Rule> {
        let circumstances = self.circumstances();
        let matching = move |rule: &&Rule| rule.effect == effect && rule.matches(&self.subject, &circumstances);
        self.rules.iter().copied().filter(matching)
    }

    /// Step 7: the narrowest allow or ask that matches; of two as narrow, the one that asks, then the longest-lived.
    fn narrowest(&self) -> Option<&Rule> {
        self.matching(Effect::Allow)
            .chain(self.matching(Effect::Ask))
            .max_by_key(|rule| (rule.rank(), rule.effect == Effect::Ask, rule.scope))
    }
}

/// Decides, by the first step of policy.md §3 (and §7) that applies.
pub fn decide(facts: &Facts<'_>) -> Decision {
    let mut walk = Walk { facts, order: Vec::with_capacity(10) };

    if let Some(error) = &facts.obstacle {
        return walk.end("1 cannot be asked for", Verdict::Fail(error.clone()), None);
    }
    if !facts.may_launch() {
        let error = Error::ServerUnapproved { server: facts.server.clone() };
        return walk.end("1 launch not confirmed", Verdict::Fail(error), Some(RuleName::UnconfirmedLaunch));
    }
    walk.passed("1 server, capability and tool are ready");

    if facts.silence == Some(Silence::Everything) {
        return walk.end(
            "2 everything from this caller is denied",
            Verdict::Deny(Denial::Policy),
            Some(RuleName::Silenced),
        );
    }
    if let Some(rule) = facts.matching(Effect::Deny).next() {
        return walk.by_rule("2 a deny rule matches", Verdict::Deny(Denial::Policy), rule);
    }
    walk.passed("2 no deny rule matches");

    let mode = facts.mode.mode;
    if mode == Mode::ReadOnly && !facts.reads_only() {
        return walk.end("3 mode read-only", Verdict::Deny(Denial::Policy), Some(RuleName::ModeReadOnly));
    }
    walk.passed("3 the mode does not rule it out");

    if facts.linked_to_own_folders || facts.own_folders.are_touched_by(&facts.subject) {
        return walk.ask("4 leads into the host's own folders", RuleName::TouchesMcpHost, None);
    }
    if facts.is_call() && !facts.is_local() && mode != Mode::DangerFullAccess && !facts.scoped_digest {
        match facts.pin {
            PinState::Pinned => {}
            PinState::Changed => return walk.ask("4 changed definition", RuleName::ChangedDefinition, None),
            PinState::Unseen | PinState::Gone => {
                return walk.ask("4 unseen definition", RuleName::UnseenDefinition, None);
            }
        }
    }
    walk.passed("4 nothing calls for a second look");

    if facts.is_call() {
        match facts.token {
            TokenState::Valid => return walk.end("5 token", Verdict::Allow, Some(RuleName::Token)),
            TokenState::Refused(refusal) => {
                let error = Error::ApprovalTokenInvalid { server: Some(facts.server.clone()), why: refusal.as_str() };
                return walk.end("5 the token does not fit", Verdict::Fail(error), Some(RuleName::Token));
            }
            TokenState::Absent => walk.passed("5 no token"),
        }
        if facts.scoped_digest {
            return walk.end("6 digest given at start", Verdict::Allow, Some(RuleName::ScopedDigest));
        }
        if facts.costly {
            return walk.ask("6 costly", RuleName::Costly, None);
        }
        walk.passed("6 no digest was given at start");
    }

    match facts.narrowest() {
        Some(rule) if rule.effect == Effect::Ask => {
            return walk.ask("7 an ask rule matches", RuleName::AskRule(rule.id.clone()), Some(rule));
        }
        Some(rule) => return walk.by_rule("7 an allow rule matches", Verdict::Allow, rule),
        None => walk.passed("7 no allow or ask rule matches"),
    }

    match mode {
        Mode::DangerFullAccess => {
            return walk.end("8 mode danger-full-access", Verdict::Allow, Some(RuleName::ModeFullAccess));
        }
        Mode::Allow if !matches!(facts.subject, Subject::Resource { listed: false, .. }) => {
            return walk.end("8 mode allow", Verdict::Allow, Some(RuleName::ModeAllow));
        }
        Mode::ReadOnly | Mode::Prompt | Mode::Allow => walk.passed("8 the mode alone does not allow it"),
    }

    // Resources, prompts and completion need a rule or a dialog; a confirmed server may be connected.
    let by_class = match facts.subject {
        Subject::Call { .. } => facts.class == Class::ReadOnly,
        Subject::Connect => true,
        _ => false,
    };
    if by_class && mode != Mode::Allow {
        return walk.end("9 read-only class", Verdict::Allow, Some(RuleName::ReadOnlyClass));
    }
    walk.passed("9 its class alone does not allow it");
    walk.ask("10 nothing allows it", RuleName::NeedsApproval, None)
}

/// The way through the steps.
struct Walk<'a> {
    facts: &'a Facts<'a>,
    order: Vec<String>,
}

impl Walk<'_> {
    fn passed(&mut self, step: &str) {
        self.order.push(step.to_owned());
    }

    fn end(mut self, step: &str, verdict: Verdict, rule: Option<RuleName>) -> Decision {
        self.passed(step);
        Decision { verdict, rule, used: None, order: self.order }
    }

    fn by_rule(self, step: &str, verdict: Verdict, rule: &Rule) -> Decision {
        let name = match rule.effect {
            Effect::Allow => RuleName::AllowRule(rule.id.clone()),
            Effect::Ask => RuleName::AskRule(rule.id.clone()),
            Effect::Deny => RuleName::DenyRule(rule.id.clone()),
        };
        Decision { used: Some((rule.id.clone(), rule.scope)), ..self.end(step, verdict, Some(name)) }
    }

    /// Step 10, to which `why` has led.
    fn ask(mut self, step: &str, why: RuleName, by: Option<&Rule>) -> Decision {
        self.passed(step);
        let facts = self.facts;
        let decision = if !facts.prompter {
            self.end("10 nobody to ask", Verdict::Deny(Denial::NobodyToAsk), Some(why))
        } else if facts.subject.bytes() > MAX_SHOWN_BYTES {
            self.end("10 too large to show", Verdict::Deny(Denial::TooLarge), Some(RuleName::TooLargeToShow))
        } else if facts.silence.is_some() {
            self.end("10 silenced", Verdict::Deny(Denial::Policy), Some(RuleName::Silenced))
        } else {
            self.end("10 ask", Verdict::Ask, Some(why))
        };
        Decision { used: by.map(|rule| (rule.id.clone(), rule.scope)), ..decision }
    }
}

impl Decision {
    /// What a caller would meet.
    pub fn permission(&self) -> Permission {
        match self.verdict {
            Verdict::Allow => Permission::Allow,
            Verdict::Ask | Verdict::Deny(Denial::NobodyToAsk) => Permission::Ask,
            Verdict::Deny(Denial::Policy | Denial::TooLarge) => Permission::Deny,
            Verdict::Fail(_) => Permission::Disabled,
        }
    }

    /// `allow`, `ask` or `deny`.
    pub fn as_str(&self) -> &'static str {
        match self.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny(_) | Verdict::Fail(_) => "deny",
        }
    }

    /// The rule's name; empty where an obstacle is not a matter of policy.
    pub fn rule_name(&self) -> String {
        self.rule.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// The error to give the caller, if it is not allowed and not to be asked. `what` names what was asked for, and of
    /// which server (``calling `read` of `files` ``); `digest` is the payload digest of a call: whoever is refused may
    /// have exactly that call approved.
    pub fn refusal(&self, facts: &Facts<'_>, what: &str, digest: Option<&str>) -> Option<Error> {
        let server = Some(facts.server.clone());
        let rule = self.rule_name();
        let digest = digest.map(str::to_owned);
        let reason = self.rule.as_ref().map_or("it cannot be asked for", RuleName::reason);
        match &self.verdict {
            Verdict::Allow | Verdict::Ask => None,
            Verdict::Fail(error) => Some(error.clone()),
            Verdict::Deny(Denial::NobodyToAsk) => {
                let advice = advice(facts, self.rule.as_ref(), digest.as_deref());
                Some(Error::ApprovalUnavailable { server, what: what.to_owned(), rule, advice, digest })
            }
            Verdict::Deny(Denial::Policy | Denial::TooLarge) => {
                Some(Error::PolicyDenied { server, rule, message: format!("{what} is denied: {reason}"), digest })
            }
        }
    }
}

/// What a person can do about a refusal for want of somebody to ask. Names are a server's: in a command that is there to
/// be copied they are quoted for the shell.
fn advice(facts: &Facts<'_>, rule: Option<&RuleName>, digest: Option<&str>) -> String {
    let server = facts.server;
    match (facts.subject, rule) {
        (_, Some(RuleName::TouchesMcpHost)) => "run it where the host can ask you".to_owned(),
        (Subject::Call { tool, .. }, Some(RuleName::UnseenDefinition | RuleName::ChangedDefinition)) => {
            // Seen is enough where the mode or the class lets it run; else it takes a grant, which shows it too.
            if facts.mode.mode == Mode::Allow || facts.class == Class::ReadOnly {
                format!(
                    "look at it and approve it with `mcp-host trust allow --server {server} --tool {}`",
                    quote(tool)
                )
            } else {
                let target = format!("{server}/{tool}");
                format!("look at it and allow it with `mcp-host approval grant {}`", quote(&target))
            }
        }
        (Subject::Call { tool, .. }, rule) => {
            let target = format!("{server}/{tool}");
            let grant = format!("allow it with `mcp-host approval grant {}`", quote(&target));
            let exact =
                digest.map(|digest| format!("start with `--approve-scoped {}`", quote(&format!("{target}:{digest}"))));
            match (exact, rule) {
                (Some(exact), Some(RuleName::Costly | RuleName::AskRule(_))) => exact,
                (Some(exact), _) => format!("{grant}, or {exact}"),
                (None, _) => grant,
            }
        }
        (Subject::Resource { uri, listed: false }, _) => {
            let uri = format!("--resources={uri}");
            format!("allow it with `mcp-host approval grant {server} {}`", quote(&uri))
        }
        (Subject::Resource { .. } | Subject::TemplateCompletion { .. }, _) => {
            format!("allow it with `mcp-host approval grant {server} --resources`")
        }
        (Subject::Prompt { .. } | Subject::PromptCompletion { .. }, _) => {
            format!("allow it with `mcp-host approval grant {server} --prompts`")
        }
        (Subject::Connect, _) => "run it where the host can ask you".to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
