//! What an answer leaves behind, and what a call gives up when it is sent.

use super::{Approval, Inner, server::Server};
use crate::{
    approval::{
        Approved, ChoiceKind,
        gate::{Look, describe, subject},
        wording::Offers,
    },
    audit::{Event, PinChange, RuleChange, TokenChange},
    error::{Error, Result},
    model::{Caller, CallerKind, Operation, ServerId, ToolDefinition},
    policy::{
        condition::{Conditions, propose},
        decide::{MAX_ALWAYS_BYTES, RuleName},
        digest,
        rule::{Callers, Effect, MadeBy, Resources, Rule, RuleId, Scope, Target},
        token::{Binding, Moment},
    },
};

impl Inner {
    /// What is given up for the call that is about to be sent: its place under the rate limit, its token, its `once` rule.
    ///
    /// Returns the revision that the rules have if nothing but that happened to them since `revision`, and whether a token or a
    /// `once` rule was used up.
    pub(super) fn consume(
        &self,
        server: &Server,
        approved: &Approved,
        token: Option<&str>,
        mut revision: u64,
    ) -> Result<(u64, bool)> {
        let mut spent = false;
        let operation = approved.operation();
        let granted = approved.granted();
        let kind = granted.caller.kind();
        if let Operation::CallTool { tool, arguments, .. } = operation {
            if let Some(limit) = self.rulebook.policy()?.value.rate_limit(&server.id, &tool.name) {
                self.rulebook.memory().rates.take(kind, &server.id, &tool.name, limit, self.clock.monotonic())?;
            }
            if granted.rule == RuleName::Token.to_string() {
                let binding = Binding {
                    caller: granted.caller.clone(),
                    server: server.id.clone(),
                    tool: tool.name.clone(),
                    fingerprint: granted.fingerprint.clone(),
                    definition: tool.hash.clone(),
                    digest: digest::payload_digest(&tool.name, &arguments.value),
                };
                let consumed = self.rulebook.memory().tokens.consume(
                    token.unwrap_or_default(),
                    &binding,
                    Moment::of(&*self.clock),
                );
                consumed.map_err(|refusal| Error::ApprovalTokenInvalid {
                    server: Some(server.id.clone()),
                    why: refusal.as_str(),
                })?;
                spent = true;
                self.note(&Event::TokenUsed(TokenChange {
                    server: server.id.clone(),
                    tool_name: tool.name.clone(),
                    caller: kind,
                    call_id: None,
                    reason: None,
                }));
            }
        }
        if let Some(id) = granted.rule.strip_prefix("allow-rule:") {
            let id = RuleId::from_text(id);
            let policy = self.rulebook.policy()?.value;
            let rule = policy
                .rule(&id)
                .cloned()
                .or_else(|| self.rulebook.memory().rules.rules().iter().find(|rule| rule.id == id).cloned());
            if let Some(rule) = rule {
                if rule.scope == Scope::Once {
                    let Some(step) = self.rulebook.consume_once(&id)? else {
                        return Err(Error::PolicyDenied {
                            server: Some(server.id.clone()),
                            rule: granted.rule.clone(),
                            message: format!(
                                "{} was allowed once, and another call has used that up",
                                describe(operation)
                            ),
                            digest: None,
                        });
                    };
                    revision = revision.wrapping_add(step);
                    spent = true;
                    self.note(&Event::RuleConsumed(rule_change(&rule, kind)));
                } else {
                    self.rulebook.count_use(&id);
                }
            }
        }
        Ok((revision, spent))
    }

    /// A token for exactly what was approved.
    pub(super) fn issue_token(&self, approved: &Approved) -> Result<Approval> {
        let granted = approved.granted();
        let Operation::CallTool { server, tool, arguments } = approved.operation() else {
            return Err(Error::internal("only calls have tokens"));
        };
        let binding = Binding {
            caller: granted.caller.clone(),
            server: server.clone(),
            tool: tool.name.clone(),
            fingerprint: granted.fingerprint.clone(),
            definition: tool.hash.clone(),
            digest: digest::payload_digest(&tool.name, &arguments.value),
        };
        let (approval_token, expires_at) = self.rulebook.memory().tokens.issue(binding, Moment::of(&*self.clock))?;
        self.note(&Event::TokenIssued(TokenChange {
            server: server.clone(),
            tool_name: tool.name.clone(),
            caller: granted.caller.kind(),
            call_id: None,
            reason: None,
        }));
        Ok(Approval { approval_token, expires_at: expires_at.to_string() })
    }

