//! What a server says unasked, and how its connection ended.
//!
//! Bounded and never waiting: what a listener has not taken yet is folded together (lists, resources) or counted (logs).

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::{event::ListKind, session::process::Exit};

/// Severity of a server's log line (RFC 5424, as in the specification).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "named as in the specification")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// As written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// Reads it as written on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

/// One log line of a server; untrusted, secrets masked, at most 4 KiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How bad; `Info` where the server said nothing that can be read.
    pub level: LogLevel,
    /// Which part of the server.
    pub logger: Option<String>,
    /// A text as it is, anything else as JSON.
    pub text: String,
}

/// How a connection ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// We ended it ([`Session::close`](super::Session::close) or drop).
    pub requested: bool,
    /// How its process ended, where there is one and it is known.
    pub exit: Option<Exit>,
    /// Why, in words, where it ended by itself.
    pub reason: Option<String>,
}

/// Something that a server says unasked. In the order in which it was written, and before the answer that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// A list is another. Several at once are told once.
    ListChanged(ListKind),
    /// A resource changed. The same one several times at once is told once.
    ResourceUpdated(String),
    /// It logged something.
    Log(LogLine),
    /// It logged more than 1,000 lines in a second, or more than the listener took: so many were left out here.
    LogsDropped(u64),
    /// So many resource updates were left out: whoever subscribes should look at all of them.
    UpdatesDropped(u64),
    /// It is over. The last event.
    Closed(Closed),
}

/// The events of one session, for one listener. A slow listener finds events folded together or counted, and never slows
/// the server's answers.
#[derive(Debug)]
pub struct Events(Arc<Queue>);

impl Events {
    /// The next event; `None` after [`SessionEvent::Closed`]. Cancel-safe.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        loop {
            let more = self.0.arrived.notified();
            {
                let mut state = self.0.state();
                let event = state.pop();
                state.over |= matches!(event, Some(SessionEvent::Closed(_)));
                if event.is_some() || state.over {
                    return event;
                }
            }
            more.await;
        }
    }
}

/// Where a session puts its events.
#[derive(Clone, Debug)]
pub(super) struct EventSink(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<SessionEvent>,
    /// Lists whose change is in the queue.
    lists: HashSet<ListKind>,
    /// Resources whose change is in the queue.
    updated: HashSet<String>,
    /// Log lines in the queue.
    logs: usize,
    logs_dropped: u64,
    updates_dropped: u64,
    /// Log lines since `second` began.
    this_second: usize,
    second: Option<Instant>,
    over: bool,
}

/// Log lines a second, and log lines waiting for the listener.
const LOGS: usize = 1000;
/// Resource changes waiting for the listener.
const UPDATES: usize = 1024;

/// A sink and its listener's end.
pub(super) fn events() -> (EventSink, Events) {
    let queue = Arc::new(Queue::default());
    (EventSink(Arc::clone(&queue)), Events(queue))
}

