//! Servers by id, and the one way to them.
//!
//! Everything that anybody asks of a server goes through [`Host`]: it looks the server up, decides (`policy`), asks
//! (`approval`), writes it down (`audit`) and only then hands an `Approved` to the `session`. The page, the agent, other
//! MCP clients, the command line and the settings window are callers of the same methods.

mod admin;
mod build;
mod call;
mod connect;
mod flight;
mod list;
mod look;
mod request;
mod rulebook;
mod server;
mod settle;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use tokio::sync::{broadcast, watch};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};
use zeroize::Zeroizing;

use self::{
    connect::{InFlight, Want},
    rulebook::Rulebook,
    server::Server,
};

pub use admin::{Admin, GrantTarget, NewRule, ServerChange};
pub use build::HostBuilder;

use crate::{
    approval::queue::Queue,
    audit::AuditLog,
    clock::Clock,
    config::SystemEnvironment,
    error::{Audience, Error, Result},
    event::{HostEvent, ProgressSink},
    model::{
        CallId, Caller, CallerKind, PromptSummary, ResourceSummary, ResourceTemplateSummary, ServerId, ServerStatus,
        ToolSummary, json,
    },
    session::Processes,
    store::{Folders, MasterKey, Secrets},
};

/// How long the ends of all servers may take: stdin closed, SIGTERM, SIGKILL, and some room.
const LONGEST_END: Duration = Duration::from_secs(10);

/// How long the requests under way may take to write down their end.
const LONGEST_LAST_WORDS: Duration = Duration::from_secs(2);

/// Requests that the scripts of the page may have under way.
const PAGE_CALLS: usize = 64;

/// Which program this host lives in; names the run's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The desktop application.
    App,
    /// One command of `mcp-host`.
    Cli,
    /// `mcp-host serve`.
    Serve,
}

/// A tool call as it is asked for.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The server's id (or key, where that is unambiguous).
    pub server: String,
    /// The tool's own name.
    pub tool: String,
    /// Absent or null = `{}`.
    pub arguments: Option<json::Value>,
    /// From [`Host::request_approval`].
    pub approval_token: Option<String>,
}

/// How a request is to be made.
#[derive(Default)]
pub struct RequestOptions {
    /// Bounds connect (where needed), list and call together; can only shorten. Waiting for a person does not count.
    pub timeout: Option<Duration>,
    /// Cancels it.
    pub cancel: CancellationToken,
    /// Where its progress goes.
    pub progress: Option<ProgressSink>,
    /// The caller's own id for it; else one is made.
    pub call_id: Option<CallId>,
}

/// A token for exactly one call.
#[derive(Clone, serde::Serialize, specta::Type)]
#[serde(rename = "McpApproval", rename_all = "camelCase")]
pub struct Approval {
    /// 128 random bits; single use.
    pub approval_token: String,
    /// RFC 3339.
    pub expires_at: String,
}

/// The host. Cheap to clone.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

/// What all clones of a [`Host`] share.
pub(crate) struct Inner {
    /// Which program this is.
    origin: Origin,
    clock: Arc<dyn Clock>,
    /// The product's folder.
    folders: Folders,
    /// Every configured server by id. The lock is held for a look-up, never across a wait.
    servers: RwLock<BTreeMap<ServerId, Arc<Server>>>,
    /// What is wrong with servers.json as a whole; the last good state goes on.
    config_problem: Mutex<Option<Error>>,
    /// Rules, pins, confirmations, modes; tokens and what lives in memory only.
    rulebook: Rulebook,
    /// The one dialog and the line before it.
    queue: Queue,
    /// The log. A call that cannot be written to it is not sent.
    log: AuditLog,
    /// The master key: verifying the log.
    key: MasterKey,
    /// Derived from it once: fingerprints are made for every decision.
    fingerprint_key: Zeroizing<[u8; 32]>,
    /// Where commands are looked for: the login shell's PATH.
    environment: SystemEnvironment,
    /// `${secret:…}`.
    secrets: Arc<Secrets>,
    /// The children of this process, and the watchdog over them; started with the first one.
    processes: tokio::sync::OnceCell<Processes>,
    /// When pages and models asked to connect, on the monotonic clock, the last minute of it.
    connect_asks: Mutex<Vec<Duration>>,
    /// Calls under way by caller and id, so that a caller can take its own back.
    calls: Mutex<HashMap<(Caller, CallId), CancellationToken>>,
    /// Live events.
    events: broadcast::Sender<HostEvent>,
    /// Something that a decision rests on may have changed.
    changed: watch::Sender<u64>,
    /// The person paused everything that is not their own.
    paused: std::sync::atomic::AtomicBool,
    /// Cancelled by [`Host::shutdown`].
    closing: CancellationToken,
    /// Starts and ends of servers that are under way: a shutdown waits for them, so that no process is left.
    ending: TaskTracker,
    /// Requests under way: a shutdown waits for them, so that the log has the end of each.
    requests: TaskTracker,
}

