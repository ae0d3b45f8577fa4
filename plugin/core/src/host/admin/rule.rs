//! Rules as a person lists, makes and revokes them.

use std::collections::BTreeMap;

use super::{Admin, GrantTarget, NewRule, question_id};
use crate::{
    approval::{Language, Sheet, inert, wording},
    audit::Event,
    error::{Error, Result},
    host::{RequestOptions, connect::Want, settle::rule_change},
    model::{
        Arguments, Caller, CallerKind, Operation, ServerId,
        admin::{CheckView, RuleView},
        json,
    },
    policy::{
        class::Class,
        condition::{Conditions, Constraint},
        digest,
        rule::{Callers, Effect, MadeBy, Resources, Rule, RuleId, Scope, Target},
        state::{Classification, Edit},
    },
};

impl Admin {
    /// All rules, those of this process included.
    ///
    /// # Errors
    ///
    /// `config_invalid` for a store that does not verify.
    pub fn rules(&self) -> Result<Vec<RuleView>> {
        let inner = self.inner();
        let policy = inner.rulebook.policy()?.value;
        let session: Vec<Rule> = inner.rulebook.memory().rules.rules().to_vec();
        Ok(policy.rules().iter().chain(&session).map(|rule| self.rule_view(rule)).collect())
    }

    fn rule_view(&self, rule: &Rule) -> RuleView {
        let inner = self.inner();
        let server = rule.server.as_ref().and_then(|id| inner.servers().get(id).cloned());
        let fingerprint = server.as_ref().and_then(|server| inner.fingerprint(server.config().launch().ok()?).ok());
        let definition = match (&server, &rule.target) {
            (Some(server), Target::Tool(name)) => server.tool(name).map(|tool| tool.hash.clone()),
            _ => None,
        };
        let gone = rule.server.is_some() && server.is_none();
        let dormant = rule.dormant(inner.clock.now(), fingerprint.as_deref(), definition.as_deref());
        let uses = inner.rulebook.uses(&rule.id);
        RuleView {
            id: rule.id.to_string(),
            effect: rule.effect.as_str().to_owned(),
            operation: rule.operation().to_owned(),
            callers: rule.callers.kinds(),
            server: rule.server.as_ref().map(ServerId::to_string),
            tool: rule.subject_name().map(str::to_owned),
            scope: rule.scope.as_str().to_owned(),
            conditions: rule.conditions.as_ref().map(Conditions::lines).unwrap_or_default(),
            expires_at: rule.expires_at.map(|at| at.to_string()),
            created_at: rule.made_at.to_string(),
            made_by: rule.made_by.as_str().to_owned(),
            uses: uses.map_or(0, |uses| uses.count),
            last_used_at: uses.map(|uses| uses.last.to_string()),
            dormant: if gone {
                Some("the server is not configured any more".to_owned())
            } else {
                dormant.map(|why| why.as_str().to_owned())
            },
        }
    }

    /// Makes a rule; returns its id. An allow of a tool connects, shows (settings) and pins (`approval grant`).
    ///
    /// # Errors
    ///
    /// `invalid_input` naming the field; what connecting fails with; `approval_denied` and its like from the settings.
    pub async fn add_rule(&self, rule: NewRule, by: &Caller) -> Result<String> {
        self.acts(by)?;
        let inner = self.inner();
        let effect = effect(&rule.effect)?;
        let target = rule
            .target
            .as_ref()
            .ok_or_else(|| Error::invalid_input("/target", "say what the rule is about: `SERVER/TOOL`"))?;
        let (server_name, target) = target_of(target);
        let server = server_name.as_deref().map(|name| self.rule_server(name)).transpose()?;
        if server.is_none() && effect != Effect::Deny {
            return Err(Error::invalid_input(
                "/target",
                "without a server only `deny` is possible; write `SERVER/TOOL`",
            ));
        }
        let mut made = Rule::new(
            effect,
            server.clone(),
            target.clone(),
            callers(effect, &rule.callers),
            if *by == Caller::Cli { MadeBy::Cli } else { MadeBy::Settings },
            inner.clock.now(),
        )?
        .lasting(scope(&rule.scope)?, expiry(rule.expires_at.as_deref(), inner.clock.now())?);
        if let Some(conditions) = conditions(&rule)? {
            made = made.with_conditions(conditions);
        }
        if let (Effect::Allow, Some(id)) = (effect, &server) {
            made = self.bind(made, id, &target, by).await?;
        }
        made.check()?;
        let edit = Edit::PutRule(Box::new(made.clone()));
        if inner.rulebook.policy()?.value.widens(&edit) {
            self.widen(by, "rule", |language| rule_sheet(&made, language)).await?;
        }
        inner.note(&Event::RuleAdded(rule_change(&made, by.kind())));
        inner.rulebook.edit(edit)?;
        inner.policy_has_changed();
        Ok(made.id.to_string())
    }

