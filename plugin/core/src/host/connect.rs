//! Getting a server connected and keeping it so: one start for everybody, the confirmed launch and no other, honest
//! failures, pauses between restarts, and an end when nobody holds it any more.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    Inner,
    server::{Phase, Server, State},
};
use crate::{
    audit::Event,
    config::{self, Resolved},
    error::{Audience, Error, Result},
    event::HostEvent,
    model::{Caller, CallerKind},
    session::{Closed, Connect, Events, Session, SessionEvent, output::Mask},
};

/// Between two connect requests of pages and models for one server.
const ASK_PAUSE: Duration = Duration::from_secs(5);
/// Connect requests of pages and models in a minute, all servers together.
const ASKS_A_MINUTE: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);

/// Why a connection is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// `connectServer` of this kind of caller.
    Connect(CallerKind),
    /// A request of this kind of caller that needs the connection. For a page only a crashed one is restarted.
    Use(CallerKind),
    /// A list. For a page and the settings window nothing is started.
    List(CallerKind),
}

impl Inner {
    /// The open connection, or one that is started where `want` may start it.
    pub(super) async fn connect(
        self: &Arc<Self>,
        server: &Arc<Server>,
        want: Want,
        cancel: &CancellationToken,
    ) -> Result<Arc<Session>> {
        let config = server.config();
        config.launch()?;
        if !config.enabled {
            return Err(Error::ServerDisabled { server: server.id.clone() });
        }
        tokio::select! {
            () = server.settled() => {}
            () = cancel.cancelled() => return Err(cancelled(server)),
        }
        if let Some(session) = server.session() {
            return Ok(session);
        }
        if let Err(error @ Error::ServerUnapproved { .. }) = self.confirmed_launch(&config) {
            // The person themself is asked; anybody else is told.
            let by = match want {
                Want::Connect(CallerKind::Settings) => Caller::Settings,
                Want::Connect(CallerKind::Cli) | Want::Use(CallerKind::Cli) | Want::List(CallerKind::Cli) => {
                    Caller::Cli
                }
                _ => return Err(error),
            };
            if !self.queue.is_present() {
                return Err(error);
            }
            self.confirm_and_record(server, &by, None).await?;
        }
        self.may_start(server, want)?;
        let (inner, of) = (self.clone(), server.clone());
        let run = server.connecting.join(|| {
            // Before its task first runs, so that whoever stops the server meanwhile stops this.
            let cancel = inner.closing.child_token();
            of.state().phase = Phase::Connecting(cancel.clone());
            inner.ending.clone().track_future(inner.start(of, cancel))
        });
        tokio::select! {
            outcome = run => outcome.unwrap_or_else(|| Err(Error::internal("the task that connects ended"))),
            () = cancel.cancelled() => Err(cancelled(server)),
        }
    }

    fn may_start(&self, server: &Server, want: Want) -> Result<()> {
        let now = self.clock.monotonic();
        let mut state = server.state();
        if let Phase::Connecting(_) = state.phase {
            return Ok(());
        }
        match want {
            Want::Connect(CallerKind::Cli | CallerKind::Settings)
            | Want::Use(CallerKind::Cli)
            | Want::List(CallerKind::Cli) => {
                state.back_off = Default::default();
                Ok(())
            }
            Want::Connect(_) => {
                refuse_failed(server, &state)?;
                pause(server, &state, now)?;
                let last = state.asked_at.replace(now);
                drop(state);
                let limited = |message: String, rest: Duration| Error::RateLimited {
                    server: Some(server.id.clone()),
                    message,
                    retry_after_ms: u32::try_from(rest.as_millis()).ok(),
                };
                if let Some(rest) =
                    last.and_then(|last| (last + ASK_PAUSE).checked_sub(now)).filter(|rest| !rest.is_zero())
                {
                    return Err(limited(
                        format!("server `{}` may be asked to connect every 5 s; wait a moment", server.id),
                        rest,
                    ));
                }
                let mut asks = self.connect_asks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                asks.retain(|at| now.saturating_sub(*at) < MINUTE);
                if asks.len() >= ASKS_A_MINUTE {
                    return Err(limited("more than 10 connect requests in a minute; wait a moment".to_owned(), MINUTE));
                }
                asks.push(now);
                Ok(())
            }
            Want::Use(kind) if state.crashed || matches!(kind, CallerKind::Agent | CallerKind::Serve) => {
                refuse_failed(server, &state)?;
                pause(server, &state, now)
            }
            Want::List(CallerKind::Agent | CallerKind::Serve) => {
                refuse_failed(server, &state)?;
                pause(server, &state, now)
            }
            Want::Use(_) | Want::List(_) => match (&state.phase, &state.last_error) {
                (Phase::Failed, Some(error)) => Err(error.clone()),
                _ => Err(Error::NotConnected { server: server.id.clone() }),
            },
        }
    }

