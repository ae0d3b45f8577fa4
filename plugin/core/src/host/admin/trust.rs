//! Trust: which launches are confirmed, which definitions are pinned.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;

use super::{Admin, question_id};
use crate::{
    approval::{inert, wording},
    audit::{Event, PinChange, ServerChange},
    config::Launch,
    error::{Error, Result},
    host::{
        Inner,
        connect::{InFlight, Want},
        server::Server,
    },
    model::{
        Caller, ToolDefinition,
        admin::{PinState, TrustView, TrustedTool},
    },
    policy::{
        rule::MadeBy,
        state::{Edit, LaunchRecord},
    },
};

impl Admin {
    /// What is trusted of each configured server.
    ///
    /// # Errors
    ///
    /// `config_invalid` for a store that does not verify.
    pub fn trust(&self) -> Result<Vec<TrustView>> {
        let inner = self.inner();
        let policy = inner.rulebook.policy()?.value;
        let pins = inner.rulebook.pins();
        let servers: Vec<_> = inner.servers().values().cloned().collect();
        let mut views = Vec::with_capacity(servers.len());
        for server in servers {
            let config = server.config();
            // An entry that cannot be used has no launch to trust.
            let Ok((state, fingerprint)) = inner.launch_state(&policy, &config) else { continue };
            let record = policy.launch(&server.id);
            let list = server.tools.last();
            let listed: Vec<&ToolDefinition> = list.iter().flat_map(|list| &list.items).collect();
            let mut tools: Vec<TrustedTool> = listed
                .iter()
                .map(|tool| TrustedTool {
                    name: tool.name.clone(),
                    pin: pins.state(&server.id, &tool.name, &tool.hash),
                })
                .collect();
            let names: BTreeSet<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
            for (name, _) in pins.of_server(&server.id).filter(|(name, _)| !names.contains(name)) {
                // Of a server that was not listed in this run nothing is known to be gone.
                let pin = if list.is_some() { PinState::Gone } else { PinState::Pinned };
                tools.push(TrustedTool { name: name.to_owned(), pin });
            }
            views.push(TrustView {
                server_id: server.id.clone(),
                state: state.as_str().to_owned(),
                fingerprint,
                confirmed_at: record.filter(|record| record.confirmed).map(|record| record.at.to_string()),
                expires_at: record.and_then(|record| record.expires_at).map(|at| at.to_string()),
                tools,
            });
        }
        Ok(views)
    }

    /// Confirms the launch as it stands now. The settings window is asked natively, with everything shown.
    ///
    /// # Errors
    ///
    /// `config_invalid` for an entry that cannot be used; `approval_denied` and its like.
    pub async fn confirm_server(&self, server: &str, expires_at: Option<String>, by: &Caller) -> Result<()> {
        self.acts(by)?;
        let inner = self.inner();
        let server = inner.server(server)?;
        let expires_at = expires_at
            .map(|text| {
                text.parse::<Timestamp>().map_err(|_| {
                    Error::invalid_input("/expiresAt", format!("`{}` is not a time", inert::line(&text, 40)))
                })
            })
            .transpose()?;
        if *by == Caller::Settings {
            return inner.confirm_and_record(&server, by, expires_at).await;
        }
        let launch = server.config().launch()?.clone();
        inner.record_confirmation(&server, launch, by, expires_at)
    }

    /// Pins the definitions of these tools (all where `tools` is `None`); connects if needed. The names that were pinned.
    ///
    /// # Errors
    ///
    /// `tool_not_found`; what connecting fails with; `approval_denied` and its like from the settings window.
    pub async fn pin_tools(&self, server: &str, tools: Option<Vec<String>>, by: &Caller) -> Result<Vec<String>> {
        self.acts(by)?;
        let inner = self.inner();
        let server = inner.server(server)?;
        let cancel = inner.closing.child_token();
        let _in_flight = InFlight::list(inner, &server);
        inner.connect(&server, Want::Connect(by.kind()), &cancel).await?;
        let list = inner.tools(&server, by, &cancel).await?;
        let mut chosen: Vec<&ToolDefinition> = Vec::new();
        match &tools {
            None => chosen.extend(list.items.iter().filter(|tool| !tool.quarantined)),
            Some(names) => {
                for name in names {
                    let tool = list.items.iter().find(|tool| tool.name == *name && !tool.quarantined);
                    chosen.push(tool.ok_or_else(|| Error::ToolNotFound {
                        server: server.id.clone(),
                        tool: inert::line(name, 256),
                    })?);
                }
            }
        }
        let pins = inner.rulebook.pins();
        chosen.retain(|tool| pins.state(&server.id, &tool.name, &tool.hash) != PinState::Pinned);
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        if *by == Caller::Settings {
            let difference = match chosen.as_slice() {
                [one] => inner.difference(&server.id, one),
                _ => None,
            };
            let name = server.config().display_name.clone();
            let sheet =
                wording::definition_sheet(question_id(), &name, &chosen, difference.as_deref(), inner.queue.language());
            inner.confirm(by, Some(&server.id), "definitions", sheet).await?;
        }
        inner.pin(&server.id, &chosen, made_by(by), by.kind())?;
        inner.policy_has_changed();
        Ok(chosen.iter().map(|tool| tool.name.clone()).collect())
    }