    /// Revokes a rule at once; from the settings window, undoing a deny is asked about natively.
    ///
    /// # Errors
    ///
    /// `invalid_input` where there is no such rule.
    pub async fn revoke_rule(&self, id: &str, by: &Caller) -> Result<()> {
        self.acts(by)?;
        let inner = self.inner();
        let id = RuleId::from_text(id);
        if inner.rulebook.memory().rules.remove(&id) {
            inner.policy_has_changed();
            return Ok(());
        }
        let edit = Edit::RemoveRule(id.clone());
        let policy = inner.rulebook.policy()?.value;
        let old = policy.rule(&id).cloned();
        if let Some(old) = &old
            && policy.widens(&edit)
        {
            self.widen(by, "rule", |language| unrule_sheet(old, language)).await?;
        }
        inner.rulebook.edit(edit)?;
        if let Some(old) = old {
            inner.note(&Event::RuleRemoved(rule_change(&old, by.kind())));
        }
        inner.policy_has_changed();
        Ok(())
    }

    /// What would be decided, and why. Makes nothing happen, but for connecting a server to know the tool's definition.
    ///
    /// # Errors
    ///
    /// `invalid_input`, `server_not_found`, `tool_not_found`, and what connecting fails with.
    pub async fn check(
        &self,
        server: Option<&str>,
        tool: &str,
        arguments: Option<json::Value>,
        caller: CallerKind,
    ) -> Result<CheckView> {
        let inner = self.inner();
        let arguments: Arguments = digest::arguments(arguments)?;
        let name = server.unwrap_or(ServerId::LOCAL);
        let server = inner.server(name)?;
        let asking = a_caller(caller);
        // An unconfirmed or failing server has no definitions; what policy says of it is an answer all the same.
        let cancel = inner.closing.child_token();
        let view = |decision: crate::policy::decide::Decision| CheckView {
            decision: decision.as_str().to_owned(),
            rule: decision.rule_name(),
            order: decision.order.clone(),
        };
        if !inner.is_confirmed(&server.config()) {
            return Ok(CheckView {
                decision: "deny".to_owned(),
                rule: "unconfirmed-launch".to_owned(),
                order: vec!["1 launch not confirmed".to_owned()],
            });
        }
        inner.connect(&server, Want::Use(CallerKind::Cli), &cancel).await?;
        let list = inner.tools(&server, &Caller::Cli, &cancel).await?;
        let definition = list.items.iter().find(|one| one.name == tool).cloned();
        let definition = definition
            .ok_or_else(|| Error::ToolNotFound { server: server.id.clone(), tool: inert::line(tool, 256) })?;
        let operation = Operation::CallTool { server: server.id.clone(), tool: definition.into(), arguments };
        inner.check(&server, &operation, &asking).map(view)
    }

