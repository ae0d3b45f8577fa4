//! One configured server: its entry, its state machine, its last known lists.
//!
//! Data and small steps only, each under a short lock; what waits is in `connect` and `list`.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::flight::Flight;
use crate::{
    config::ServerConfig,
    error::{Audience, Error, Result},
    event::ListKind,
    model::{
        Caller, PromptSummary, ResourceSummary, ResourceTemplateSummary, ServerId, ServerState, ServerStatus,
        ToolDefinition,
    },
    session::{Handshake, Listed, LogLine, Output, Session},
};

/// The first pause before another automatic start; doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Automatic starts that may fail in a row before the person has to act.
const MOST_FAILURES: u32 = 6;
/// MCP log messages that are kept.
const MOST_LOGS: usize = 1_000;

/// A server.
#[derive(Debug)]
pub(super) struct Server {
    /// Its id.
    pub(super) id: ServerId,
    /// stderr and stdout noise of all its connections in this run.
    pub(super) output: Output,
    /// Connecting is single-flight.
    pub(super) connecting: Flight<Result<Arc<Session>>>,
    /// A connection has ended, and the state says so.
    pub(super) moved: tokio::sync::Notify,
    /// Its lists, each fetched by one at a time.
    pub(super) tools: List<ToolDefinition>,
    pub(super) resources: List<ResourceSummary>,
    pub(super) templates: List<ResourceTemplateSummary>,
    pub(super) prompts: List<PromptSummary>,
    /// The last known tools by name: looked up several times for each call.
    by_name: Mutex<Arc<HashMap<String, Arc<ToolDefinition>>>>,
    state: Mutex<State>,
}

/// What of a server changes.
#[derive(Debug)]
pub(super) struct State {
    pub(super) config: Arc<ServerConfig>,
    pub(super) phase: Phase,
    /// Who wants it connected.
    pub(super) holds: HashSet<Caller>,
    /// Requests under way.
    pub(super) in_flight: u32,
    pub(super) last_error: Option<Error>,
    pub(super) connected_at: Option<Timestamp>,
    /// Of the last connection.
    pub(super) handshake: Option<Handshake>,
    /// It was connected and ended by itself: the next call starts it again.
    pub(super) crashed: bool,
    pub(super) back_off: BackOff,
    /// The last connect requests from pages and models, on the monotonic clock.
    pub(super) asked_at: Option<Duration>,
    /// MCP log messages with the time they came.
    pub(super) logs: std::collections::VecDeque<(Timestamp, LogLine)>,
    /// Calls at the same time; `None` = unlimited.
    pub(super) slots: Option<Arc<Semaphore>>,
    /// Which lists are being fetched anew.
    pub(super) refreshes: Refreshes,
    /// Resource subscriptions: URI → who.
    pub(super) subscriptions: std::collections::BTreeMap<String, HashSet<Caller>>,
}

/// Where the connection stands.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// Not connected.
    Idle,
    /// On the way; cancelled by a disconnect of everybody.
    Connecting(CancellationToken),
    /// Connected.
    Connected(Arc<Session>),
    /// Not connected, and only the person starts it again.
    Failed,
}

/// When an automatic start may be tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BackOff {
    failures: u32,
    /// On the monotonic clock.
    not_before: Option<Duration>,
}

impl BackOff {
    /// Counts a failure. The first retry is free; after [`MOST_FAILURES`] there is none.
    pub(super) fn fail(&mut self, now: Duration) {
        self.failures += 1;
        let pause = FIRST_PAUSE.saturating_mul(1_u32 << self.failures.saturating_sub(2).min(6)).min(LONGEST_PAUSE);
        self.not_before = (self.failures > 1).then(|| now + pause);
    }

    /// Whether it is the person's turn.
    pub(super) fn is_exhausted(self) -> bool {
        self.failures > MOST_FAILURES
    }

    /// How long to wait still.
    pub(super) fn wait(self, now: Duration) -> Option<Duration> {
        self.not_before.and_then(|at| at.checked_sub(now)).filter(|rest| !rest.is_zero())
    }
}

/// Refreshes of the three kinds of list: at most one runs and one waits.
#[derive(Debug, Default)]
pub(super) struct Refreshes([Refresh; 3]);

#[derive(Debug, Default)]
struct Refresh {
    running: bool,
    again: bool,
    /// When the last one began, on the monotonic clock.
    last: Option<Duration>,
}

impl Refreshes {
    fn of(&mut self, kind: ListKind) -> &mut Refresh {
        let [tools, resources, prompts] = &mut self.0;
        match kind {
            ListKind::Tools => tools,
            ListKind::Resources => resources,
            ListKind::Prompts => prompts,
        }
    }

    /// Whether the caller is to run it; else the one that runs will do it again.
    pub(super) fn begin(&mut self, kind: ListKind) -> bool {
        let refresh = self.of(kind);
        refresh.again = true;
        !std::mem::replace(&mut refresh.running, true)
    }