    /// `trust revoke`: the pins of these tools; without `tools` the launch and all pins. `deny`: an explicit no, which
    /// stays until it is confirmed again.
    ///
    /// # Errors
    ///
    /// `server_not_found`.
    pub async fn revoke_trust(&self, server: &str, tools: Option<Vec<String>>, deny: bool, by: &Caller) -> Result<()> {
        self.acts(by)?;
        let inner = self.inner();
        let server = inner.server(server)?;
        let voided = inner.rulebook.unpin(&server.id, tools.as_deref())?;
        for tool_name in voided {
            let definition_hash = server.tool(&tool_name).map(|tool| tool.hash.clone()).unwrap_or_default();
            let change =
                PinChange { server: server.id.clone(), tool_name, definition_hash, previous_hash: None, by: by.kind() };
            inner.note(&Event::PinVoided(change));
        }
        match (&tools, deny) {
            // A tool that is denied must not run, whatever its pin says.
            (Some(names), true) => {
                for tool in names {
                    let rule = super::NewRule {
                        effect: "deny".to_owned(),
                        target: Some(super::GrantTarget::Tool {
                            server: Some(server.id.to_string()),
                            tool: tool.clone(),
                        }),
                        ..super::NewRule::default()
                    };
                    self.add_rule(rule, by).await?;
                }
            }
            (Some(_), false) => {}
            (None, true) => {
                let launch = server.config().launch()?.clone();
                let record = LaunchRecord {
                    fingerprint: inner.fingerprint(&launch)?,
                    confirmed: false,
                    launch,
                    at: inner.clock.now(),
                    by: made_by(by),
                    expires_at: None,
                };
                inner.rulebook.edit(Edit::RecordLaunch(server.id.clone(), Box::new(record)))?;
                inner.release(&server, by, true).await;
            }
            (None, false) => {
                inner.rulebook.edit(Edit::ForgetLaunch(server.id.clone()))?;
                inner.release(&server, by, true).await;
            }
        }
        inner.policy_has_changed();
        inner.status_changed(&server);
        Ok(())
    }

    /// Whether this server's own annotations are to be believed.
    ///
    /// # Errors
    ///
    /// `server_not_found`; `approval_denied` and its like where it widens.
    pub async fn set_trust_annotations(&self, server: &str, trust: bool, by: &Caller) -> Result<()> {
        self.acts(by)?;
        let inner = self.inner();
        let server = inner.server(server)?;
        let edit = Edit::SetTrustAnnotations(server.id.clone(), trust);
        if inner.rulebook.policy()?.value.widens(&edit) {
            let name = server.config().display_name.clone();
            self.widen(by, "trust-annotations", |language| wording::annotations_sheet(question_id(), &name, language))
                .await?;
        }
        inner.rulebook.edit(edit)?;
        let change = ServerChange {
            server: server.id.clone(),
            fingerprint: None,
            fields: vec![format!("trustAnnotations={trust}")],
            by: by.kind(),
        };
        inner.note(&Event::ServerChanged(change));
        inner.policy_has_changed();
        Ok(())
    }
}

impl Inner {
    /// Asks the person to confirm the launch, with everything shown, and records what was shown.
    pub(in crate::host) async fn confirm_and_record(
        &self,
        server: &Arc<Server>,
        by: &Caller,
        expires_at: Option<Timestamp>,
    ) -> Result<()> {
        let launch = self.confirm_launch(server, by).await?;
        self.record_confirmation(server, launch, by, expires_at)
    }

    /// What was shown is what is recorded: the snapshot, not whatever the file says by now.
    fn record_confirmation(
        &self,
        server: &Arc<Server>,
        launch: Launch,
        by: &Caller,
        expires_at: Option<Timestamp>,
    ) -> Result<()> {
        let fingerprint = self.fingerprint(&launch)?;
        let record = LaunchRecord {
            fingerprint: fingerprint.clone(),
            confirmed: true,
            launch,
            at: self.clock.now(),
            by: made_by(by),
            expires_at,
        };
        self.rulebook.edit(Edit::RecordLaunch(server.id.clone(), Box::new(record)))?;
        let change = ServerChange {
            server: server.id.clone(),
            fingerprint: Some(fingerprint),
            fields: Vec::new(),
            by: by.kind(),
        };
        self.note(&Event::ServerConfirmed(change));
        self.policy_has_changed();
        self.status_changed(server);
        Ok(())
    }
}

fn made_by(by: &Caller) -> MadeBy {
    if *by == Caller::Cli { MadeBy::Cli } else { MadeBy::Settings }
}