    /// `class`: `Some("read-only")`, `Some("other")`, `Some("costly")` or `None` for nothing of it.
    ///
    /// # Errors
    ///
    /// `invalid_input` for another class; `tool_not_found`; `approval_denied` and its like where it widens.
    pub async fn classify_tool(&self, server: &str, tool: &str, class: Option<&str>, by: &Caller) -> Result<()> {
        self.acts(by)?;
        let inner = self.inner();
        let server = inner.server(server)?;
        let definition = server
            .tool(tool)
            .ok_or_else(|| Error::ToolNotFound { server: server.id.clone(), tool: inert::line(tool, 256) })?;
        let of = |class| Classification { class, definition: definition.hash.clone() };
        let (class_edit, costly) = match class {
            Some("read-only") => (Some(of(Class::ReadOnly)), false),
            Some("other") => (Some(of(Class::Other)), false),
            Some("costly") => (None, true),
            None => (None, false),
            Some(other) => {
                return Err(Error::invalid_input(
                    "/class",
                    format!("`{}` is no class; use `read-only`, `other` or `costly`", inert::line(other, 40)),
                ));
            }
        };
        let (id, name) = (server.id.clone(), tool.to_owned());
        let edits = [
            Edit::Classify { server: id.clone(), tool: name.clone(), class: class_edit },
            Edit::SetCostly { server: id.clone(), tool: name.clone(), costly },
        ];
        let policy = inner.rulebook.policy()?.value;
        if edits.iter().any(|edit| policy.widens(edit)) {
            let label = class.unwrap_or("none").to_owned();
            self.widen(by, "class", |language| {
                wording::class_sheet(question_id(), id.as_str(), &name, &label, language)
            })
            .await?;
        }
        for edit in edits {
            inner.rulebook.edit(edit)?;
        }
        let class = class.unwrap_or("none").to_owned();
        inner.note(&Event::ToolClassified {
            server: server.id.clone(),
            tool_name: tool.to_owned(),
            class,
            by: by.kind(),
        });
        inner.policy_has_changed();
        Ok(())
    }

    /// Binds an allow to what the person sees: the server's launch and, for one tool, its definition, which is pinned.
    async fn bind(&self, rule: Rule, server: &ServerId, target: &Target, by: &Caller) -> Result<Rule> {
        let inner = self.inner();
        if server.as_str() == ServerId::LOCAL {
            return Ok(rule);
        }
        let server = inner.server(server.as_str())?;
        // On the command line the grant is the confirmation of the launch as well.
        if !inner.is_confirmed(&server.config()) {
            self.confirm_server(server.id.as_str(), None, by).await?;
        }
        let fingerprint = inner.fingerprint(server.config().launch()?)?;
        let Target::Tool(name) = target else { return Ok(rule.bound_to(fingerprint, None)) };
        let cancel = inner.closing.child_token();
        let options = RequestOptions::default();
        inner.limited(&options, "connecting", inner.connect(&server, Want::Connect(by.kind()), &cancel)).await?;
        let list = inner.tools(&server, by, &cancel).await?;
        let tool = list
            .items
            .iter()
            .find(|tool| tool.name == *name)
            .ok_or_else(|| Error::ToolNotFound { server: server.id.clone(), tool: inert::line(name, 256) })?;
        if *by == Caller::Settings {
            let difference = inner.difference(&server.id, tool);
            let sheet = wording::definition_sheet(
                question_id(),
                &server.config().display_name,
                &[tool],
                difference.as_deref(),
                inner.queue.language(),
            );
            inner.confirm(by, Some(&server.id), "definition", sheet).await?;
        }
        inner.pin(&server.id, &[tool], rule.made_by, by.kind())?;
        Ok(rule.bound_to(fingerprint, Some(tool.hash.clone())))
    }

    fn rule_server(&self, name: &str) -> Result<ServerId> {
        if name == ServerId::LOCAL {
            return ServerId::parse(name);
        }
        Ok(self.inner().server(name)?.id.clone())
    }
}

fn effect(text: &str) -> Result<Effect> {
    match text {
        "allow" => Ok(Effect::Allow),
        "ask" => Ok(Effect::Ask),
        "deny" => Ok(Effect::Deny),
        other => Err(Error::invalid_input(
            "/effect",
            format!("`{}` is no effect; use `allow`, `ask` or `deny`", inert::line(other, 40)),
        )),
    }
}

fn scope(text: &str) -> Result<Scope> {
    match text {
        "" | "always" => Ok(Scope::Always),
        "once" => Ok(Scope::Once),
        "session" => {
            Err(Error::invalid_input("/scope", "`session` has no meaning for another process; use `once` or `always`"))
        }
        other => Err(Error::invalid_input(
            "/scope",
            format!("`{}` is no scope; use `once` or `always`", inert::line(other, 40)),
        )),
    }
}

