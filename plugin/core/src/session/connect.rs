//! From a launch to a session, with an honest reason where that fails.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Session,
    engine::Engine,
    event::{self, Closed, Events},
    exchange::Exchange,
    output::{Mask, Masks, Output},
    process::{Processes, child},
    transport::stdio,
    wire::view,
};
use crate::{
    config::ResolvedLaunch,
    error::{Error, LaunchDetails, LaunchReason, Result},
    model::{Capabilities, Implementation, ServerId},
};

/// Revisions of the specification that `initialize` can agree on.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Requests that may be open at once; more wait for their turn.
const OPEN_REQUESTS: usize = 256;
/// Lines of stderr that an error tells the person.
const LAST_WORDS: usize = 20;
/// Bytes of a server's text about itself that are kept.
const TEXT_KEPT: usize = 1024;
/// Bytes of its instructions that are kept.
const INSTRUCTIONS_KEPT: usize = 64 * 1024;

/// A folder that a server may know of (`roots/list`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// A name for people.
    pub name: Option<String>,
}

/// What a server said about itself in the handshake, repaired; untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// The negotiated revision.
    pub protocol_version: String,
    /// What it declared, as the contract shows it.
    pub capabilities: Capabilities,
    /// It completes arguments.
    pub completions: bool,
    /// It takes subscriptions to resources.
    pub subscribe: bool,
    /// It logs.
    pub logging: bool,
    /// What it says it is.
    pub server_info: Option<Implementation>,
    /// Never put into a prompt by the host.
    pub instructions: Option<String>,
    /// What was repaired, in words.
    pub diagnostics: Vec<String>,
}

impl Handshake {
    /// Reads the result of `initialize`. The error says in words why it cannot be agreed to.
    pub(super) fn read(raw: &str) -> Result<Self, String> {
        let mut handshake = Self::default();
        let mut version = None;
        handshake.capabilities.tools = Some(false);
        handshake.capabilities.resources = Some(false);
        handshake.capabilities.prompts = Some(false);
        handshake.capabilities.sampling = Some(false);
        let mut told_who = false;
        for (key, value) in view::entries(raw) {
            match &*key {
                "protocolVersion" => version = view::text(value),
                "capabilities" => handshake.read_capabilities(value),
                "serverInfo" => {
                    told_who = true;
                    handshake.read_info(value);
                }
                "instructions" => {
                    handshake.instructions = view::text(value).map(|text| view::cut(text, INSTRUCTIONS_KEPT));
                }
                _ => {}
            }
        }
        let version = version.ok_or("its answer to `initialize` names no protocol version")?;
        if !REVISIONS.contains(&version.as_str()) {
            let version = view::cut(version, 64);
            return Err(format!(
                "it wants protocol version `{version}`, which is not known here (known: {})",
                REVISIONS.join(", ")
            ));
        }
        handshake.protocol_version = version;
        if !told_who {
            handshake.diagnostics.push("the server did not say who it is (no `serverInfo`)".to_owned());
        }
        Ok(handshake)
    }

    fn read_capabilities(&mut self, raw: &str) {
        if view::kind(raw) != view::Kind::Object {
            self.diagnostics.push("`capabilities` is no object; nothing counts as declared".to_owned());
        }
        for (key, value) in view::entries(raw) {
            // `true` is not what the specification says, but clear enough.
            let declared = view::kind(value) == view::Kind::Object || view::boolean(value) == Some(true);
            match &*key {
                "tools" => self.capabilities.tools = Some(declared),
                "prompts" => self.capabilities.prompts = Some(declared),
                "resources" => {
                    self.capabilities.resources = Some(declared);
                    self.subscribe = view::member(value, "subscribe").and_then(view::boolean) == Some(true);
                }
                "completions" => self.completions = declared,
                "logging" => self.logging = declared,
                _ => continue,
            }
            if view::kind(value) != view::Kind::Object {
                self.diagnostics.push(format!("capability `{key}` is no object"));
            }
        }
    }