impl Host {
    /// Begins a host over the product's folder, or over `config_dir` (`--config-dir`).
    pub fn builder(origin: Origin, config_dir: Option<std::path::PathBuf>) -> HostBuilder {
        HostBuilder::new(origin, config_dir)
    }

    /// Live events.
    pub fn events(&self) -> broadcast::Receiver<HostEvent> {
        self.0.events.subscribe()
    }

    /// What only a person may do. The plugin hands this to the settings window alone.
    pub fn admin(&self) -> Admin {
        Admin::new(self.clone())
    }

    /// Ends every server and closes the log (`run_completed`). Idempotent.
    pub async fn shutdown(&self) {
        self.0.closing.cancel();
        self.0.calls().values().for_each(CancellationToken::cancel);
        let servers: Vec<_> = self.0.servers().values().cloned().collect();
        for server in servers {
            let session = server.state().stop();
            if let Some(session) = session {
                self.0.close_behind(&server, session);
            }
        }
        // All at once: the slowest one's few seconds are the whole of it. What still starts is cancelled and ends too.
        self.0.ending.close();
        tokio::select! {
            () = self.0.ending.wait() => {}
            () = self.0.clock.sleep(LONGEST_END) => tracing::warn!("a server did not end in time"),
        }
        // Each of them writes down how it ended. One that nobody polls any more must not hold this up.
        self.0.requests.close();
        tokio::select! {
            () = self.0.requests.wait() => {}
            () = self.0.clock.sleep(LONGEST_LAST_WORDS) => tracing::warn!("a request did not end in time"),
        }
        let inner = self.0.clone();
        // A few syncs of the disk.
        let close = move || inner.rulebook.keep_uses().and(inner.log.close());
        if let Err(error) = tokio::task::spawn_blocking(close).await.unwrap_or_else(|error| Err(Error::internal(error)))
        {
            tracing::warn!(%error, "the audit log could not be ended cleanly");
        }
    }

    /// All configured servers, invalid entries included, by id.
    pub fn list_servers(&self, audience: Audience) -> Vec<ServerStatus> {
        let servers: Vec<_> = self.0.servers().values().cloned().collect();
        servers.iter().map(|server| self.0.status(server, audience)).collect()
    }

    /// Why servers.json as it stands now cannot be used; what was read before, if anything, goes on.
    pub fn config_problem(&self) -> Option<Error> {
        self.0.config_problem()
    }

    /// One server.
    pub fn server_status(&self, server: &str, audience: Audience) -> Result<ServerStatus> {
        Ok(self.0.status(&self.0.server(server)?, audience))
    }

    /// Connects and takes a hold for `caller`.
    ///
    /// # Errors
    ///
    /// `server_not_found`, `config_invalid`, `server_disabled`, `server_unapproved`, `launch_failed`, `rate_limited`.
    pub async fn connect_server(&self, server: &str, caller: &Caller, options: RequestOptions) -> Result<ServerStatus> {
        let server = self.0.server(server)?;
        let call = self.0.enter(caller, &options)?;
        let _in_flight = InFlight::enter(&self.0, &server);
        self.0
            .limited(
                &options,
                &format!("connecting `{}`", server.id),
                self.0.connect(&server, Want::Connect(caller.kind()), call.cancel()),
            )
            .await?;
        {
            let mut state = server.state();
            // A document that is gone meanwhile holds nothing.
            if call.cancel().is_cancelled() {
                return Err(Error::Cancelled {
                    server: Some(server.id.clone()),
                    what: format!("connecting `{}`", server.id),
                    sent: false,
                });
            }
            state.holds.insert(caller.clone());
        }
        Ok(self.0.status(&server, audience_of(caller)))
    }

