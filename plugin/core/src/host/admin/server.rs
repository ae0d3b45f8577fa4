//! Servers as a person lists, adds, edits and removes them.

use super::{Admin, ServerChange, blocking, question_id};
use crate::{
    approval::{inert, wording},
    audit::{self, Event},
    config::{self, Launch, ServersFile, edit::Edit, fingerprint::Shown, launch::StdioLaunch, snippet},
    error::{Error, Result},
    host::{Inner, connect::Want, server::Server},
    model::{
        Caller, CallerKind, ServerId,
        admin::{CallerPermission, LaunchView, LogLine, ServerDetails, ToolView, Variable},
    },
    policy::{
        class::{Authority, Class, classify},
        state::LaunchState,
    },
};

/// Bytes of a definition that make about one token of a model.
const BYTES_A_TOKEN: usize = 4;

impl Admin {
    /// One server in full.
    ///
    /// # Errors
    ///
    /// `server_not_found`; `config_invalid` for a store that does not verify.
    pub async fn server(&self, server: &str) -> Result<ServerDetails> {
        let inner = self.inner();
        let server = inner.server(server)?;
        let config = server.config();
        let policy = inner.rulebook.policy()?.value;
        let record = policy.launch(&server.id).cloned();
        let (mut launch, mut launch_difference, mut fingerprint) = (None, None, String::new());
        if let Ok(current) = config.launch() {
            launch = Some(inner.launch_view(&server.id, current).await);
            let (state, of) = inner.launch_state(&policy, &config)?;
            fingerprint = of;
            if state == LaunchState::Changed {
                launch_difference = record.as_ref().map(|record| difference(&record.launch, current));
            }
        }
        let list = server.tools.last();
        let tools = list
            .iter()
            .flat_map(|list| &list.items)
            .map(|tool| inner.tool_view(&server, tool))
            .collect::<Result<Vec<_>>>()?;
        let file = ServersFile::new(&inner.folders);
        let key = config.key.clone();
        let entry = blocking(move || file.entry_text(&key)).await.unwrap_or_default();
        let confirmed = record.filter(|record| record.confirmed);
        Ok(ServerDetails {
            status: inner.status(&server, crate::error::Audience::Person),
            key: config.key.clone(),
            entry,
            launch,
            launch_difference,
            confirmed_at: confirmed.as_ref().map(|record| record.at.to_string()),
            confirmed_by: confirmed.as_ref().map(|record| record.by.as_str().to_owned()),
            fingerprint,
            trust_annotations: policy.trusts_annotations(&server.id),
            mode: policy.server_mode(&server.id).map(|mode| mode.to_string()),
            tokens: tools.iter().map(|tool| tool.tokens).sum(),
            tools,
            downloading: config.launch().is_ok_and(|launch| launch.downloads_with().is_some()),
        })
    }

    /// The stderr tail, stdout noise and MCP log messages, oldest first.
    ///
    /// # Errors
    ///
    /// `server_not_found`.
    pub fn server_log(&self, server: &str) -> Result<Vec<LogLine>> {
        let server = self.inner().server(server)?;
        let mut lines: Vec<(jiff::Timestamp, &str, String)> = Vec::new();
        lines.extend(server.output.stderr_tail().into_iter().map(|line| (line.at, "stderr", line.text)));
        lines.extend(server.output.noise().into_iter().map(|line| (line.at, "stdout", line.text)));
        lines.extend(server.state().logs.iter().map(|(at, line)| {
            let logger = line.logger.as_deref().map(|logger| format!("{logger}: ")).unwrap_or_default();
            (*at, "log", format!("[{}] {logger}{}", line.level.as_str(), line.text))
        }));
        lines.sort_by_key(|(at, ..)| *at);
        let line = |(at, stream, text): (jiff::Timestamp, &str, String)| LogLine {
            time: at.to_string(),
            stream: stream.to_owned(),
            text: inert::inert(&text),
        };
        Ok(lines.into_iter().map(line).collect())
    }

    /// Changes servers.json; returns the ids that were touched. Add and edit confirm the launch: on the command line by
    /// the command, in the settings window by a dialog (a no leaves the entry, waiting).
    ///
    /// # Errors
    ///
    /// `invalid_input` for a snippet or entry that cannot be read; `config_invalid` naming what of it cannot be used.
    pub async fn change_server(&self, change: ServerChange, by: &Caller) -> Result<Vec<String>> {
        self.acts(by)?;
        match change {
            ServerChange::Add { key, snippet } => self.add_servers(key, &snippet, by).await,
            ServerChange::Edit { server, entry } => {
                let (key, id) = self.key_of(&server)?;
                self.edit(vec![Edit::of_text(&key, &entry)?], true).await?;
                let change = self.server_change(&id, by);
                self.inner().note(&Event::ServerChanged(change));
                if !self.inner().is_confirmed(&self.inner().server(id.as_str())?.config()) {
                    self.confirm_server(id.as_str(), None, by).await?;
                }
                Ok(vec![id.to_string()])
            }
            ServerChange::Remove { server } => {
                let (key, id) = self.key_of(&server)?;
                let change = self.server_change(&id, by);
                self.edit(vec![Edit::Remove { key }], false).await?;
                self.inner().note(&Event::ServerRemoved(change));
                Ok(vec![id.to_string()])
            }
            ServerChange::SetEnabled { server, enabled } => {
                let (key, id) = self.key_of(&server)?;
                self.edit(vec![Edit::SetEnabled { key, enabled }], false).await?;
                let change = self.server_change(&id, by);
                self.inner().note(&if enabled { Event::ServerEnabled(change) } else { Event::ServerDisabled(change) });
                Ok(vec![id.to_string()])
            }
        }
    }