    /// One start: launch, shake hands, keep. Runs in a task of its own.
    async fn start(self: Arc<Self>, server: Arc<Server>, cancel: CancellationToken) -> Result<Arc<Session>> {
        self.status_changed(&server);
        let outcome = self.launch(&server, cancel.clone()).await;
        let outcome = {
            let mut state = server.state();
            match outcome {
                // Everybody let go of it meanwhile, or the entry changed.
                Ok((session, _)) if cancel.is_cancelled() => {
                    self.ending.spawn(async move { session.close().await });
                    Err(cancelled(&server))
                }
                Ok((session, events)) => {
                    let session = Arc::new(session);
                    state.phase = Phase::Connected(session.clone());
                    state.handshake = Some(session.handshake().clone());
                    state.connected_at = Some(self.clock.now());
                    state.last_error = None;
                    let of = server.clone();
                    tokio::spawn(self.clone().listen(of, session.clone(), events));
                    Ok(session)
                }
                Err(error) => {
                    if !cancel.is_cancelled() {
                        state.back_off.fail(self.clock.monotonic());
                        // A restart after a crash is tried again later; a start that a person or a page asked for is not.
                        state.phase =
                            if state.crashed && !state.back_off.is_exhausted() { Phase::Idle } else { Phase::Failed };
                        state.last_error = Some(error.clone());
                    }
                    Err(error)
                }
            }
        };
        match &outcome {
            Ok(session) => {
                let shake = session.handshake();
                self.note(&Event::server_connected(&server.id, &shake.protocol_version, shake.server_info.as_ref()));
                self.refresh_after_connect(&server, session);
            }
            Err(error) => self.note(&Event::server_failed(&server.id, error)),
        }
        self.status_changed(&server);
        outcome
    }

    async fn launch(&self, server: &Arc<Server>, cancel: CancellationToken) -> Result<(Session, Events)> {
        let config = server.config();
        // What was confirmed is what is launched: the snapshot, not the file.
        let launch = self.confirmed_launch(&config)?;
        self.note(&Event::server_connecting(&server.id, launch.transport()));
        let environment = self.environment.snapshot().await;
        let (secrets, id) = (self.secrets.clone(), server.id.clone());
        let resolved = tokio::task::spawn_blocking(move || config::resolve(&id, &launch, &environment, &*secrets))
            .await
            .map_err(Error::internal)??;
        let Resolved::Stdio(resolved) = resolved else {
            return Err(Error::TransportUnsupported {
                server: server.id.clone(),
                transport: config.transport.as_str().to_owned(),
            });
        };
        let redactor = self.log.redactor().clone();
        redactor.learn(resolved.secrets.iter().map(|secret| secret.expose()));
        let mask: Mask = Arc::new(move |text| redactor.mask(text).into_owned());
        let connect = Connect::stdio(server.id.clone(), resolved, self.processes().await?)
            .timeout(config.connect_limit())
            .cancel(cancel)
            .output(server.output.clone())
            .mask(mask);
        Session::connect(connect).await
    }

    /// Everything that one connection says unasked, until it ends.
    async fn listen(self: Arc<Self>, server: Arc<Server>, session: Arc<Session>, events: Events) {
        let closed = self.hear(&server, &session, events).await;
        self.ended(&server, &session, closed).await;
        server.moved.notify_waiters();
    }

    async fn hear(self: &Arc<Self>, server: &Arc<Server>, session: &Arc<Session>, mut events: Events) -> Closed {
        while let Some(event) = events.next().await {
            match event {
                SessionEvent::ListChanged(kind) => {
                    server.outdate(kind);
                    self.refresh(server, session, kind);
                }
                SessionEvent::ResourceUpdated(uri) => self.resource_updated(server, uri),
                SessionEvent::UpdatesDropped(_) => {
                    let all: Vec<String> = server.state().subscriptions.keys().cloned().collect();
                    all.into_iter().for_each(|uri| self.resource_updated(server, uri));
                }
                SessionEvent::Log(line) => server.state().keep_log(self.clock.now(), line),
                SessionEvent::LogsDropped(count) => tracing::debug!(server = %server.id, count, "log messages dropped"),
                SessionEvent::Closed(closed) => return closed,
            }
        }
        session.closed().await
    }

    async fn ended(&self, server: &Arc<Server>, session: &Arc<Session>, closed: Closed) {
        {
            let mut state = server.state();
            if !matches!(&state.phase, Phase::Connected(now) if now.generation() == session.generation()) {
                return;
            }
            state.phase = Phase::Idle;
            if !closed.requested {
                state.crashed = true;
                // Long enough alive: the next crash is a first one again.
                let now = self.clock.monotonic();
                let lived = state.connected_at.map(|at| self.clock.now().duration_since(at).unsigned_abs());
                if lived.is_some_and(|lived| lived > MINUTE) {
                    state.back_off = Default::default();
                }
                state.back_off.fail(now);
                if state.back_off.is_exhausted() {
                    state.phase = Phase::Failed;
                }
                state.last_error = Some(crash(server, &closed));
            }
            state.connected_at = None;
        }
        self.note(&Event::server_disconnected(&server.id, closed.requested, closed.exit.map(|exit| exit.code)));
        self.status_changed(server);
    }