    /// Releases the caller's hold; the process ends when nobody holds it and nothing is in flight. What the person
    /// disconnects (settings window, command line) ends for everybody.
    pub async fn disconnect_server(&self, server: &str, caller: &Caller) -> Result<()> {
        let server = self.0.server(server)?;
        let everybody = matches!(caller.kind(), CallerKind::Settings | CallerKind::Cli);
        self.0.release(&server, caller, everybody).await;
        Ok(())
    }

    /// The tools, with what `caller` would meet. Of a server that is not connected: the last known ones of this run.
    pub async fn list_tools(&self, server: &str, caller: &Caller, options: RequestOptions) -> Result<Vec<ToolSummary>> {
        let server = self.0.server(server)?;
        let call = self.0.enter(caller, &options)?;
        let _in_flight = InFlight::list(&self.0, &server);
        let list = self.0.limited(&options, &listing(&server), self.0.tools(&server, caller, call.cancel())).await?;
        list.items.iter().map(|tool| self.0.tool_summary(&server, tool, caller)).collect()
    }

    /// The resources.
    pub async fn list_resources(
        &self,
        server: &str,
        caller: &Caller,
        options: RequestOptions,
    ) -> Result<Vec<ResourceSummary>> {
        let server = self.0.server(server)?;
        let call = self.0.enter(caller, &options)?;
        let _in_flight = InFlight::list(&self.0, &server);
        let list =
            self.0.limited(&options, &listing(&server), self.0.resources(&server, caller, call.cancel())).await?;
        Ok(list.items.clone())
    }

    /// The resource templates.
    pub async fn list_resource_templates(
        &self,
        server: &str,
        caller: &Caller,
        options: RequestOptions,
    ) -> Result<Vec<ResourceTemplateSummary>> {
        let server = self.0.server(server)?;
        let call = self.0.enter(caller, &options)?;
        let _in_flight = InFlight::list(&self.0, &server);
        let list =
            self.0.limited(&options, &listing(&server), self.0.templates(&server, caller, call.cancel())).await?;
        Ok(list.items.clone())
    }

    /// The prompts.
    pub async fn list_prompts(
        &self,
        server: &str,
        caller: &Caller,
        options: RequestOptions,
    ) -> Result<Vec<PromptSummary>> {
        let server = self.0.server(server)?;
        let call = self.0.enter(caller, &options)?;
        let _in_flight = InFlight::list(&self.0, &server);
        let list = self.0.limited(&options, &listing(&server), self.0.prompts(&server, caller, call.cancel())).await?;
        Ok(list.items.clone())
    }

    /// A document is gone (reload, closed): its calls end, its tokens, holds and subscriptions are void.
    pub fn forget_document(&self, window: &str, document: u64) {
        let gone = Caller::Page { window: window.to_owned(), document };
        self.0.rulebook.forget(&gone);
        self.0.calls().iter().filter(|((caller, _), _)| *caller == gone).for_each(|(_, cancel)| cancel.cancel());
        self.0.queue.withdraw_where(|question| question.caller == gone);
        let held: Vec<_> = self.0.servers().values().filter(|server| server.state().concerns(&gone)).cloned().collect();
        for server in held {
            let (inner, gone) = (self.0.clone(), gone.clone());
            tokio::spawn(async move {
                inner.unsubscribe_all(&server, &gone).await;
                inner.release(&server, &gone, false).await;
            });
        }
    }

    /// Takes back a call of this caller by its id. Unknown ids are ignored.
    pub fn cancel_call(&self, caller: &Caller, call: &CallId) {
        if let Some(cancel) = self.0.calls().get(&(caller.clone(), call.clone())) {
            cancel.cancel();
        }
    }
}