    /// Ends the connection, if there is one, and starts anew.
    ///
    /// # Errors
    ///
    /// As connecting.
    pub async fn restart_server(&self, server: &str) -> Result<()> {
        let inner = self.inner();
        let server = inner.server(server)?;
        let holds = server.state().holds.clone();
        inner.release(&server, &Caller::Settings, true).await;
        inner.connect(&server, Want::Connect(CallerKind::Settings), &inner.closing.child_token()).await?;
        let mut state = server.state();
        state.holds.extend(holds);
        state.holds.insert(Caller::Settings);
        Ok(())
    }

    async fn add_servers(&self, key: Option<String>, text: &str, by: &Caller) -> Result<Vec<String>> {
        let inner = self.inner();
        let drafts = snippet::read(text)?;
        if key.is_some() && drafts.len() > 1 {
            return Err(Error::invalid_input(
                "/key",
                "the text holds several servers, which have names of their own; leave the name away",
            ));
        }
        let mut taken: Vec<String> = inner.servers().values().map(|server| server.config().key.clone()).collect();
        let mut edits = Vec::new();
        let mut secrets = Vec::new();
        for mut draft in drafts {
            let name = match (&key, &draft.key) {
                (Some(key), _) => key.clone(),
                (None, Some(own)) => own.clone(),
                (None, None) => draft.suggest_key(&taken.iter().map(String::as_str).collect::<Vec<_>>()),
            };
            if taken.contains(&name) {
                return Err(Error::invalid_input(
                    "/key",
                    format!("there is a server `{}` already; edit it, or choose another name", inert::line(&name, 80)),
                ));
            }
            taken.push(name.clone());
            // The id that it will have decides whose secrets they are.
            let preview = self.preview(vec![Edit::Add { key: name.clone(), entry: draft.entry.0.clone() }]).await?;
            let id = preview.servers.iter().find(|server| server.key == name).map(|server| server.id.clone());
            if let Some(id) = id {
                draft.move_secrets(&id);
                secrets.extend(
                    draft
                        .secrets
                        .iter()
                        .filter_map(|secret| Some((id.clone(), secret.id.clone(), secret.value.clone()?))),
                );
            }
            edits.push(Edit::Add { key: name, entry: draft.entry.0 });
        }
        let names: Vec<String> = edits.iter().map(|edit| edit.key().to_owned()).collect();
        // What cannot be used is refused before anything is written.
        let preview = self.preview(edits.clone()).await?;
        for name in &names {
            if let Some(server) = preview.servers.iter().find(|server| server.key == *name) {
                server.launch()?;
            }
        }
        for (server, id, value) in secrets {
            inner.log.redactor().learn([value.expose()]);
            let (vault, of, name, now) = (inner.secrets.clone(), server.clone(), id.clone(), inner.clock.now());
            blocking(move || vault.put(&name, &of, value, now)).await?;
            inner.note(&Event::SecretAdded { name: id, server });
        }
        self.edit(edits, true).await?;
        let mut ids = Vec::new();
        for name in names {
            let server = inner.server(&name)?;
            let change = self.server_change(&server.id, by);
            inner.note(&Event::ServerAdded(change));
            ids.push(server.id.clone());
        }
        for id in &ids {
            match self.confirm_server(id.as_str(), None, by).await {
                // The entry stays and waits; saying no to running it is not an error of adding it.
                Ok(())
                | Err(Error::ApprovalDenied { .. } | Error::ApprovalDismissed { .. } | Error::ApprovalTimeout { .. }) =>
                    {}
                Err(error) => return Err(error),
            }
        }
        Ok(ids.iter().map(ServerId::to_string).collect())
    }

    async fn preview(&self, edits: Vec<Edit>) -> Result<config::Configuration> {
        let file = ServersFile::new(&self.inner().folders);
        blocking(move || file.preview(&edits)).await
    }

    /// Changes the file and makes what it says then the state. `usable`: a changed entry that cannot be used is refused.
    async fn edit(&self, edits: Vec<Edit>, usable: bool) -> Result<()> {
        if usable {
            let preview = self.preview(edits.clone()).await?;
            for edit in &edits {
                if let Some(server) = preview.servers.iter().find(|server| server.key == edit.key()) {
                    server.launch()?;
                }
            }
        }
        let file = ServersFile::new(&self.inner().folders);
        let configuration = blocking(move || file.change(&edits)).await?;
        self.inner().apply(&configuration);
        Ok(())
    }

    fn key_of(&self, server: &str) -> Result<(String, ServerId)> {
        let server = self.inner().server(server)?;
        Ok((server.config().key.clone(), server.id.clone()))
    }

