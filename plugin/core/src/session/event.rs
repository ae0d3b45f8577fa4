//! What a server says unasked, and how its connection ended.

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
        [
            Self::Debug,
            Self::Info,
            Self::Notice,
            Self::Warning,
            Self::Error,
            Self::Critical,
            Self::Alert,
            Self::Emergency,
        ]
        .into_iter()
        .find(|level| level.as_str() == text)
    }
}

/// One log line of a server; untrusted, secrets masked, at most 4 KiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How bad.
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
    /// It logged more than 1,000 lines in a second: so many were left out here.
    LogsDropped(u64),
    /// So many resource updates were left out: whoever subscribes should look at all of them.
    UpdatesDropped(u64),
    /// It is over. The last event.
    Closed(Closed),
}

/// The events of one session, for one listener. Bounded: a slow listener finds events folded together or counted, and
/// never slows the server's other answers.
#[derive(Debug)]
pub struct Events {}

impl Events {
    /// The next event; `None` after [`SessionEvent::Closed`]. Cancel-safe.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        None
    }
}
