//! A server in memory, played by the test: it reads what we write, line by line, and writes what it likes.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    Events, Output, Recheck, Session,
    connect::{Greeting, Root},
    event,
    exchange::Exchange,
    output::Masks,
    transport::stdio,
};
use crate::{
    approval::Approved,
    config::SecretValue,
    error::Result,
    model::{Arguments, Hints, Operation, Raw, ServerId, ToolDefinition, json::Object},
};

/// The server's end.
pub(super) struct Fake {
    reads: Lines<BufReader<DuplexStream>>,
    writes: DuplexStream,
}

/// How much the pipe to the server holds.
pub(super) const PIPE: usize = 64 * 1024;
/// A secret of the launch.
pub(super) const SECRET: &str = "hunter2hunter2";

/// A carrier to a server that has not been greeted yet.
pub(super) fn greeting(timeout: Duration, roots: Vec<Root>) -> (Greeting, Events, Fake, Output) {
    let (ours_in, theirs_in) = duplex(PIPE);
    let (theirs_out, ours_out) = duplex(PIPE);
    let (sink, events) = event::events();
    let output = Output::default();
    let masks = Masks::new(&[SecretValue::new(SECRET.to_owned())], None);
    let exchange = Exchange::new(sink, output.clone(), masks);
    let stop = CancellationToken::new();
    let over = stdio::carry_streams(ours_in, ours_out, exchange.clone(), stop.clone());
    let greeting = Greeting {
        server: server(),
        exchange,
        over,
        guard: stop.clone().drop_guard(),
        stop,
        roots,
        timeout,
        cancel: CancellationToken::new(),
    };
    (greeting, events, Fake { reads: BufReader::new(theirs_in).lines(), writes: theirs_out }, output)
}

/// A session that has shaken hands with a server of all capabilities.
pub(super) async fn session() -> (Arc<Session>, Events, Fake) {
    let (greeting, events, mut fake, _) = greeting(Duration::from_secs(30), Vec::new());
    let (session, ()) = tokio::join!(greeting.shake(Instant::now()), fake.welcome());
    (Arc::new(session.unwrap()), events, fake)
}

impl Fake {
    /// The next message that we wrote.
    pub(super) async fn read(&mut self) -> Value {
        serde_json::from_str(&self.read_line().await.expect("another message")).expect("JSON")
    }

    /// The next line that we wrote; `None` when we closed stdin.
    pub(super) async fn read_line(&mut self) -> Option<String> {
        self.reads.next_line().await.unwrap()
    }

    /// The next request of that method; its id.
    pub(super) async fn asked(&mut self, method: &str) -> i64 {
        let message = self.read().await;
        assert_eq!(message["method"], method, "{message}");
        message["id"].as_i64().expect("an id of ours")
    }

    pub(super) async fn write(&mut self, line: impl AsRef<str>) {
        self.writes.write_all(format!("{}\n", line.as_ref()).as_bytes()).await.unwrap();
    }

    pub(super) async fn answer(&mut self, id: i64, result: Value) {
        self.write(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
    }

    pub(super) async fn tell(&mut self, method: &str, params: Value) {
        self.write(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()).await;
    }

    /// Answers the handshake with all capabilities.
    pub(super) async fn welcome(&mut self) {
        let id = self.asked("initialize").await;
        let capabilities = json!({ "tools": {}, "resources": {}, "prompts": {}, "logging": {}, "completions": {} });
        let result = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "serverInfo": { "name": "fake", "version": "1" } });
        self.answer(id, result).await;
        assert_eq!(self.read().await["method"], "notifications/initialized");
    }

    /// Whether we write nothing for a while.
    pub(super) async fn hears_nothing(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(200), self.reads.next_line()).await.is_err()
    }

    /// Closes stdout only.
    pub(super) async fn hang_up(&mut self) {
        self.writes.shutdown().await.unwrap();
    }
}

pub(super) fn server() -> ServerId {
    ServerId::parse("fake").unwrap()
}

/// An approved call of tool `t` on this connection, with arguments as they are to be written.
pub(super) fn call(session: &Session, arguments: &str) -> Approved {
    let tool = ToolDefinition {
        name: "t".to_owned(),
        title: None,
        description: None,
        input_schema: Raw::from_text("{}".to_owned()).unwrap(),
        output_schema: None,
        annotations: None,
        hints: Hints::default(),
        meta: None,
        hash: String::new(),
        diagnostics: Vec::new(),
        quarantined: false,
    };
    let arguments = Arguments { value: Arc::new(Object::default()), wire: arguments.to_owned().into() };
    let operation = Operation::CallTool { server: server(), tool: Arc::new(tool), arguments };
    Approved::for_test(operation, session.generation())
}

/// Everything still holds.
pub(super) fn holds() -> Recheck {
    Arc::new(|_| true)
}

/// What a call comes to, by itself.
pub(super) fn calling(
    session: &Arc<Session>,
    options: super::RequestOptions,
) -> tokio::task::JoinHandle<Result<super::Reply, super::RequestError>> {
    let session = Arc::clone(session);
    tokio::spawn(async move { session.request(call(&session, "{}"), holds(), options).await })
}
