//! What callers ask of a server, one method each: validate, go through the choke point (`call`), decode.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use super::{
    Approval, Host, Inner, RequestOptions, ToolCall,
    call::{Budget, Passage, blocked},
    connect::InFlight,
    server::Server,
};
use crate::{
    audit::{Completed, Refusal},
    error::{Error, Result},
    model::{Caller, Completion, CompletionTarget, Operation, PromptContent, ResourceContent, ToolResult, json},
    policy::digest,
    session::{self, decode},
};

impl Host {
    /// Calls a tool.
    ///
    /// # Errors
    ///
    /// Every code of the contract that concerns calls; a tool that ran and failed is a value with `is_error`.
    pub async fn call_tool(&self, call: ToolCall, caller: Caller, options: RequestOptions) -> Result<ToolResult> {
        let arguments = digest::arguments(call.arguments)?;
        let mut passage = self.passage(&call.server, caller, options)?;
        passage.token = call.approval_token;
        let cancel = passage.underway.cancel().clone();
        let (tool, session) = passage.tool(&call.tool, &arguments, &cancel).await?;
        let server = passage.server.id.clone();
        let call_id = passage.underway.id().clone();
        let operation = Operation::CallTool { server: server.clone(), tool, arguments };
        let (reply, sent) = passage.send(operation, session).await?;
        let duration = reply.duration;
        let outcome = match decode::call_outcome(&server, &reply.raw) {
            Ok(outcome) => outcome,
            Err(error) => {
                sent.failed(&error, duration)?;
                return Err(error);
            }
        };
        let receipt = sent.completed(Completed {
            is_error: outcome.is_error,
            bytes: reply.raw.as_str().len() as u64,
            duration,
            content: &outcome.content,
            structured: outcome.structured_content.as_ref(),
        })?;
        let rounded = outcome.structured_content.as_ref().filter(|structured| structured.javascript_rounds());
        Ok(ToolResult {
            server_id: server,
            name: call.tool,
            call_id,
            structured_content_json: rounded.map(|structured| structured.as_str().to_owned()),
            content: outcome.content,
            structured_content: outcome.structured_content,
            is_error: outcome.is_error,
            duration_ms: u32::try_from(duration.as_millis()).unwrap_or(u32::MAX),
            audit_seq: receipt.seq,
            audit_event_id: receipt.event_id,
            truncated: None,
            meta: outcome.meta,
        })
    }

    /// Asks now, for exactly this call, and returns a token for it; at once where it is allowed already.
    ///
    /// # Errors
    ///
    /// As [`Host::call_tool`] up to the answer.
    pub async fn request_approval(&self, call: ToolCall, caller: Caller, options: RequestOptions) -> Result<Approval> {
        let arguments = digest::arguments(call.arguments)?;
        let mut passage = self.passage(&call.server, caller, options)?;
        let cancel = passage.underway.cancel().clone();
        let (tool, session) = passage.tool(&call.tool, &arguments, &cancel).await?;
        let operation = Operation::CallTool { server: passage.server.id.clone(), tool, arguments };
        let requested = passage.requested(&operation)?;
        let approved = match passage.decide(operation, &session, &requested).await {
            Ok(approved) => approved,
            Err(error) => return Err(blocked(requested, error)),
        };
        let approval = self.0.issue_token(&approved)?;
        // Nothing is sent now: the request ends here, and the log says why.
        let rule = format!("token-issued ({})", approved.granted().rule);
        let note =
            Error::Cancelled { server: None, what: "this request only asked for a token".to_owned(), sent: false };
        requested.blocked(Refusal::Cancelled, &rule, &note)?;
        Ok(approval)
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// `resource_not_found`, `capability_missing`, and what concerns approval and the connection.
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
        caller: Caller,
        options: RequestOptions,
    ) -> Result<ResourceContent> {
        check_uri(uri)?;
        let mut passage = self.passage(server, caller, options)?;
        let session = passage.connected("resources", |shake| shake.capabilities.resources == Some(true)).await?;
        let operation = Operation::ReadResource {
            server: passage.server.id.clone(),
            uri: uri.to_owned(),
            listed: passage.lists(uri).await,
        };
        passage
            .ask(operation, session, |server, raw| {
                decode::resource_content(server, uri, raw).map(|(content, _)| content)
            })
            .await
    }

