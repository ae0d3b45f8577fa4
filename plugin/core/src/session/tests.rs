//! The whole session against a server in memory: what it may write, what it may leave undone, and what comes of it.

mod call;
mod handshake;
mod list;
mod server;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    fake::{self, Fake, SECRET, call, calling, holds, server, session},
    *,
};
use crate::{
    error::LaunchReason,
    event::{ListKind, ProgressSink},
    model::{Operation, Progress},
};

const LONG: Duration = Duration::from_secs(30);

fn options() -> RequestOptions {
    RequestOptions::default()
}

fn failed<T: std::fmt::Debug>(result: Result<T, RequestError>) -> Error {
    match result {
        Err(RequestError::Failed(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The failure of a handshake with a server that behaves so.
async fn unwelcome<F: Future<Output = Fake>>(behave: impl FnOnce(Fake) -> F) -> (LaunchReason, String) {
    let (greeting, _events, fake, _) = fake::greeting(LONG, Vec::new());
    let (session, _fake) = tokio::join!(greeting.shake(Instant::now()), behave(fake));
    match session {
        Err(Error::LaunchFailed { reason, message, .. }) => (reason, message),
        other => panic!("{other:?}"),
    }
}