    /// How long to wait before the next fetch.
    pub(super) fn rest(&mut self, kind: ListKind, now: Duration, pause: Duration) -> Duration {
        self.of(kind).last.and_then(|last| (last + pause).checked_sub(now)).unwrap_or_default()
    }

    pub(super) fn fetching(&mut self, kind: ListKind, now: Duration) {
        let refresh = self.of(kind);
        refresh.again = false;
        refresh.last = Some(now);
    }

    /// Whether it changed again meanwhile.
    pub(super) fn again(&mut self, kind: ListKind) -> bool {
        self.of(kind).again
    }

    pub(super) fn end(&mut self, kind: ListKind) {
        self.of(kind).running = false;
    }
}

/// A last known list.
#[derive(Debug)]
pub(super) struct List<T> {
    pub(super) flight: Flight<Arc<super::list::Fetched<T>>>,
    last: Mutex<Known<T>>,
}

#[derive(Debug)]
struct Known<T> {
    items: Option<Arc<Listed<T>>>,
    /// The connection that it is of; `None` = the server said that it changed.
    of: Option<u64>,
    /// How often the server said that it changed.
    changes: u64,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { flight: Flight::default(), last: Mutex::new(Known { items: None, of: None, changes: 0 }) }
    }
}

impl<T> List<T> {
    /// The last known items, of whatever connection.
    pub(super) fn last(&self) -> Option<Arc<Listed<T>>> {
        self.known().items.clone()
    }

    /// The items, if they are of that connection and the server has not said that they changed.
    pub(super) fn fresh(&self, generation: u64) -> Option<Arc<Listed<T>>> {
        let known = self.known();
        known.items.clone().filter(|_| known.of == Some(generation))
    }

    /// How often the server has said that it changed.
    pub(super) fn changes(&self) -> u64 {
        self.known().changes
    }

    /// Keeps a new list, which was asked for after so many changes; returns the one before.
    pub(super) fn keep(&self, items: Arc<Listed<T>>, generation: u64, changes: u64) -> Option<Arc<Listed<T>>> {
        let mut known = self.known();
        // What changed while it was fetched may be missing in it.
        known.of = Some(generation).filter(|_| known.changes == changes);
        known.items.replace(items)
    }

    /// The server says that it changed.
    pub(super) fn outdate(&self) {
        let mut known = self.known();
        known.of = None;
        known.changes += 1;
    }