    /// Gets a prompt. `arguments`: an object of strings, or absent.
    ///
    /// # Errors
    ///
    /// `prompt_not_found`; `invalid_input` naming a required argument that is missing, before anything is sent.
    pub async fn get_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Option<json::Value>,
        caller: Caller,
        options: RequestOptions,
    ) -> Result<PromptContent> {
        let arguments = prompt_arguments(arguments)?;
        let mut passage = self.passage(server, caller, options)?;
        let session = passage.connected("prompts", |shake| shake.capabilities.prompts == Some(true)).await?;
        let cancel = passage.underway.cancel().clone();
        let id = passage.server.id.clone();
        let list = passage
            .budget
            .counted(&id, "listing prompts", self.0.prompts(&passage.server, &passage.caller, &cancel))
            .await?;
        let Some(prompt) = list.items.iter().find(|prompt| prompt.name == name) else {
            return Err(Error::PromptNotFound { server: id, prompt: crate::approval::inert::line(name, 200) });
        };
        for wanted in prompt.arguments.iter().flatten().filter(|argument| argument.required) {
            if !arguments.contains_key(&wanted.name) {
                let problem = format!("the prompt `{name}` needs the argument `{}`", wanted.name);
                return Err(Error::invalid_input(
                    format!("/arguments/{}", json::escape_segment(&wanted.name)),
                    problem,
                ));
            }
        }
        let operation = Operation::GetPrompt { server: id, name: name.to_owned(), arguments };
        passage
            .ask(operation, session, |server, raw| {
                decode::prompt_content(server, name, raw).map(|(content, _)| content)
            })
            .await
    }

    /// Completes an argument of a prompt or of a resource template.
    ///
    /// # Errors
    ///
    /// `capability_missing`, and what concerns approval and the connection.
    pub async fn complete(
        &self,
        server: &str,
        target: CompletionTarget,
        argument: (String, String),
        context: BTreeMap<String, String>,
        caller: Caller,
        options: RequestOptions,
    ) -> Result<Completion> {
        let mut passage = self.passage(server, caller, options)?;
        let session = passage.connected("completion", |shake| shake.completions).await?;
        let operation = Operation::Complete { server: passage.server.id.clone(), target, argument, context };
        passage.ask(operation, session, decode::completion).await
    }

    /// Subscribes; changes arrive as `HostEvent::ResourceUpdated`. The server is told on the first subscribe.
    ///
    /// # Errors
    ///
    /// `capability_missing`, and what concerns approval and the connection.
    pub async fn subscribe_resource(
        &self,
        server: &str,
        uri: &str,
        caller: Caller,
        options: RequestOptions,
    ) -> Result<()> {
        check_uri(uri)?;
        let mut passage = self.passage(server, caller.clone(), options)?;
        let session = passage.connected("resource subscriptions", |shake| shake.subscribe).await?;
        let operation = Operation::Subscribe {
            server: passage.server.id.clone(),
            uri: uri.to_owned(),
            listed: passage.lists(uri).await,
        };
        let server = passage.server.clone();
        let cancel = passage.underway.cancel().clone();
        let first = server.state().subscriptions.get(uri).is_none_or(|who| who.is_empty());
        if first {
            passage.ask(operation, session, |_, _| Ok(())).await?;
        } else {
            // The server knows already; this caller still has to be let in.
            let requested = passage.requested(&operation)?;
            match passage.decide(operation, &session, &requested).await {
                Ok(approved) => {
                    let sent = requested.started(&approved.granted().rule, true).await?;
                    sent.completed(Completed::default())?;
                }
                Err(error) => return Err(blocked(requested, error)),
            }
        }
        let mut state = server.state();
        // A document that is gone meanwhile is told nothing.
        if !cancel.is_cancelled() {
            state.subscriptions.entry(uri.to_owned()).or_default().insert(caller);
        }
        Ok(())
    }

    /// Takes a subscription back; the server is told on the last one. Unknown ones are ignored.
    ///
    /// # Errors
    ///
    /// `server_not_found`.
    pub async fn unsubscribe_resource(&self, server: &str, uri: &str, caller: &Caller) -> Result<()> {
        let server = self.0.server(server)?;
        self.0.unsubscribe(&server, uri, caller).await;
        Ok(())
    }

    /// Validates arguments and computes the payload digest: `(canonical, sha256)`.
    ///
    /// # Errors
    ///
    /// `invalid_input`.
    pub fn payload_digest(tool: &str, arguments: Option<json::Value>) -> Result<(String, String)> {
        let arguments = digest::arguments(arguments)?;
        Ok((digest::canonical_payload(tool, &arguments.value), digest::payload_digest(tool, &arguments.value)))
    }

    fn passage(&self, server: &str, caller: Caller, mut options: RequestOptions) -> Result<Passage> {
        let server = self.0.server(server)?;
        server.config().launch()?;
        let progress = options.progress.take();
        let budget = Budget::new(&self.0.clock, options.timeout);
        let underway = self.0.enter(&caller, &options)?;
        Ok(Passage {
            _in_flight: InFlight::enter(&self.0, &server),
            inner: self.0.clone(),
            server,
            caller,
            underway,
            budget,
            token: None,
            progress: Mutex::new(progress),
        })
    }
}