impl Inner {
    fn servers(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<ServerId, Arc<Server>>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<(Caller, CallId), CancellationToken>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server by its id, or by its key where that names exactly one.
    fn server(&self, name: &str) -> Result<Arc<Server>> {
        let servers = self.servers();
        let by_id = ServerId::parse(name).ok().and_then(|id| servers.get(&id).cloned());
        if let Some(server) = by_id {
            return Ok(server);
        }
        let mut by_key = servers.values().filter(|server| server.config().key == name);
        match (by_key.next(), by_key.next()) {
            (Some(server), None) => Ok(server.clone()),
            // Whether it is there cannot be known while the file that would say so cannot be read.
            _ => Err(self
                .config_problem()
                .unwrap_or_else(|| Error::ServerNotFound { server: crate::approval::inert::line(name, 64) })),
        }
    }

    fn config_problem(&self) -> Option<Error> {
        self.config_problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn status(&self, server: &Arc<Server>, audience: Audience) -> ServerStatus {
        server.status(self.is_confirmed(&server.config()), audience)
    }

    fn emit(&self, event: HostEvent) {
        // Nobody listening is fine.
        let _ = self.events.send(event);
    }

    /// Definitions, fingerprints or rules may be others: whoever waits with a decision looks again.
    fn policy_has_changed(&self) {
        self.changed.send_modify(|count| *count += 1);
        self.emit(HostEvent::PolicyChanged);
    }

    /// `work` within the caller's own limit, which bounds it from here on.
    async fn limited<T>(
        &self,
        options: &RequestOptions,
        what: &str,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match options.timeout {
            None => work.await,
            Some(limit) => tokio::select! {
                outcome = work => outcome,
                () = self.clock.sleep(limit) => Err(Error::Timeout {
                    server: None,
                    what: what.to_owned(),
                    after_ms: u32::try_from(limit.as_millis()).unwrap_or(u32::MAX),
                    sent: false,
                }),
            },
        }
    }

    /// Enters a request into the list of calls under way.
    fn enter(self: &Arc<Self>, caller: &Caller, options: &RequestOptions) -> Result<Underway> {
        let id = match &options.call_id {
            Some(id) => id.clone(),
            None => CallId::random()?,
        };
        let cancel = options.cancel.child_token();
        let key = (caller.clone(), id);
        let mut calls = self.calls();
        // Under the lock, so that a shutdown finds this one or this one finds the shutdown.
        if self.closing.is_cancelled() {
            return Err(Error::internal("the host is shutting down"));
        }
        let of_page = |(caller, _): &&(Caller, CallId)| caller.kind() == CallerKind::Page;
        if caller.kind() == CallerKind::Page && calls.keys().filter(of_page).count() >= PAGE_CALLS {
            return Err(Error::RateLimited {
                server: None,
                message: format!("{PAGE_CALLS} requests of the page are under way already; wait for some of them"),
                retry_after_ms: None,
            });
        }
        if calls.contains_key(&key) {
            return Err(Error::invalid_input("/callId", "a call with this `callId` is under way already"));
        }
        calls.insert(key.clone(), cancel.clone());
        Ok(Underway { inner: self.clone(), key, cancel, _counted: self.requests.token() })
    }
}

/// A request under way; leaves the list when dropped.
pub(crate) struct Underway {
    inner: Arc<Inner>,
    key: (Caller, CallId),
    cancel: CancellationToken,
    _counted: TaskTrackerToken,
}

impl Underway {
    fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    fn id(&self) -> &CallId {
        &self.key.1
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.inner.calls().remove(&self.key);
    }
}

/// Who reads what this caller is told.
fn audience_of(caller: &Caller) -> Audience {
    match caller.kind() {
        CallerKind::Cli | CallerKind::Settings => Audience::Person,
        CallerKind::Page | CallerKind::Agent | CallerKind::Serve => Audience::Page,
    }
}

fn listing(server: &Server) -> String {
    format!("listing `{}`", server.id)
}