    fn known(&self) -> MutexGuard<'_, Known<T>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    pub(super) fn new(config: Arc<ServerConfig>) -> Self {
        let slots = slots(&config);
        Self {
            id: config.id.clone(),
            output: Output::default(),
            connecting: Flight::default(),
            moved: tokio::sync::Notify::new(),
            tools: List::default(),
            resources: List::default(),
            templates: List::default(),
            prompts: List::default(),
            by_name: Mutex::default(),
            state: Mutex::new(State {
                config,
                phase: Phase::Idle,
                holds: HashSet::new(),
                in_flight: 0,
                last_error: None,
                connected_at: None,
                handshake: None,
                crashed: false,
                back_off: BackOff::default(),
                asked_at: None,
                logs: std::collections::VecDeque::new(),
                slots,
                refreshes: Refreshes::default(),
                subscriptions: std::collections::BTreeMap::new(),
            }),
        }
    }

    /// The state, for a moment: never across a wait.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Valid after every statement, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tool of that name as the server defines it now.
    pub(super) fn tool(&self, name: &str) -> Option<Arc<ToolDefinition>> {
        let by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner).clone();
        by_name.get(name).cloned()
    }

    pub(super) fn index_tools(&self, list: &Listed<ToolDefinition>) {
        let by_name = list.items.iter().map(|tool| (tool.name.clone(), Arc::new(tool.clone()))).collect();
        *self.by_name.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(by_name);
    }

    /// Its entry as it stands.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        self.state().config.clone()
    }

    /// The open connection, if there is one.
    pub(super) fn session(&self) -> Option<Arc<Session>> {
        match &self.state().phase {
            Phase::Connected(session) if session.is_open() => Some(session.clone()),
            _ => None,
        }
    }

    /// Ends when no end of a connection and no start that was called off is still under way: what is decided then rests
    /// on what happened, not on what is about to be noticed.
    pub(super) async fn settled(&self) {
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            moved.as_mut().enable();
            let phase = self.state().phase.clone();
            match phase {
                Phase::Connected(session) if !session.is_open() => moved.await,
                Phase::Connected(_) | Phase::Connecting(_) => return,
                Phase::Idle | Phase::Failed => return self.connecting.landed().await,
            }
        }
    }

    /// Another entry under the same id. Returns the connection that must end because of it.
    pub(super) fn reconfigure(&self, config: Arc<ServerConfig>) -> Option<Arc<Session>> {
        let mut state = self.state();
        let ends = !config.enabled || config.launch.as_ref().ok() != state.config.launch.as_ref().ok();
        if state.config.limits.max_concurrency != config.limits.max_concurrency {
            state.slots = slots(&config);
        }
        state.config = config;
        if !ends {
            return None;
        }
        state.last_error = None;
        state.back_off = BackOff::default();
        state.crashed = false;
        state.stop()
    }

    /// The list changed, says the server.
    pub(super) fn outdate(&self, kind: ListKind) {
        match kind {
            ListKind::Tools => self.tools.outdate(),
            ListKind::Resources => {
                self.resources.outdate();
                self.templates.outdate();
            }
            ListKind::Prompts => self.prompts.outdate(),
        }
    }

    /// What anybody may see of it. `confirmed`: its launch is the one that the person confirmed.
    pub(super) fn status(&self, confirmed: bool, audience: Audience) -> ServerStatus {
        let state = self.state();
        let config = &state.config;
        let connected = matches!(&state.phase, Phase::Connected(session) if session.is_open());
        let last_error = match &config.launch {
            Err(error) => Some(error),
            Ok(_) => state.last_error.as_ref(),
        };
        let machine = match (&config.launch, &state.phase) {
            (Err(_), _) => ServerState::Failed,
            _ if !config.enabled => ServerState::Disabled,
            _ if connected => ServerState::Connected,
            (_, Phase::Connecting(_)) => ServerState::Connecting,
            _ if !confirmed => ServerState::NeedsApproval,
            _ if matches!(last_error, Some(Error::AuthRequired { .. })) => ServerState::NeedsAuth,
            (_, Phase::Failed) => ServerState::Failed,
            _ => ServerState::Disconnected,
        };
        let handshake = state.handshake.as_ref();
        let mut capabilities = handshake.map(|shake| shake.capabilities.clone()).unwrap_or_default();
        if handshake.is_some() {
            capabilities.sampling = Some(false);
        }
        let mut diagnostics: Vec<String> = handshake.map(|shake| shake.diagnostics.clone()).unwrap_or_default();
        diagnostics.extend(self.list_diagnostics());
        if audience == Audience::Person {
            diagnostics.extend(config.warnings.iter().map(|warning| format!("{}: {}", warning.path, warning.message)));
        }
        ServerStatus {
            id: self.id.clone(),
            display_name: config.display_name.clone(),
            transport: config.transport,
            enabled: config.enabled,
            connected,
            capabilities,
            state: machine,
            protocol_version: handshake.map(|shake| shake.protocol_version.clone()),
            server_info: handshake.and_then(|shake| shake.server_info.clone()),
            instructions: handshake.and_then(|shake| shake.instructions.clone()),
            connected_at: state.connected_at.filter(|_| connected).map(|at| at.to_string()),
            last_error: last_error.filter(|_| !connected).map(|error| error.info(audience)),
            diagnostics: (!diagnostics.is_empty()).then_some(diagnostics),
        }
    }

    fn list_diagnostics(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut add = |diagnostics: Option<Vec<String>>| all.extend(diagnostics.unwrap_or_default());
        add(self.tools.last().map(|list| list.diagnostics.clone()));
        add(self.resources.last().map(|list| list.diagnostics.clone()));
        add(self.templates.last().map(|list| list.diagnostics.clone()));
        add(self.prompts.last().map(|list| list.diagnostics.clone()));
        all
    }
}

impl State {
    /// Not connected from now on; whoever holds it no longer does. Returns the connection to close.
    pub(super) fn stop(&mut self) -> Option<Arc<Session>> {
        self.holds.clear();
        self.subscriptions.clear();
        self.connected_at = None;
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Connected(session) => Some(session),
            Phase::Connecting(cancel) => {
                cancel.cancel();
                None
            }
            phase @ (Phase::Idle | Phase::Failed) => {
                self.phase = phase;
                None
            }
        }
    }

    /// Whether that caller holds it or is subscribed to something of it.
    pub(super) fn concerns(&self, caller: &Caller) -> bool {
        self.holds.contains(caller) || self.subscriptions.values().any(|who| who.contains(caller))
    }

    /// Keeps a log message of the server, the newest thousand.
    pub(super) fn keep_log(&mut self, at: Timestamp, line: LogLine) {
        if self.logs.len() == MOST_LOGS {
            self.logs.pop_front();
        }
        self.logs.push_back((at, line));
    }
}

fn slots(config: &ServerConfig) -> Option<Arc<Semaphore>> {
    config.limits.max_concurrency.map(|most| Arc::new(Semaphore::new(most.max(1) as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_restart_is_free_then_the_pauses_double_up_to_a_minute_then_it_is_over() {
        let mut back_off = BackOff::default();
        let now = Duration::from_secs(100);
        let mut pauses = Vec::new();
        while !back_off.is_exhausted() {
            back_off.fail(now);
            pauses.push(back_off.wait(now).unwrap_or_default().as_secs());
        }
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32]);
        assert_eq!(back_off.wait(now + Duration::from_secs(33)), None);
    }
}