fn expiry(text: Option<&str>, now: jiff::Timestamp) -> Result<Option<jiff::Timestamp>> {
    let Some(text) = text else { return Ok(None) };
    let at: jiff::Timestamp = text.parse().map_err(|_| {
        Error::invalid_input(
            "/expiresAt",
            format!("`{}` is not a time; write it as `2027-01-31T12:00:00Z`", inert::line(text, 40)),
        )
    })?;
    if at <= now {
        return Err(Error::invalid_input("/expiresAt", format!("`{at}` is over already")));
    }
    Ok(Some(at))
}

/// Made without naming callers: everybody for deny and ask, the command line and MCP clients for allow.
fn callers(effect: Effect, named: &[CallerKind]) -> Callers {
    match (named, effect) {
        ([], Effect::Deny | Effect::Ask) => Callers::Every,
        ([], Effect::Allow) => Callers::Only([CallerKind::Cli, CallerKind::Serve].into()),
        (named, _) => Callers::Only(named.iter().copied().collect()),
    }
}

fn target_of(target: &GrantTarget) -> (Option<String>, Target) {
    match target {
        GrantTarget::Tool { server, tool } => (server.clone(), Target::Tool(tool.clone())),
        GrantTarget::Server(server) => (Some(server.clone()), Target::All),
        GrantTarget::Resources { server, uri: None } => (Some(server.clone()), Target::Resources(Resources::Listed)),
        GrantTarget::Resources { server, uri: Some(uri) } => {
            (Some(server.clone()), Target::Resources(Resources::Uri(uri.clone())))
        }
        GrantTarget::Prompts { server } => (Some(server.clone()), Target::Prompts(None)),
    }
}

fn conditions(rule: &NewRule) -> Result<Option<Conditions>> {
    if let Some(exact) = &rule.exact {
        if !(rule.equals.is_empty()
            && rule.path_globs.is_empty()
            && rule.word_prefixes.is_empty()
            && rule.any.is_empty())
        {
            return Err(Error::invalid_input(
                "/exact",
                "exact arguments leave no room for other conditions; give one or the other",
            ));
        }
        let arguments = digest::arguments(Some(exact.clone()))?;
        return Ok(Some(Conditions::Exact((*arguments.value).clone())));
    }
    let mut constraints = BTreeMap::new();
    let mut add = |pointer: &String, constraint| match constraints.insert(pointer.clone(), constraint) {
        None => Ok(()),
        Some(_) => {
            Err(Error::invalid_input("/conditions", format!("`{}` is constrained twice", inert::line(pointer, 80))))
        }
    };
    rule.equals.iter().try_for_each(|(pointer, value)| add(pointer, Constraint::Equals(value.clone())))?;
    rule.path_globs.iter().try_for_each(|(pointer, glob)| add(pointer, Constraint::PathGlob(glob.clone())))?;
    rule.word_prefixes.iter().try_for_each(|(pointer, words)| add(pointer, Constraint::WordPrefix(words.clone())))?;
    rule.any.iter().try_for_each(|pointer| add(pointer, Constraint::Any))?;
    if constraints.is_empty() { Ok(None) } else { Conditions::each(constraints).map(Some) }
}

/// Some caller of that kind, to ask what it would meet.
pub(in crate::host) fn a_caller(kind: CallerKind) -> Caller {
    match kind {
        CallerKind::Page => Caller::Page { window: String::new(), document: 0 },
        CallerKind::Agent => Caller::Agent { run_id: String::new() },
        CallerKind::Serve => Caller::Serve { session: String::new(), client: String::new(), process: None },
        CallerKind::Cli => Caller::Cli,
        CallerKind::Settings => Caller::Settings,
    }
}

fn rule_sheet(rule: &Rule, language: Language) -> Sheet {
    wording::rule_sheet(question_id(), &rule_words(rule), true, language)
}

fn unrule_sheet(rule: &Rule, language: Language) -> Sheet {
    wording::rule_sheet(question_id(), &rule_words(rule), false, language)
}

fn rule_words(rule: &Rule) -> wording::RuleWords {
    wording::RuleWords {
        effect: rule.effect.as_str().to_owned(),
        server: rule.server.as_ref().map(ServerId::to_string),
        subject: rule.subject_name().map(str::to_owned),
        operation: rule.operation().to_owned(),
        callers: rule.callers.kinds(),
        conditions: rule.conditions.as_ref().map(Conditions::lines).unwrap_or_default(),
        expires_at: rule.expires_at.map(|at| at.to_string()),
    }
}