    fn read_info(&mut self, raw: &str) {
        let text = |name| view::member(raw, name).and_then(view::text).map(|text| view::cut(text, TEXT_KEPT));
        let (name, version) = (text("name"), text("version"));
        if name.is_none() || version.is_none() {
            self.diagnostics.push("`serverInfo` lacks a name or a version".to_owned());
        }
        if name.is_some() || version.is_some() {
            self.server_info = Some(Implementation {
                name: name.unwrap_or_default(),
                version: version.unwrap_or_default(),
                title: text("title"),
            });
        }
    }
}

/// How to connect.
pub struct Connect {
    server: ServerId,
    launch: ResolvedLaunch,
    processes: Processes,
    timeout: Duration,
    cancel: CancellationToken,
    output: Output,
    mask: Option<Mask>,
    roots: Vec<Root>,
}

impl Connect {
    /// Over stdin and stdout of a child that is started for it.
    pub fn stdio(server: ServerId, launch: ResolvedLaunch, processes: Processes) -> Self {
        Self {
            server,
            launch,
            processes,
            timeout: Duration::from_secs(30),
            cancel: CancellationToken::new(),
            output: Output::default(),
            mask: None,
            roots: Vec::new(),
        }
    }

    /// The time from here to the end of the handshake; 30 s by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Gives up when cancelled.
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Where stderr and noise are kept, to be looked at from the first moment on.
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Hides more than the launch's secrets in stderr, noise, logs and error messages.
    pub fn mask(mut self, mask: Mask) -> Self {
        self.mask = Some(mask);
        self
    }

    /// What `roots/list` answers; none by default.
    pub fn roots(mut self, roots: Vec<Root>) -> Self {
        self.roots = roots;
        self
    }

    /// Starts the server and shakes hands.
    pub(super) async fn connect(self) -> Result<(Session, Events)> {
        let began = Instant::now();
        let (sink, events) = event::events();
        let exchange = Exchange::new(sink, self.output, Masks::new(&self.launch.secrets, self.mask));
        let spawned = child::spawn(&self.server, &self.launch, &self.processes)?;
        let stop = CancellationToken::new();
        let over = stdio::carry(spawned, exchange.clone(), stop.clone());
        let greeting = Greeting {
            server: self.server,
            exchange,
            over,
            guard: stop.clone().drop_guard(),
            stop,
            roots: self.roots,
            timeout: self.timeout,
            cancel: self.cancel,
        };
        Ok((greeting.shake(began).await?, events))
    }
}

/// A carrier that runs, before the handshake. Dropped, it ends the carrier.
pub(super) struct Greeting {
    pub(super) server: ServerId,
    pub(super) exchange: Exchange,
    pub(super) over: watch::Receiver<Option<Closed>>,
    pub(super) stop: CancellationToken,
    pub(super) guard: DropGuard,
    pub(super) roots: Vec<Root>,
    pub(super) timeout: Duration,
    pub(super) cancel: CancellationToken,
}

impl Greeting {
    /// Shakes hands, within the time limit counted from `began`.
    pub(super) async fn shake(self, began: Instant) -> Result<Session> {
        let started = tokio::select! {
            biased;
            started = Engine::start(self.exchange.clone(), self.roots.clone(), self.stop.clone()) => started,
            () = self.cancel.cancelled() => {
                let what = format!("connecting `{}`", self.server);
                return Err(Error::Cancelled { server: Some(self.server), what, sent: false });
            }
            () = sleep_until(began + self.timeout) => return Err(self.timed_out()),
        };
        match (started, self.exchange.welcome()) {
            (Ok(engine), Some(Ok(handshake))) => Ok(Session {
                server: self.server,
                generation: next_generation(),
                handshake,
                exchange: self.exchange,
                engine,
                permits: Semaphore::new(OPEN_REQUESTS),
                over: self.over,
                stop: self.stop,
                _guard: self.guard,
            }),
            (_, Some(Err(why))) => Err(self.refused(&why)),
            (started, _) => Err(self.ended(started.err().unwrap_or_default()).await),
        }
    }

