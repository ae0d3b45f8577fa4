//! Which answer belongs to which request.
//!
//! Between two neighbours that do not know each other: the *engine* (rmcp), which makes ids, shakes hands and answers the
//! server, and a *carrier* (`transport`), which moves whole messages. Both only call; nothing here waits for a server, so
//! neither can hold the other up. What the server says is handled in the order in which it was written: progress reaches
//! its request, and logs the events, before the answer that follows them.
//!
//! Bounded: requests by their callers' permits, the server's own questions by [`QUESTIONS`], everything else by the
//! events' own limits.

mod notification;
mod ticket;

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use bytes::Bytes;
use tokio::sync::Notify;

pub(super) use ticket::{Gate, Refusal, Ticket};

use super::{
    connect::Handshake,
    event::{Closed, EventSink},
    output::{Masks, Output},
    wire::{self, Id, Message, find::IdFinder, view, write},
};
use crate::model::Raw;

/// Questions of a server that may be open at once; more are not answered.
const QUESTIONS: usize = 64;
/// Bytes of a method's name that are kept.
const METHOD_KEPT: usize = 256;

/// What the engine is told.
#[derive(Debug)]
pub(super) enum Signal {
    /// The handshake was answered, in a revision that is known.
    Welcomed { id: i64, protocol_version: String },
    /// A request of ours is over; its answer went to its ticket.
    Settled(i64),
    /// The server asks something.
    Asked { id: Id, method: String },
}

/// What a carrier is to write.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// One JSON-RPC message, without a line's end.
    pub(super) bytes: Bytes,
}

#[derive(Debug)]
enum Queued {
    Request { id: i64, meta: Vec<u8>, ticket: Arc<Ticket> },
    Plain(Bytes),
    Reply(Bytes),
}

/// How the handshake went.
#[derive(Clone, Debug)]
enum Welcome {
    NotAsked,
    Asked(i64),
    Done(Box<Handshake>),
    /// Why there is none, in words.
    Failed(String),
}

/// Shared by the engine, the carrier and the session; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Exchange(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Something to write.
    to_write: Notify,
    /// Something to tell the engine.
    to_tell: Notify,
    events: EventSink,
    output: Output,
    mask: Masks,
    ended: OnceLock<Closed>,
}

struct State {
    /// Requests of ours that have no answer yet.
    open: HashMap<i64, Arc<Ticket>>,
    outbox: VecDeque<Queued>,
    signals: VecDeque<Signal>,
    /// Questions that came before the handshake was over: the engine answers only pings until then.
    early: Vec<Signal>,
    /// Questions of the server that have no answer yet.
    questions: usize,
    welcome: Welcome,
    /// What is queued is still written, and nothing is added.
    winding_down: bool,
}

