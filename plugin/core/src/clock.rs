//! Time and sleep behind a port, so that a test can let an hour pass at once.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use jiff::Timestamp;

/// A future that owns what it needs.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Where time comes from.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The wall clock; may jump.
    fn now(&self) -> Timestamp;
    /// Time since some fixed point; never goes back, stands still while the machine sleeps.
    fn monotonic(&self) -> Duration;
    /// Ends after `duration` of monotonic time.
    fn sleep(&self, duration: Duration) -> BoxFuture<()>;
}

/// The machine's own clock.
#[derive(Debug)]
pub struct SystemClock {
    // Tokio's clock, so that a paused test clock moves both `monotonic` and `sleep`.
    start: tokio::time::Instant,
}

impl SystemClock {
    /// The machine's clock, shared.
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(Self { start: tokio::time::Instant::now() })
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
