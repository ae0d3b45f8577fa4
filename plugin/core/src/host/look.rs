//! From an operation to the facts about it, from the facts to a ruling, and from an answer to what it leaves behind.

use std::{sync::Arc, time::Duration};

use super::{Inner, Origin, server::Server, settle::offers};
use crate::{
    approval::{
        Approved,
        gate::{Basis, Look, Ruling, describe},
        inert,
        wording::{Offers, Reason},
    },
    clock::BoxFuture,
    config::{self, Launch, ServerConfig},
    error::{Error, Result},
    model::{Caller, CallerKind, Operation, ServerId, ToolDefinition, ToolSummary},
    policy::{
        class::{Authority, classify},
        decide::{Decision, Facts, RuleName, Verdict, decide},
        digest,
        fatigue::Silence,
        mode::{Mode, ModeSource},
        rule::Rule,
        state::{LaunchState, PolicyState},
        subject::Subject,
        token::{Binding, Moment, TokenState},
    },
};

/// Between two looks at what other processes have written, while a question is open.
const STORE_LOOK: Duration = Duration::from_millis(500);

/// What a decision is looked at for, besides the server.
struct Case<'a> {
    subject: Subject<'a>,
    /// The tool as the server defines it now; calls only.
    tool: Option<&'a ToolDefinition>,
    caller: &'a Caller,
    token: TokenState,
    scoped_digest: bool,
    prompter: bool,
}

/// Whether what an approval uses up is used up already.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spent<'a> {
    /// Not yet; the token, if the caller gave one.
    No(Option<&'a str>),
    /// By the call it was granted to. `true`: a token or a `once` rule, which would not be found again.
    Yes(bool),
}

impl Inner {
    /// The fingerprint of an entry's launch.
    pub(super) fn fingerprint(&self, launch: &Launch) -> Result<String> {
        config::fingerprint(launch, &*self.fingerprint_key)
    }

    pub(super) fn launch_state(&self, policy: &PolicyState, config: &ServerConfig) -> Result<(LaunchState, String)> {
        let fingerprint = self.fingerprint(config.launch()?)?;
        Ok((policy.launch_state(&config.id, &fingerprint, self.clock.now()), fingerprint))
    }

    /// Whether an entry may be started as it stands.
    pub(super) fn is_confirmed(&self, config: &ServerConfig) -> bool {
        self.confirmed_launch(config).is_ok()
    }

    /// What is started for an entry: the confirmed snapshot.
    ///
    /// # Errors
    ///
    /// `server_unapproved`; `config_invalid` for a store that does not verify.
    pub(super) fn confirmed_launch(&self, config: &ServerConfig) -> Result<Launch> {
        let policy = self.rulebook.policy()?.value;
        if let (LaunchState::Confirmed, _) = self.launch_state(&policy, config)?
            && let Some(record) = policy.launch(&config.id)
        {
            return Ok(record.launch.clone());
        }
        let mode = self.rulebook.mode_of(&policy, Some(&config.id));
        let waived =
            mode.mode == Mode::DangerFullAccess && mode.source == ModeSource::Run && self.origin != Origin::App;
        if waived && !self.queue.is_present() {
            return config.launch().cloned();
        }
        Err(Error::ServerUnapproved { server: config.id.clone() })
    }

    /// Resolves when something that a look rests on may have changed since this was called, in this process or a store.
    pub(super) fn policy_changed(self: &Arc<Self>) -> BoxFuture<()> {
        let mut changed = self.changed.subscribe();
        let revision = |inner: &Self| inner.rulebook.policy().map(|policy| policy.revision).ok();
        let (inner, before) = (self.clone(), revision(self));
        Box::pin(async move {
            loop {
                tokio::select! {
                    _ = changed.changed() => return,
                    // Another process has no way to notify.
                    () = inner.clock.sleep(STORE_LOOK) => if revision(&inner) != before { return },
                }
            }
        })
    }

    /// The operation with the tool as it is defined now.
    pub(super) fn current(&self, server: &Server, operation: Operation) -> Operation {
        match operation {
            Operation::CallTool { server: id, tool, arguments } => {
                let now = server.tool(&tool.name).filter(|now| now.hash != tool.hash);
                Operation::CallTool { server: id, tool: now.unwrap_or(tool), arguments }
            }
            other => other,
        }
    }

    /// Gathers the facts and decides.
    pub(super) fn look(
        &self,
        server: &Server,
        operation: &Operation,
        caller: &Caller,
        generation: u64,
        token: Option<&str>,
    ) -> Result<Look> {
        self.look_as(server, operation, caller, generation, token, self.queue.is_present()).map(|(look, _)| look)
    }