impl Exchange {
    pub(super) fn new(events: EventSink, output: Output, mask: Masks) -> Self {
        let state = State {
            open: HashMap::new(),
            outbox: VecDeque::new(),
            signals: VecDeque::new(),
            early: Vec::new(),
            questions: 0,
            welcome: Welcome::NotAsked,
            winding_down: false,
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            to_write: Notify::new(),
            to_tell: Notify::new(),
            events,
            output,
            mask,
            ended: OnceLock::new(),
        }))
    }

    // ── The engine's side ──

    /// Queues the handshake.
    pub(super) fn greet(&self, id: i64, bytes: Bytes) {
        let mut state = self.state();
        state.welcome = Welcome::Asked(id);
        self.queue(state, Queued::Plain(bytes));
    }

    /// Queues a request under the engine's id.
    pub(super) fn submit(&self, id: i64, meta: Vec<u8>, ticket: Arc<Ticket>) {
        let mut state = self.state();
        if self.is_ended() || state.winding_down {
            drop(state);
            ticket.answer(Err(Refusal::Ended));
            return;
        }
        state.open.insert(id, Arc::clone(&ticket));
        self.queue(state, Queued::Request { id, meta, ticket });
    }

    /// The engine takes request `id` back; `bytes` tells the server, if it can know of it.
    pub(super) fn take_back(&self, id: i64, bytes: Bytes) {
        let mut state = self.state();
        let Some(ticket) = state.open.remove(&id) else { return };
        ticket.give_up();
        if ticket.is_sent() {
            self.queue(state, Queued::Plain(bytes));
        } else {
            state.outbox.retain(|queued| !matches!(queued, Queued::Request { id: queued, .. } if *queued == id));
        }
    }

    /// Queues a notification.
    pub(super) fn tell(&self, bytes: Bytes) {
        self.queue(self.state(), Queued::Plain(bytes));
    }

    /// Queues the answer to a question of the server.
    pub(super) fn reply(&self, bytes: Bytes) {
        self.queue(self.state(), Queued::Reply(bytes));
    }

    /// What the engine is told next; `None` = the connection is over. Cancel-safe.
    pub(super) async fn next_signal(&self) -> Option<Signal> {
        loop {
            let more = self.0.to_tell.notified();
            {
                let mut state = self.state();
                if let Some(signal) = state.signals.pop_front() {
                    return Some(signal);
                }
                if self.is_ended() || matches!(state.welcome, Welcome::Failed(_)) {
                    return None;
                }
            }
            more.await;
        }
    }

    /// What the server said about itself, or why it did not.
    pub(super) fn welcome(&self) -> Option<Result<Handshake, String>> {
        match &self.state().welcome {
            Welcome::NotAsked | Welcome::Asked(_) => None,
            Welcome::Done(handshake) => Some(Ok((**handshake).clone())),
            Welcome::Failed(why) => Some(Err(why.clone())),
        }
    }

    // ── The carrier's side ──

    /// What is to be written next; `None` = the connection is over, or winds down and nothing is left. What was approved is looked at once more here, so
    /// call it when writing can begin, and then write. Cancel-safe.
    pub(super) async fn next_outgoing(&self) -> Option<Outgoing> {
        loop {
            let more = self.0.to_write.notified();
            let queued = {
                let mut state = self.state();
                if self.is_ended() || (state.winding_down && state.outbox.is_empty()) {
                    return None;
                }
                state.outbox.pop_front()
            };
            match queued {
                Some(Queued::Plain(bytes)) => return Some(Outgoing { bytes }),
                Some(Queued::Reply(bytes)) => {
                    let mut state = self.state();
                    state.questions = state.questions.saturating_sub(1);
                    return Some(Outgoing { bytes });
                }
                Some(Queued::Request { id, meta, ticket }) => {
                    if !ticket.holds() {
                        ticket.give_up();
                        self.settle(id, Err(Refusal::Stale));
                    } else if ticket.begin() {
                        return Some(Outgoing { bytes: write::request(id, ticket.method, &ticket.params, &meta) });
                    }
                }
                None => more.await,
            }
        }
    }

    /// Handles one line of the server.
    pub(super) fn accept(&self, line: &[u8]) {
        if self.is_ended() {
            return;
        }
        match wire::read(line) {
            Ok(Message::Result { id, result }) => {
                let known = id.ours().is_some_and(|id| self.welcomed(id, result) || self.answered(id, result));
                if !known {
                    self.noise(line);
                }
            }
            Ok(Message::Error { id: Some(id), code, message }) => {
                let known = id.ours().is_some_and(|id| {
                    self.unwelcome(id, || refused(code, &message))
                        || self.settle(id, Err(Refusal::Server { code, message: message.clone() }))
                });
                if !known {
                    self.noise(line);
                }
            }
            Ok(Message::Error { id: None, code, message }) => self.refused_somebody(line, code, message),
            Ok(Message::Request { id, method, .. }) => self.asked(id, method),
            Ok(Message::Notification { method, params }) => self.told(&method, params.unwrap_or("{}")),
            Err(fault) => {
                let mut finder = IdFinder::default();
                finder.feed(line);
                let known = finder.found().and_then(|id| id.ours()).is_some_and(|id| {
                    self.unwelcome(id, || format!("its answer to `initialize` cannot be used: {fault}"))
                        || self.settle(id, Err(Refusal::Broken(format!("its answer cannot be used: {fault}"))))
                });
                if !known {
                    self.noise(line);
                }
            }
        }
    }

    /// A line over the limit passed by; `id` is what it answered, `head` how it began.
    pub(super) fn skipped(&self, id: Option<Id>, head: &[u8]) {
        let known = id.and_then(|id| id.ours()).is_some_and(|id| {
            self.unwelcome(id, || "its answer to `initialize` is over the limit of a message".to_owned())
                || self.settle(id, Err(Refusal::TooLarge))
        });
        if !known {
            self.noise(head);
        }
    }

    /// We are about to end the connection: everything that waits fails, and the server is told that nobody waits for
    /// what it still works on, also where a request was taken back so lately that the engine has not said so yet.
    pub(super) fn wind_down(&self) {
        let open = {
            let mut state = self.state();
            if self.is_ended() || state.winding_down {
                return;
            }
            state.winding_down = true;
            state.outbox.retain(|queued| !matches!(queued, Queued::Request { .. }));
            let open = std::mem::take(&mut state.open);
            for (id, ticket) in &open {
                ticket.give_up();
                if ticket.is_sent() {
                    state.outbox.push_back(Queued::Plain(write::cancelled(*id, "the connection is being closed")));
                }
            }
            open
        };
        for ticket in open.into_values() {
            ticket.answer(Err(Refusal::Ended));
        }
        self.0.to_write.notify_one();
    }

    /// The connection is over. The first one counts; everything that waits fails.
    pub(super) fn end(&self, closed: Closed) {
        let open = {
            let mut state = self.state();
            if self.0.ended.set(closed).is_err() {
                return;
            }
            state.outbox.clear();
            std::mem::take(&mut state.open)
        };
        for ticket in open.into_values() {
            ticket.give_up();
            ticket.answer(Err(Refusal::Ended));
        }
        self.0.to_write.notify_one();
        self.0.to_tell.notify_one();
    }

    /// How it ended, once it has.
    pub(super) fn ended(&self) -> Option<&Closed> {
        self.0.ended.get()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.0.ended.get().is_some()
    }

    pub(super) fn events(&self) -> &EventSink {
        &self.0.events
    }

    pub(super) fn output(&self) -> &Output {
        &self.0.output
    }

    pub(super) fn mask(&self) -> &Masks {
        &self.0.mask
    }

    // ── Inside ──

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, mut state: MutexGuard<'_, State>, queued: Queued) {
        if !self.is_ended() {
            state.outbox.push_back(queued);
        }
        drop(state);
        self.0.to_write.notify_one();
    }

    fn signal(&self, mut state: MutexGuard<'_, State>, signal: Signal) {
        state.signals.push_back(signal);
        drop(state);
        self.0.to_tell.notify_one();
    }

    fn noise(&self, line: &[u8]) {
        self.0.output.add_noise(line, &self.0.mask);
    }

    fn answered(&self, id: i64, result: &str) -> bool {
        // Before copying it: many a late answer is nobody's.
        if !self.state().open.contains_key(&id) {
            return false;
        }
        let raw = Raw::from_text(result.to_owned());
        self.settle(id, raw.map_err(|error| Refusal::Broken(format!("its answer cannot be used: {error}"))))
    }

    /// Delivers an answer. `false` = nobody waits for it.
    fn settle(&self, id: i64, answer: Result<Raw, Refusal>) -> bool {
        let mut state = self.state();
        let Some(ticket) = state.open.remove(&id) else { return false };
        ticket.answer(answer);
        self.signal(state, Signal::Settled(id));
        true
    }

    fn welcomed(&self, id: i64, result: &str) -> bool {
        let mut state = self.state();
        if !matches!(state.welcome, Welcome::Asked(asked) if asked == id) {
            return false;
        }
        match Handshake::read(result) {
            Ok(handshake) => {
                let protocol_version = handshake.protocol_version.clone();
                state.welcome = Welcome::Done(Box::new(handshake));
                state.signals.push_back(Signal::Welcomed { id, protocol_version });
                let early = std::mem::take(&mut state.early);
                state.signals.extend(early);
                drop(state);
                self.0.to_tell.notify_one();
            }
            Err(why) => {
                state.welcome = Welcome::Failed(why);
                drop(state);
                self.0.to_tell.notify_one();
            }
        }
        true
    }

    fn unwelcome(&self, id: i64, why: impl FnOnce() -> String) -> bool {
        let mut state = self.state();
        if !matches!(state.welcome, Welcome::Asked(asked) if asked == id) {
            return false;
        }
        state.welcome = Welcome::Failed(why());
        drop(state);
        self.0.to_tell.notify_one();
        true
    }

    /// An error without an id: the server could not read a request. It is the answer to the latest one that was sent and
    /// that the server has not shown to know; older ones were read, and are being worked on.
    fn refused_somebody(&self, line: &[u8], code: i64, message: String) {
        let (handshake, latest) = {
            let state = self.state();
            let handshake = if let Welcome::Asked(id) = state.welcome { Some(id) } else { None };
            let sent = state.open.iter().filter(|(_, ticket)| ticket.is_sent() && !ticket.is_heard_of());
            (handshake, sent.map(|(id, _)| *id).max())
        };
        let known = match (handshake, latest) {
            (Some(id), _) => self.unwelcome(id, || refused(code, &message)),
            (None, Some(id)) => self.settle(id, Err(Refusal::Server { code, message })),
            (None, None) => false,
        };
        if !known {
            self.noise(line);
        }
    }

    fn asked(&self, id: Id, method: String) {
        let mut state = self.state();
        if state.questions >= QUESTIONS {
            return;
        }
        state.questions += 1;
        let signal = Signal::Asked { id, method: view::cut(method, METHOD_KEPT) };
        if matches!(state.welcome, Welcome::Done(_))
            || matches!(&signal, Signal::Asked { method, .. } if method == "ping")
        {
            self.signal(state, signal);
        } else {
            state.early.push(signal);
        }
    }
}

fn refused(code: i64, message: &str) -> String {
    format!("it answered `initialize` with error {code}: {message}")
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("ended", &self.ended).finish_non_exhaustive()
    }
}
