//! One run for everybody who wants the same thing at the same time.

use std::{
    future::Future,
    sync::{Mutex, PoisonError},
};

use tokio::sync::watch;

/// Work that is under way at most once; whoever comes meanwhile waits for the same outcome.
///
/// The work runs in a task of its own: a waiter that gives up ends neither it nor the others.
#[derive(Debug)]
pub(super) struct Flight<T>(Mutex<Option<watch::Receiver<Option<T>>>>);

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone + Send + Sync + 'static> Flight<T> {
    /// The outcome of the run that is under way, else of `work`, which is started. `None`: its task died.
    pub(super) async fn join<W>(&self, work: impl FnOnce() -> W) -> Option<T>
    where
        W: Future<Output = T> + Send + 'static,
    {
        let mut outcome = self.start(work);
        outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone())
    }

    /// Ends when no run is under way.
    pub(super) async fn landed(&self) {
        let outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(mut outcome) = outcome {
            // An error is a task that died, which is over too.
            let _ = outcome.wait_for(Option::is_some).await;
        }
    }

    fn start<W>(&self, work: impl FnOnce() -> W) -> watch::Receiver<Option<T>>
    where
        W: Future<Output = T> + Send + 'static,
    {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = under_way.as_ref()
            && outcome.borrow().is_none()
            && outcome.has_changed().is_ok()
        {
            return outcome.clone();
        }
        let (done, outcome) = watch::channel(None);
        let work = work();
        tokio::spawn(async move {
            let _ = done.send(Some(work.await));
        });
        *under_way = Some(outcome.clone());
        outcome
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_wait_for_one_run_and_the_next_one_runs_anew() {
        let runs = Arc::new(AtomicU32::new(0));
        let flight = Arc::new(Flight::default());
        let work = |runs: Arc<AtomicU32>| async move {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            runs.fetch_add(1, Ordering::SeqCst)
        };
        let mut tasks = Vec::new();
        for _ in 0..10 {
            let (flight, runs) = (flight.clone(), runs.clone());
            tasks.push(tokio::spawn(async move { flight.join(|| work(runs)).await }));
        }
        for task in tasks {
            assert_eq!(task.await.unwrap(), Some(0));
        }
        assert_eq!(flight.join(|| work(runs.clone())).await, Some(1));
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_gives_up_does_not_end_the_run() {
        let flight = Arc::new(Flight::default());
        let slow = || async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            7
        };
        let impatient = tokio::time::timeout(std::time::Duration::from_millis(10), flight.join(slow)).await;
        assert!(impatient.is_err());
        assert_eq!(flight.join(|| async { 8 }).await, Some(7));
    }
}