    /// Makes an answer count.
    pub(super) fn settle(
        &self,
        server: &Server,
        operation: &Operation,
        caller: &Caller,
        look: &Look,
        choice: ChoiceKind,
    ) -> Result<()> {
        let kind = caller.kind();
        let now = self.clock.monotonic();
        if choice.allows() {
            self.rulebook.memory().fatigue.allowed(kind);
            // An allow to a dialog that showed this definition pins it.
            if let Operation::CallTool { tool, .. } = operation {
                self.pin(&server.id, &[tool], MadeBy::Dialog, kind)?;
            }
        }
        let offered = &look.offers;
        let rule = match choice {
            ChoiceKind::AllowOnce | ChoiceKind::Confirm => None,
            ChoiceKind::Deny => {
                self.rulebook.memory().fatigue.denied(kind, &server.id, &subject(operation), now);
                None
            }
            ChoiceKind::DenyPages => {
                self.rulebook.memory().fatigue.deny_everything(kind, now);
                None
            }
            ChoiceKind::Never => Some((Effect::Deny, target(operation), Scope::Always, None)),
            ChoiceKind::AllowSession if offered.session => {
                Some((Effect::Allow, target(operation), Scope::Session, None))
            }
            ChoiceKind::AlwaysTool if offered.tool => Some((Effect::Allow, target(operation), Scope::Always, None)),
            ChoiceKind::AlwaysExact if offered.exact => match operation {
                Operation::CallTool { arguments, .. } => Some((
                    Effect::Allow,
                    target(operation),
                    Scope::Always,
                    Some(Conditions::Exact((*arguments.value).clone())),
                )),
                Operation::ReadResource { uri, .. } | Operation::Subscribe { uri, .. } => {
                    Some((Effect::Allow, Target::Resources(Resources::Uri(uri.clone())), Scope::Always, None))
                }
                _ => return Err(not_offered(choice)),
            },
            ChoiceKind::AlwaysConditions => match operation {
                Operation::CallTool { arguments, .. } if offered.conditions.is_some() => {
                    let conditions = propose::propose(&arguments.value).ok_or_else(|| not_offered(choice))?;
                    Some((Effect::Allow, target(operation), Scope::Always, Some(conditions)))
                }
                _ => return Err(not_offered(choice)),
            },
            // A prompter that answers what was not offered is broken; it does not widen anything.
            ChoiceKind::AllowSession | ChoiceKind::AlwaysTool | ChoiceKind::AlwaysExact => {
                return Err(not_offered(choice));
            }
        };
        if let Some((effect, target, scope, conditions)) = rule {
            let mut rule = Rule::new(
                effect,
                Some(server.id.clone()),
                target,
                Callers::one(kind),
                MadeBy::Dialog,
                self.clock.now(),
            )?
            .lasting(scope, None);
            if effect == Effect::Allow {
                rule = rule.bound_to(look.basis.fingerprint.clone(), look.basis.definition_hash.clone());
            }
            if let Some(conditions) = conditions {
                rule = rule.with_conditions(conditions);
            }
            self.note(&Event::RuleAdded(rule_change(&rule, kind)));
            self.rulebook.add_rule(rule)?;
        }
        self.policy_has_changed();
        Ok(())
    }

    /// Pins definitions and writes that down.
    pub(super) fn pin(
        &self,
        server: &ServerId,
        tools: &[&ToolDefinition],
        made_by: MadeBy,
        by: CallerKind,
    ) -> Result<()> {
        let pins = self.rulebook.pins();
        let new: Vec<&ToolDefinition> = tools
            .iter()
            .copied()
            .filter(|tool| pins.get(server, &tool.name).is_none_or(|pin| pin.hash != tool.hash))
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        self.rulebook.pin(server, &new, made_by)?;
        for tool in new {
            let previous_hash = pins.get(server, &tool.name).map(|pin| pin.hash.clone());
            let change = PinChange {
                server: server.clone(),
                tool_name: tool.name.clone(),
                definition_hash: tool.hash.clone(),
                by,
                previous_hash: previous_hash.clone(),
            };
            self.note(&if previous_hash.is_some() { Event::PinChanged(change) } else { Event::PinAdded(change) });
        }
        Ok(())
    }
}

/// A rule for the log.
pub(super) fn rule_change(rule: &Rule, by: CallerKind) -> RuleChange {
    RuleChange {
        rule: rule.id.to_string(),
        effect: rule.effect.as_str().to_owned(),
        operation: rule.operation().to_owned(),
        server: rule.server.clone(),
        tool_name: rule.subject_name().map(str::to_owned),
        callers: rule.callers.kinds(),
        scope: rule.scope.as_str().to_owned(),
        conditions: rule.conditions.as_ref().map(Conditions::lines).unwrap_or_default(),
        by,
    }
}

/// What a person's "always" is about.
pub(super) fn target(operation: &Operation) -> Target {
    match operation {
        Operation::CallTool { tool, .. } => Target::Tool(tool.name.clone()),
        Operation::ReadResource { listed, uri, .. } | Operation::Subscribe { listed, uri, .. } => {
            Target::Resources(if *listed { Resources::Listed } else { Resources::Uri(uri.clone()) })
        }
        Operation::Complete { target: crate::model::CompletionTarget::ResourceTemplate { .. }, .. } => {
            Target::Resources(Resources::Listed)
        }
        Operation::GetPrompt { .. } | Operation::Complete { .. } => Target::Prompts(None),
        Operation::Connect { .. } => Target::All,
    }
}

pub(super) fn offers(operation: &Operation, rule: Option<&RuleName>) -> Offers {
    // What always asks, and what would not be asked about otherwise: a "yes" counts once.
    if matches!(rule, Some(RuleName::Costly | RuleName::TouchesMcpHost)) {
        return Offers::default();
    }
    match operation {
        Operation::CallTool { arguments, .. } => {
            if arguments.wire.len() > MAX_ALWAYS_BYTES {
                return Offers::default();
            }
            // A rule that asks beats an allow that is as broad, so only a narrower one is worth offering.
            let asked_by_rule = matches!(rule, Some(RuleName::AskRule(_)));
            Offers {
                session: !asked_by_rule,
                exact: true,
                conditions: propose::propose(&arguments.value).map(|conditions| conditions.lines()),
                tool: !asked_by_rule,
            }
        }
        Operation::ReadResource { listed, uri, .. } | Operation::Subscribe { listed, uri, .. } => {
            let exact = crate::policy::condition::uri::UriGlob::new(uri).is_ok_and(|glob| glob.permits(uri));
            Offers { session: *listed, exact: exact && !uri.contains('*'), conditions: None, tool: *listed }
        }
        Operation::GetPrompt { .. } | Operation::Complete { .. } => {
            Offers { session: true, exact: false, conditions: None, tool: true }
        }
        Operation::Connect { .. } => Offers::default(),
    }
}

fn not_offered(choice: ChoiceKind) -> Error {
    Error::internal(format!("the answer `{}` was not on offer", choice.as_str()))
}