    /// The refusal where nobody can be asked after all.
    pub(super) fn nobody_to_ask(
        &self,
        server: &Server,
        operation: &Operation,
        caller: &Caller,
        generation: u64,
        token: Option<&str>,
        rule: &RuleName,
    ) -> Error {
        match self.look_as(server, operation, caller, generation, token, false) {
            Ok((Look { ruling: Ruling::Refuse(error), .. }, _)) | Err(error) => error,
            Ok(_) => Error::internal(format!("nobody can be asked, and `{rule}` says to")),
        }
    }

    fn look_as(
        &self,
        server: &Server,
        operation: &Operation,
        caller: &Caller,
        generation: u64,
        token: Option<&str>,
        prompter: bool,
    ) -> Result<(Look, Decision)> {
        let config = server.config();
        let snapshot = self.rulebook.policy()?;
        let fingerprint = self.fingerprint(config.launch()?)?;
        let mut payload = None;
        let mut token_state = TokenState::Absent;
        let mut scoped_digest = false;
        let mut tool = None;
        if let Operation::CallTool { tool: shown, arguments, .. } = operation {
            let mut digest =
                || payload.get_or_insert_with(|| digest::payload_digest(&shown.name, &arguments.value)).clone();
            if let Some(text) = token {
                let binding = Binding {
                    caller: caller.clone(),
                    server: server.id.clone(),
                    tool: shown.name.clone(),
                    fingerprint: fingerprint.clone(),
                    definition: shown.hash.clone(),
                    digest: digest(),
                };
                token_state = self.rulebook.memory().tokens.check(text, &binding, Moment::of(&*self.clock));
            }
            scoped_digest = self.rulebook.is_approved_at_start(&server.id, &shown.name, &mut digest);
            tool = server.tool(&shown.name);
        }
        let case = Case {
            subject: Subject::from(operation),
            tool: tool.as_deref(),
            caller,
            token: token_state,
            scoped_digest,
            prompter,
        };
        let what = describe(operation);
        let digest = match operation {
            Operation::CallTool { tool, arguments, .. } => {
                Some(payload.unwrap_or_else(|| digest::payload_digest(&tool.name, &arguments.value)))
            }
            _ => None,
        };
        let (decision, refusal) = self.decide(&config, &snapshot.value, &fingerprint, &case, |facts, decision| {
            decision.refusal(facts, &what, digest.as_deref())
        });
        let ruling = match (&decision.verdict, decision.rule.clone(), refusal) {
            (Verdict::Allow, Some(rule), None) => Ruling::Allow(rule),
            (Verdict::Ask, Some(rule), None) => Ruling::Ask(rule),
            (_, _, Some(error)) => Ruling::Refuse(error),
            (_, rule, None) => return Err(Error::internal(format!("a decision without a rule: {rule:?}"))),
        };
        let offers = offers(operation, decision.rule.as_ref());
        let look = Look {
            reason: self.reason(&server.id, decision.rule.as_ref(), case.tool),
            offers: Offers {
                // A command ends with its one call: "until this program ends" would be "once" in other words.
                session: offers.session && caller.kind() != CallerKind::Cli,
                ..offers
            },
            ruling,
            basis: Basis {
                fingerprint,
                definition_hash: case.tool.map(|tool| tool.hash.clone()),
                generation,
                policy_revision: self.rulebook.revision(snapshot.revision),
            },
            server_name: config.display_name.clone(),
        };
        Ok((look, decision))
    }

