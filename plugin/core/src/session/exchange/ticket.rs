//! One request of ours, from being made to its answer.
//!
//! A ticket is *queued*, then *sent* or *given up*, and which of the two came first is decided once: that is what makes
//! `sent` in an error exact.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

use crate::{
    model::{Progress, Raw},
    session::wire::write::Params,
};

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::session) enum Refusal {
    /// The server said no.
    Server { code: i64, message: String },
    /// The answer was over the limit of a message.
    TooLarge,
    /// The answer cannot be used, and why.
    Broken(String),
    /// The connection ended.
    Ended,
    /// What was approved did not hold at the moment of writing.
    Stale,
}

/// Asked at the moment of writing; `false` = do not.
pub(in crate::session) type Gate = Box<dyn Fn() -> bool + Send + Sync>;

const QUEUED: u8 = 0;
const SENT: u8 = 1;
const GIVEN_UP: u8 = 2;

/// One request.
pub(in crate::session) struct Ticket {
    pub(in crate::session) method: &'static str,
    pub(in crate::session) params: Params,
    gate: Option<Gate>,
    state: AtomicU8,
    sent_at: OnceLock<Instant>,
    /// Where the answer goes; taken by the first.
    answer: Mutex<Option<oneshot::Sender<Result<Raw, Refusal>>>>,
    progress: Mutex<VecDeque<Progress>>,
    /// Told at each sign of life.
    pub(in crate::session) signs: Notify,
    /// The server has shown that it knows this request.
    heard_of: OnceLock<()>,
}

impl Ticket {
    /// Progress that is kept until its consumer comes to it.
    const PROGRESS_KEPT: usize = 32;

    pub(in crate::session) fn new(
        method: &'static str,
        params: Params,
        gate: Option<Gate>,
    ) -> (Self, oneshot::Receiver<Result<Raw, Refusal>>) {
        let (sender, answer) = oneshot::channel();
        let ticket = Self {
            method,
            params,
            gate,
            state: AtomicU8::new(QUEUED),
            sent_at: OnceLock::new(),
            answer: Mutex::new(Some(sender)),
            progress: Mutex::default(),
            signs: Notify::new(),
            heard_of: OnceLock::new(),
        };
        (ticket, answer)
    }

    /// Whether what it was approved for still holds.
    pub(super) fn holds(&self) -> bool {
        self.gate.as_ref().is_none_or(|gate| gate())
    }

    /// From queued to sent. `false` = it was given up before; it must not be written.
    pub(super) fn begin(&self) -> bool {
        let begun = self.state.compare_exchange(QUEUED, SENT, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if begun {
            let _ = self.sent_at.set(Instant::now());
        }
        begun
    }

    /// From queued to given up; what was sent stays sent.
    pub(in crate::session) fn give_up(&self) {
        let _ = self.state.compare_exchange(QUEUED, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether writing it has begun.
    pub(in crate::session) fn is_sent(&self) -> bool {
        self.state.load(Ordering::Acquire) == SENT
    }

    /// When writing it began.
    pub(in crate::session) fn sent_at(&self) -> Option<Instant> {
        self.sent_at.get().copied()
    }

    /// Delivers the answer; the first one counts.
    pub(super) fn answer(&self, answer: Result<Raw, Refusal>) {
        let sender = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            let _ = sender.send(answer);
        }
    }

    /// Keeps a sign of progress for its consumer. Of many at once the last are kept.
    pub(super) fn advance(&self, progress: Option<Progress>) {
        let _ = self.heard_of.set(());
        if let Some(progress) = progress {
            let mut kept = self.kept();
            if kept.len() == Self::PROGRESS_KEPT {
                kept.pop_front();
            }
            kept.push_back(progress);
        }
        self.signs.notify_one();
    }

    /// Whether the server has shown that it knows this request.
    pub(super) fn is_heard_of(&self) -> bool {
        self.heard_of.get().is_some()
    }

    /// The progress since the last look, oldest first.
    pub(in crate::session) fn take_progress(&self) -> VecDeque<Progress> {
        std::mem::take(&mut *self.kept())
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("method", &self.method).field("sent", &self.is_sent()).finish_non_exhaustive()
    }
}
