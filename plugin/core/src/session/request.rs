//! One request: its limits, its progress, its cancellation, its outcome.

use std::{fmt, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{approval::Approved, error::Error, event::ProgressSink, model::Raw};

/// Compares an approval with the world at the moment of writing: `false` = it no longer holds, nothing is written.
///
/// Called inside the transport, so it must be quick and must not wait.
pub type Recheck = Arc<dyn Fn(&Approved) -> bool + Send + Sync>;

/// How a request is to be made.
#[derive(Default)]
pub struct RequestOptions {
    /// Without a sign of progress for this long, it times out. Default: 60 s for calls, else the cap.
    pub idle: Option<Duration>,
    /// It times out after this in any case. Default: 10 min for calls, 30 s for everything else.
    pub cap: Option<Duration>,
    /// Cancels it.
    pub cancel: CancellationToken,
    /// Where its progress goes: at most 10 a second, messages of at most 4 KiB, the last one always, all of it before
    /// the answer.
    pub progress: Option<ProgressSink>,
}

impl fmt::Debug for RequestOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestOptions").field("idle", &self.idle).field("cap", &self.cap).finish_non_exhaustive()
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The result as the server wrote it: well-formed, no key twice, at most 128 deep.
    pub raw: Raw,
    /// From writing to the answer.
    pub duration: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The recheck refused at the moment of writing: nothing was written. Decide again.
    #[error("what was approved is not what is true now")]
    Stale,
    /// Anything else.
    #[error(transparent)]
    Failed(#[from] Error),
}