impl Inner {
    pub(super) async fn unsubscribe(&self, server: &Arc<Server>, uri: &str, caller: &Caller) {
        let last = {
            let mut state = server.state();
            let Some(who) = state.subscriptions.get_mut(uri) else { return };
            who.remove(caller);
            let last = who.is_empty();
            if last {
                state.subscriptions.remove(uri);
            }
            last
        };
        if let Some(session) = server.session().filter(|_| last)
            && let Err(error) = session.unsubscribe(uri, session::RequestOptions::default()).await
        {
            tracing::debug!(server = %server.id, %error, "an unsubscribe was not answered");
        }
    }

    pub(super) async fn unsubscribe_all(&self, server: &Arc<Server>, caller: &Caller) {
        let uris: Vec<String> = {
            let state = server.state();
            state.subscriptions.iter().filter(|(_, who)| who.contains(caller)).map(|(uri, _)| uri.clone()).collect()
        };
        for uri in uris {
            self.unsubscribe(server, &uri, caller).await;
        }
    }
}

fn check_uri(uri: &str) -> Result<()> {
    if uri.is_empty() || uri.len() > 8 * 1024 {
        return Err(Error::invalid_input("/uri", "`uri` must have 1 to 8,192 bytes"));
    }
    Ok(())
}

fn prompt_arguments(arguments: Option<json::Value>) -> Result<BTreeMap<String, String>> {
    let object = match arguments {
        None | Some(json::Value::Null) => return Ok(BTreeMap::new()),
        Some(json::Value::Object(object)) => object,
        Some(_) => return Err(Error::invalid_input("/arguments", "`arguments` must be an object of texts")),
    };
    let mut texts = BTreeMap::new();
    for (name, value) in object.iter() {
        match value {
            json::Value::String(text) => texts.insert(name.to_owned(), text.clone()),
            _ => {
                let path = format!("/arguments/{}", json::escape_segment(name));
                return Err(Error::invalid_input(path, format!("the argument `{name}` of a prompt must be a text")));
            }
        };
    }
    Ok(texts)
}