impl EventSink {
    pub(super) fn push(&self, event: SessionEvent) {
        if self.0.state().push(event) {
            self.0.arrived.notify_one();
        }
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether there is something to wake up for.
    fn push(&mut self, event: SessionEvent) -> bool {
        let keep = match &event {
            _ if self.over => false,
            SessionEvent::ListChanged(kind) => self.lists.insert(*kind),
            SessionEvent::ResourceUpdated(uri) if self.updated.contains(uri) => false,
            SessionEvent::ResourceUpdated(_) if self.updated.len() >= UPDATES => {
                self.updates_dropped += 1;
                false
            }
            SessionEvent::ResourceUpdated(uri) => self.updated.insert(uri.clone()),
            SessionEvent::Log(_) => self.admit_log(),
            SessionEvent::LogsDropped(_) | SessionEvent::UpdatesDropped(_) | SessionEvent::Closed(_) => true,
        };
        if keep {
            self.queue.push_back(event);
        }
        keep
    }

    fn admit_log(&mut self) -> bool {
        let now = Instant::now();
        if self.second.is_none_or(|second| now.duration_since(second) >= Duration::from_secs(1)) {
            self.second = Some(now);
            self.this_second = 0;
        }
        if self.this_second >= LOGS || self.logs >= LOGS {
            self.logs_dropped += 1;
            return false;
        }
        if self.logs_dropped > 0 {
            let dropped = std::mem::take(&mut self.logs_dropped);
            self.queue.push_back(SessionEvent::LogsDropped(dropped));
        }
        self.this_second += 1;
        self.logs += 1;
        true
    }

    fn pop(&mut self) -> Option<SessionEvent> {
        let last = matches!(self.queue.front(), None | Some(SessionEvent::Closed(_)));
        if last && self.updates_dropped > 0 {
            return Some(SessionEvent::UpdatesDropped(std::mem::take(&mut self.updates_dropped)));
        }
        if last && self.logs_dropped > 0 {
            return Some(SessionEvent::LogsDropped(std::mem::take(&mut self.logs_dropped)));
        }
        let event = self.queue.pop_front()?;
        match &event {
            SessionEvent::ListChanged(kind) => {
                self.lists.remove(kind);
            }
            SessionEvent::ResourceUpdated(uri) => {
                self.updated.remove(uri);
            }
            SessionEvent::Log(_) => self.logs -= 1,
            _ => {}
        }
        Some(event)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn log(text: &str) -> SessionEvent {
        SessionEvent::Log(LogLine { level: LogLevel::Info, logger: None, text: text.to_owned() })
    }

    async fn all(sink: &EventSink, events: &mut Events) -> Vec<SessionEvent> {
        sink.push(SessionEvent::Closed(Closed::default()));
        let mut seen = Vec::new();
        while let Some(event) = events.next().await {
            seen.push(event);
        }
        assert_eq!(seen.pop(), Some(SessionEvent::Closed(Closed::default())));
        seen
    }

    #[tokio::test]
    async fn a_storm_of_changes_is_told_once_until_it_was_heard() {
        let (sink, mut events) = events();
        for _ in 0..200 {
            sink.push(SessionEvent::ListChanged(ListKind::Tools));
            sink.push(SessionEvent::ResourceUpdated("file:///a".to_owned()));
        }
        assert_eq!(events.next().await, Some(SessionEvent::ListChanged(ListKind::Tools)));
        sink.push(SessionEvent::ListChanged(ListKind::Tools));
        let rest = all(&sink, &mut events).await;
        let expected =
            [SessionEvent::ResourceUpdated("file:///a".to_owned()), SessionEvent::ListChanged(ListKind::Tools)];
        assert_eq!(rest, expected);
        assert_eq!(events.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_logs_is_counted_and_the_next_second_is_heard_again() {
        let (sink, mut events) = events();
        for _ in 0..1500 {
            sink.push(log("flood"));
        }
        for _ in 0..1000 {
            assert_eq!(events.next().await, Some(log("flood")));
        }
        sink.push(log("too soon"));
        assert_eq!(events.next().await, Some(SessionEvent::LogsDropped(501)));
        tokio::time::advance(Duration::from_secs(1)).await;
        sink.push(log("later"));
        assert_eq!(all(&sink, &mut events).await, [log("later")]);
    }

    #[tokio::test]
    async fn a_listener_that_sleeps_costs_a_bounded_amount() {
        let (sink, mut events) = events();
        for n in 0..5000 {
            sink.push(SessionEvent::ResourceUpdated(format!("r:{n}")));
        }
        let seen = all(&sink, &mut events).await;
        assert_eq!(seen.len(), UPDATES + 1);
        assert_eq!(seen.last(), Some(&SessionEvent::UpdatesDropped(5000 - 1024)));
    }

    #[tokio::test]
    async fn an_event_that_comes_while_waiting_wakes() {
        let (sink, mut events) = events();
        let waiting = tokio::spawn(async move { events.next().await });
        tokio::task::yield_now().await;
        sink.push(log("hi"));
        assert_eq!(waiting.await.unwrap(), Some(log("hi")));
    }
}