    fn decide<T>(
        &self,
        config: &ServerConfig,
        policy: &PolicyState,
        fingerprint: &str,
        case: &Case<'_>,
        then: impl FnOnce(&Facts<'_>, &Decision) -> T,
    ) -> (Decision, T) {
        let server = &config.id;
        let kind = case.caller.kind();
        let mode = self.rulebook.mode_of(policy, Some(server));
        let authority = if policy.trusts_annotations(server) { Authority::TrustedServer } else { Authority::Server };
        let mut class = crate::policy::class::Class::ReadOnly;
        let mut pin = crate::model::admin::PinState::Pinned;
        let mut costly = false;
        let mut obstacle = (!config.enabled).then(|| Error::ServerDisabled { server: server.clone() });
        let mut name = String::new();
        if let Subject::Call { tool, .. } = case.subject {
            name = tool.to_owned();
            match case.tool {
                Some(definition) => {
                    class = classify(policy.class(server, tool, &definition.hash), authority, definition.hints);
                    pin = self.rulebook.pins().state(server, tool, &definition.hash);
                    costly = policy.is_costly(server, tool);
                    obstacle = obstacle.or_else(|| disabled(config, definition));
                }
                None => {
                    class = crate::policy::class::Class::Other;
                    let gone = || Error::ToolNotFound { server: server.clone(), tool: inert::line(tool, 256) };
                    obstacle = obstacle.or_else(|| Some(gone()));
                }
            }
        }
        let persons_own = matches!(kind, CallerKind::Settings | CallerKind::Cli);
        let paused = self.paused.load(std::sync::atomic::Ordering::Relaxed) && !persons_own;
        let linked = self.leads_into_own_folders(&case.subject);
        let launch = policy.launch_state(server, fingerprint, self.clock.now());
        let memory = self.rulebook.memory();
        let silence = if paused {
            Some(Silence::Everything)
        } else {
            memory.fatigue.silence(kind, server, &name, self.clock.monotonic())
        };
        let rules: Vec<&Rule> = policy.rules().iter().chain(memory.rules.rules()).collect();
        let facts = Facts {
            server,
            subject: case.subject,
            caller: kind,
            obstacle,
            launch,
            fingerprint,
            mode,
            class,
            costly,
            pin,
            rules: &rules,
            token: case.token,
            scoped_digest: case.scoped_digest,
            own_folders: &self.rulebook.own_folders,
            linked_to_own_folders: linked,
            silence,
            prompter: case.prompter,
            now: self.clock.now(),
        };
        let decision = decide(&facts);
        let told = then(&facts, &decision);
        (decision, told)
    }

    /// Whether a path in the arguments is a link that leads into our own folders.
    fn leads_into_own_folders(&self, subject: &Subject<'_>) -> bool {
        let own = &self.rulebook.own_folders;
        own.paths_in(subject).iter().any(|path| {
            // What does not exist yet would be made in its folder.
            let there =
                std::fs::canonicalize(path).or_else(|error| path.parent().map_or(Err(error), std::fs::canonicalize));
            there.is_ok_and(|there| own.contains(&there))
        })
    }

    fn reason(&self, server: &ServerId, rule: Option<&RuleName>, tool: Option<&ToolDefinition>) -> Reason {
        match rule {
            Some(RuleName::UnseenDefinition) => Reason::Unseen,
            Some(RuleName::ChangedDefinition) => {
                Reason::Changed(tool.and_then(|tool| self.difference(server, tool)).unwrap_or_default())
            }
            Some(RuleName::AskRule(id)) => Reason::AskRule(id.to_string()),
            Some(RuleName::Costly) => Reason::Costly,
            Some(RuleName::TouchesMcpHost) => Reason::TouchesHost,
            _ => Reason::NeedsApproval,
        }
    }

    /// What changed in a definition since it was approved, in lines.
    pub(super) fn difference(&self, server: &ServerId, tool: &ToolDefinition) -> Option<String> {
        let pins = self.rulebook.pins();
        let pin = pins.get(server, &tool.name).filter(|pin| pin.hash != tool.hash)?;
        match &pin.text {
            Some(text) => Some(text.difference(&tool.into()).to_string()),
            None => Some(
                "the approved definition was too large to be kept, so that only the fact of the change is known"
                    .to_owned(),
            ),
        }
    }

    /// The revision of the rules under which an approval is still what is true: everything it was given for, and
    /// nothing stricter since. `None` = it does not hold any more.
    pub(super) fn still_holds(
        &self,
        server: &Server,
        approved: &Approved,
        generation: u64,
        spent: Spent<'_>,
    ) -> Option<u64> {
        let granted = approved.granted();
        // A rule's place in the order is looked at only where there may be another.
        if self.is_unchanged(server, approved, generation, granted.policy_revision) {
            return Some(granted.policy_revision);
        }
        if granted.deadline <= self.clock.now() || granted.generation != generation {
            return None;
        }
        let token = match spent {
            Spent::No(token) => token,
            Spent::Yes(_) => None,
        };
        let (look, _) = self.look_as(server, approved.operation(), &granted.caller, generation, token, true).ok()?;
        let same =
            look.basis.fingerprint == granted.fingerprint && look.basis.definition_hash == granted.definition_hash;
        let answered = granted.rule.starts_with("answer:") || matches!(spent, Spent::Yes(true));
        let allowed = match look.ruling {
            Ruling::Allow(_) => true,
            // The person's answer stands where they would be asked again, and only there.
            Ruling::Ask(_) => answered,
            Ruling::Refuse(_) => false,
        };
        (same && allowed).then_some(look.basis.policy_revision)
    }

    /// Whether nothing that the approval rests on is another, the rules being those of `revision`: quick, for the moment
    /// of writing.
    pub(super) fn is_unchanged(&self, server: &Server, approved: &Approved, generation: u64, revision: u64) -> bool {
        let granted = approved.granted();
        let config = server.config();
        let fingerprint = || config.launch().and_then(|launch| self.fingerprint(launch)).ok();
        let definition = match approved.operation() {
            Operation::CallTool { tool, .. } => server.tool(&tool.name).map(|tool| tool.hash.clone()),
            _ => None,
        };
        let now = self.rulebook.policy().map(|policy| self.rulebook.revision(policy.revision)).ok();
        config.enabled
            && granted.deadline > self.clock.now()
            && granted.generation == generation
            && granted.definition_hash == definition
            && now == Some(revision)
            && fingerprint().is_some_and(|now| now == granted.fingerprint)
    }

    /// Looks at the rate limit without taking a place.
    pub(super) fn look_at_rate(&self, server: &ServerId, operation: &Operation, caller: &Caller) -> Result<()> {
        let Operation::CallTool { tool, .. } = operation else { return Ok(()) };
        match self.rulebook.policy()?.value.rate_limit(server, &tool.name) {
            Some(limit) => {
                self.rulebook.memory().rates.look(caller.kind(), server, &tool.name, limit, self.clock.monotonic())
            }
            None => Ok(()),
        }
    }

    /// Whether the operation only reads: then its intent need not be synced before it is sent.
    pub(super) fn only_reads(&self, server: &ServerId, operation: &Operation) -> bool {
        let Operation::CallTool { tool, .. } = operation else { return true };
        let Ok(policy) = self.rulebook.policy() else { return false };
        let authority =
            if policy.value.trusts_annotations(server) { Authority::TrustedServer } else { Authority::Server };
        let person = policy.value.class(server, &tool.name, &tool.hash);
        classify(person, authority, tool.hints) == crate::policy::class::Class::ReadOnly
    }

    /// What a call of that tool, the arguments of which are not known, would meet.
    pub(super) fn prospect(&self, server: &Server, tool: &ToolDefinition, caller: &Caller) -> Result<Decision> {
        let config = server.config();
        let policy = self.rulebook.policy()?.value;
        let fingerprint = self.fingerprint(config.launch()?)?;
        let case = Case {
            subject: Subject::prospect(&tool.name, &tool.hash),
            tool: Some(tool),
            caller,
            token: TokenState::Absent,
            scoped_digest: false,
            prompter: self.queue.is_present(),
        };
        Ok(self.decide(&config, &policy, &fingerprint, &case, |_, _| ()).0)
    }

    /// What a call with these arguments would meet, and why: `approval check`.
    pub(super) fn check(&self, server: &Server, operation: &Operation, caller: &Caller) -> Result<Decision> {
        // Another kind of caller calls in another process: in the app there is somebody to ask, in `serve` nobody.
        let prompter = match caller.kind() {
            CallerKind::Page | CallerKind::Agent | CallerKind::Settings => true,
            CallerKind::Serve => false,
            CallerKind::Cli => self.queue.is_present(),
        };
        self.look_as(server, operation, caller, 0, None, prompter).map(|(_, decision)| decision)
    }

    pub(super) fn tool_summary(&self, server: &Server, tool: &ToolDefinition, caller: &Caller) -> Result<ToolSummary> {
        let decision = self.prospect(server, tool, caller)?;
        let permission = decision.permission();
        let pin = self.rulebook.pins().state(&server.id, &tool.name, &tool.hash);
        Ok(ToolSummary {
            server_id: server.id.clone(),
            name: tool.name.clone(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: Some(tool.input_schema.clone()),
            annotations: tool.annotations.clone(),
            approval_required: Some(permission == crate::model::Permission::Ask),
            output_schema: tool.output_schema.clone(),
            permission,
            definition_changed: pin == crate::model::admin::PinState::Changed,
            diagnostics: (!tool.diagnostics.is_empty()).then(|| tool.diagnostics.clone()),
        })
    }
}

/// Why a tool must not be called, whoever asks.
pub(super) fn disabled(config: &ServerConfig, tool: &ToolDefinition) -> Option<Error> {
    let why = if tool.quarantined {
        "the server lists two different tools under this name"
    } else if config.disabled_tools.contains(&tool.name) {
        "it is listed in `disabledTools` of its entry"
    } else {
        return None;
    };
    Some(Error::ToolDisabled { server: config.id.clone(), tool: tool.name.clone(), why: why.to_owned() })
}