    /// Releases the caller's hold, or all of them where the person wants it down; ends the connection nobody needs.
    pub(super) async fn release(self: &Arc<Self>, server: &Arc<Server>, caller: &Caller, everybody: bool) {
        let ending = {
            let mut state = server.state();
            state.holds.remove(caller);
            for subscribers in state.subscriptions.values_mut() {
                subscribers.remove(caller);
            }
            state.subscriptions.retain(|_, subscribers| !subscribers.is_empty());
            if everybody || (state.holds.is_empty() && state.in_flight == 0) {
                state.crashed = false;
                state.stop()
            } else {
                None
            }
        };
        if let Some(session) = ending {
            self.close(server, session).await;
        }
        self.status_changed(server);
    }

    /// Ends a connection that is out of the state machine already, and writes it down.
    pub(super) async fn close(&self, server: &Server, session: Arc<Session>) {
        let closed = session.close().await;
        self.note(&Event::server_disconnected(&server.id, true, closed.exit.map(|exit| exit.code)));
    }

    /// The same in the background; a shutdown waits for it.
    pub(super) fn close_behind(self: &Arc<Self>, server: &Arc<Server>, session: Arc<Session>) {
        let (inner, server) = (self.clone(), server.clone());
        self.ending.spawn(async move {
            inner.close(&server, session).await;
            inner.status_changed(&server);
        });
    }

    pub(super) fn status_changed(&self, server: &Server) {
        let status = server.status(self.is_confirmed(&server.config()), Audience::Person);
        self.emit(HostEvent::ServerStatusChanged(Box::new(status)));
    }

    fn resource_updated(&self, server: &Server, uri: String) {
        if server.state().subscriptions.contains_key(&uri) {
            self.emit(HostEvent::ResourceUpdated(crate::model::ResourceChange { server_id: server.id.clone(), uri }));
        }
    }
}

/// A request under way, from before it is connected to its end: the connection is not ended for want of holds meanwhile.
pub(super) struct InFlight {
    inner: Arc<Inner>,
    server: Arc<Server>,
    /// The connection was nobody's when this began, and is left as it was found.
    leaves: bool,
}

impl InFlight {
    /// A request that needs the connection for itself.
    pub(super) fn enter(inner: &Arc<Inner>, server: &Arc<Server>) -> Self {
        server.state().in_flight += 1;
        Self { inner: inner.clone(), server: server.clone(), leaves: false }
    }

    /// A list, which a call is likely to follow.
    pub(super) fn list(inner: &Arc<Inner>, server: &Arc<Server>) -> Self {
        let leaves = {
            let mut state = server.state();
            state.in_flight += 1;
            state.in_flight == 1 && state.holds.is_empty()
        };
        Self { inner: inner.clone(), server: server.clone(), leaves }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let ending = {
            let mut state = self.server.state();
            state.in_flight = state.in_flight.saturating_sub(1);
            if state.in_flight == 0 && state.holds.is_empty() && !self.leaves { state.stop() } else { None }
        };
        if let Some(session) = ending {
            self.inner.close_behind(&self.server, session);
        }
    }
}

fn cancelled(server: &Server) -> Error {
    Error::Cancelled { server: Some(server.id.clone()), what: format!("connecting `{}`", server.id), sent: false }
}

fn refuse_failed(server: &Server, state: &State) -> Result<()> {
    match (&state.phase, &state.last_error) {
        (Phase::Failed, Some(error)) => Err(error.clone()),
        (Phase::Failed, None) => Err(Error::NotConnected { server: server.id.clone() }),
        _ => Ok(()),
    }
}

fn pause(server: &Server, state: &State, now: Duration) -> Result<()> {
    match state.back_off.wait(now) {
        Some(rest) => Err(Error::RateLimited {
            server: Some(server.id.clone()),
            message: format!(
                "server `{}` ended by itself; it may be started again in {} s",
                server.id,
                rest.as_secs() + 1
            ),
            retry_after_ms: u32::try_from(rest.as_millis()).ok(),
        }),
        None => Ok(()),
    }
}

fn crash(server: &Server, closed: &Closed) -> Error {
    let code = closed.exit.map(|exit| exit.code);
    let tail = server.output.stderr_tail();
    let tail: Vec<String> = tail.iter().rev().take(20).rev().map(|line| line.text.clone()).collect();
    let how = match code {
        Some(code) => format!("exited with code {code}"),
        None => closed.reason.clone().unwrap_or_else(|| "closed the connection".to_owned()),
    };
    Error::LaunchFailed {
        server: server.id.clone(),
        reason: crate::error::LaunchReason::Exited,
        message: format!("server `{}` {how} while it was connected; the next call starts it again", server.id),
        exit_code: code,
        private: Box::new(crate::error::LaunchDetails { stderr_tail: tail, ..Default::default() }),
    }
}