    fn timed_out(&self) -> Error {
        let limit = self.timeout.as_secs_f64();
        let message = format!("server `{}` did not answer `initialize` within {limit} s", self.server);
        self.error(LaunchReason::Timeout, message, None)
    }

    fn refused(&self, why: &str) -> Error {
        let why = self.exchange.mask().apply(why);
        let message = format!("server `{}` started, but the handshake failed: {why}", self.server);
        self.error(LaunchReason::Handshake, message, None)
    }

    /// The connection ended during the handshake.
    async fn ended(mut self, engine: String) -> Error {
        // The carrier has said that it ended; how the process did may take a moment longer.
        let _ = tokio::time::timeout(Duration::from_secs(1), self.over.wait_for(Option::is_some)).await;
        let closed = self.over.borrow().clone().or_else(|| self.exchange.ended().cloned()).unwrap_or_default();
        match (closed.exit, closed.reason) {
            (Some(exit), _) => {
                let words = self.exchange.output().last_words(1);
                let last = words.first().map(|line| format!("; its last line was `{line}`")).unwrap_or_default();
                let message = format!("server `{}` did not get ready: {exit}{last}", self.server);
                self.error(LaunchReason::Exited, message, Some(exit.code))
            }
            (None, Some(reason)) => {
                let message = format!("server `{}` did not get ready: {reason}", self.server);
                self.error(LaunchReason::Exited, message, None)
            }
            (None, None) => self.refused(&engine),
        }
    }

    fn error(&self, reason: LaunchReason, message: String, exit_code: Option<i32>) -> Error {
        let stderr_tail = self.exchange.output().last_words(LAST_WORDS);
        let private = Box::new(LaunchDetails { stderr_tail, ..LaunchDetails::default() });
        Error::LaunchFailed { server: self.server.clone(), reason, message, exit_code, private }
    }
}

fn next_generation() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_answer_is_read() {
        let raw = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},
            "completions":{},"logging":{}},"serverInfo":{"name":"s","version":"1","title":"S"},"instructions":"be kind","x":1}"#;
        let handshake = Handshake::read(raw).unwrap();
        assert_eq!(handshake.protocol_version, "2025-06-18");
        assert_eq!(handshake.capabilities.tools, Some(true));
        assert_eq!(handshake.capabilities.prompts, Some(false));
        assert!(handshake.subscribe && handshake.completions && handshake.logging);
        assert_eq!(handshake.server_info.unwrap().title.as_deref(), Some("S"));
        assert_eq!(handshake.diagnostics, [""; 0]);
    }

    #[test]
    fn an_odd_answer_is_repaired_and_told() {
        let raw = r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":true,"prompts":null,"resources":[]},"serverInfo":{"name":7}}"#;
        let handshake = Handshake::read(raw).unwrap();
        assert_eq!(handshake.capabilities.tools, Some(true));
        assert_eq!(handshake.capabilities.prompts, Some(false));
        assert_eq!(handshake.capabilities.resources, Some(false));
        assert_eq!(handshake.server_info, None);
        assert_eq!(handshake.diagnostics.len(), 4);
        let bare = Handshake::read(r#"{"protocolVersion":"2025-11-25"}"#).unwrap();
        assert_eq!(bare.diagnostics.len(), 1);
        assert_eq!(
            Handshake::read(r#"{"protocolVersion":"2025-11-25","capabilities":[],"serverInfo":{}}"#)
                .unwrap()
                .diagnostics
                .len(),
            2
        );
    }

    #[test]
    fn an_unknown_revision_is_named_and_the_stateless_one_is_unknown_to_initialize() {
        for version in ["1999-01-01", "2026-07-28", "2024-10-07", ""] {
            let raw = format!(r#"{{"protocolVersion":"{version}","capabilities":{{}}}}"#);
            assert!(Handshake::read(&raw).unwrap_err().contains(&format!("`{version}`")));
        }
        for raw in ["null", "[]", "{}", r#"{"protocolVersion":20251125}"#] {
            assert!(Handshake::read(raw).unwrap_err().contains("names no protocol version"), "{raw}");
        }
    }
}
