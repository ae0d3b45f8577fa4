//! Ctrl-C and termination: the first takes back what is under way and lets the host end its servers, a second one
//! stops waiting for that.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU8, Ordering},
};

use tokio_util::sync::CancellationToken;

/// What the signals of this process mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What is under way is taken back.
    cancel: CancellationToken,
    /// The end is not waited for any longer.
    hurry: CancellationToken,
    /// The question that the person looks at: Ctrl-C is its answer.
    question: Mutex<Option<CancellationToken>>,
    /// The exit status for the first signal; 0 = none came.
    status: AtomicU8,
}

impl Interrupt {
    /// Listens from now on.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        let listener = interrupt.clone();
        tokio::spawn(async move { listener.run().await });
        interrupt
    }

    /// Cancelled when the person takes the command back.
    pub(crate) fn cancel(&self) -> CancellationToken {
        self.state.cancel.clone()
    }

    /// Cancelled when the person does not want to wait for the end either.
    pub(crate) fn hurry(&self) -> CancellationToken {
        self.state.hurry.clone()
    }

    /// 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    pub(crate) fn status(&self) -> Option<u8> {
        match self.state.status.load(Ordering::Acquire) {
            0 => None,
            status => Some(status),
        }
    }

    /// Opens a question: until the guard is dropped, Ctrl-C answers it with no.
    pub(crate) fn question(&self) -> Question {
        let token = CancellationToken::new();
        *self.state.question.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
        Question { state: Arc::clone(&self.state), refused: token }
    }

    fn signal(&self, status: u8) {
        if self.state.status.compare_exchange(0, status, Ordering::AcqRel, Ordering::Acquire).is_err() {
            self.state.cancel.cancel();
            self.state.hurry.cancel();
            return;
        }
        let question = self.state.question.lock().unwrap_or_else(PoisonError::into_inner).take();
        match question {
            Some(question) => question.cancel(),
            None => self.state.cancel.cancel(),
        }
    }

    #[cfg(unix)]
    async fn run(self) {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup()));
        let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) = kinds else { return };
        loop {
            let status = tokio::select! {
                Some(()) = interrupt.recv() => 130,
                Some(()) = terminate.recv() => 143,
                Some(()) = hangup.recv() => 129,
                else => return,
            };
            self.signal(status);
        }
    }

    #[cfg(not(unix))]
    async fn run(self) {
        while tokio::signal::ctrl_c().await.is_ok() {
            self.signal(130);
        }
    }
}

/// An open question.
#[derive(Debug)]
pub(crate) struct Question {
    state: Arc<State>,
    refused: CancellationToken,
}

impl Question {
    /// Cancelled when Ctrl-C answers it.
    pub(crate) fn refused(&self) -> &CancellationToken {
        &self.refused
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        *self.state.question.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_takes_back_and_the_second_hurries() {
        let interrupt = Interrupt::default();
        assert_eq!(interrupt.status(), None);
        interrupt.signal(130);
        assert!(interrupt.cancel().is_cancelled() && !interrupt.hurry().is_cancelled());
        interrupt.signal(143);
        assert!(interrupt.hurry().is_cancelled());
        assert_eq!(interrupt.status(), Some(130));
    }

    #[test]
    fn a_signal_answers_the_open_question_and_leaves_the_command_alone() {
        let interrupt = Interrupt::default();
        let question = interrupt.question();
        interrupt.signal(130);
        assert!(question.refused().is_cancelled() && !interrupt.cancel().is_cancelled());
        drop(question);
        interrupt.signal(130);
        assert!(interrupt.cancel().is_cancelled());
    }
}