    fn server_change(&self, id: &ServerId, by: &Caller) -> audit::ServerChange {
        let inner = self.inner();
        let server = inner.servers().get(id).cloned();
        let fingerprint = server.and_then(|server| inner.fingerprint(server.config().launch().ok()?).ok());
        audit::ServerChange { server: id.clone(), fingerprint, fields: Vec::new(), by: by.kind() }
    }
}

impl Inner {
    /// Asks the person to confirm a launch, with everything shown; returns what was shown.
    pub(super) async fn confirm_launch(&self, server: &Server, by: &Caller) -> Result<Launch> {
        let config = server.config();
        let launch = config.launch()?;
        let view = self.launch_view(&server.id, launch).await;
        let policy = self.rulebook.policy()?.value;
        let before = policy
            .launch(&server.id)
            .filter(|record| record.confirmed)
            .map(|record| difference(&record.launch, launch));
        let before = before.filter(|text| !text.is_empty());
        let sheet =
            wording::launch_sheet(question_id(), &config.display_name, &view, before.as_deref(), self.queue.language());
        self.confirm(by, Some(&server.id), "launch", sheet).await?;
        Ok(launch.clone())
    }

    async fn launch_view(&self, id: &ServerId, launch: &Launch) -> LaunchView {
        let environment = self.environment.snapshot().await;
        let (server, of) = (id.clone(), launch.clone());
        let program = tokio::task::spawn_blocking(move || config::locate(&server, &of, &environment).ok().flatten())
            .await
            .ok()
            .flatten();
        let cautions = launch.cautions(program.as_deref()).iter().map(ToString::to_string).collect();
        let variables = |place: &str, values: &std::collections::BTreeMap<String, String>| {
            values
                .iter()
                .map(|(name, value)| Variable { name: name.clone(), value: shown(&format!("/{place}/{name}"), value) })
                .collect()
        };
        let receives =
            launch.uses().iter().map(|one| format!("{} → {}", one.source.describe(&one.name), one.field)).collect();
        let mut view = LaunchView {
            transport: launch.transport(),
            command: None,
            args: Vec::new(),
            cwd: None,
            url: None,
            env: Vec::new(),
            headers: Vec::new(),
            env_passthrough: Vec::new(),
            program: program.map(|path| path.display().to_string()),
            receives,
            cautions,
        };
        match launch {
            Launch::Stdio(StdioLaunch { command, args, cwd, env, env_passthrough }) => {
                view.command = Some(command.clone());
                view.args = args.clone();
                view.cwd = cwd.clone();
                view.env = variables("env", env);
                view.env_passthrough = env_passthrough.iter().cloned().collect();
            }
            Launch::Http(endpoint) | Launch::Sse(endpoint) => {
                view.url = Some(endpoint.url.clone());
                view.headers = variables("headers", &endpoint.headers);
            }
        }
        view
    }

    fn tool_view(&self, server: &Server, tool: &crate::model::ToolDefinition) -> Result<ToolView> {
        let policy = self.rulebook.policy()?.value;
        let permissions = CallerKind::ALL.into_iter().map(|caller| {
            let decision = self.prospect(server, tool, &super::rule::a_caller(caller))?;
            Ok(CallerPermission { caller, permission: decision.permission(), rule: decision.rule_name() })
        });
        let authority =
            if policy.trusts_annotations(&server.id) { Authority::TrustedServer } else { Authority::Server };
        let class = classify(policy.class(&server.id, &tool.name, &tool.hash), authority, tool.hints);
        let bytes =
            tool.name.len() + tool.description.as_deref().map_or(0, str::len) + tool.input_schema.as_str().len();
        Ok(ToolView {
            name: tool.name.clone(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: Some(tool.input_schema.clone()),
            permissions: permissions.collect::<Result<_>>()?,
            pin: self.rulebook.pins().state(&server.id, &tool.name, &tool.hash),
            difference: self.difference(&server.id, tool),
            read_only: class == Class::ReadOnly,
            costly: policy.is_costly(&server.id, &tool.name),
            disabled: crate::host::look::disabled(&server.config(), tool).is_some(),
            tokens: u32::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u32::MAX),
            diagnostics: tool.diagnostics.clone(),
        })
    }
}

/// Two launches, field by field, in lines.
fn difference(before: &Launch, after: &Launch) -> String {
    let text = |shown: &Shown| match shown {
        Shown::Text(text) => text.clone(),
        Shown::Hidden { characters } => format!("({characters} characters, not shown)"),
    };
    let mut lines = Vec::new();
    for change in config::fingerprint::difference(before, after) {
        lines.extend(change.before.as_ref().map(|was| format!("- {}: {}", change.field, text(was))));
        lines.extend(change.after.as_ref().map(|is| format!("+ {}: {}", change.field, text(is))));
    }
    lines.join("\n")
}

fn shown(field: &str, value: &str) -> String {
    match config::fingerprint::shown(field, value) {
        Shown::Text(text) => text,
        Shown::Hidden { characters } => format!("({characters} characters, not shown)"),
    }
}
