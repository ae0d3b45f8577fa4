//! How fast progress is passed on: at most ten times in any second, in order, and the last one always.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use crate::{event::ProgressSink, model::Progress};

/// How often in a [`WINDOW`].
const TIMES: usize = 10;
const WINDOW: Duration = Duration::from_secs(1);

pub(super) struct Pace {
    sink: Option<ProgressSink>,
    waiting: VecDeque<Progress>,
    /// When the last ones were passed on; at most [`TIMES`] of them.
    passed: VecDeque<Instant>,
}

impl Pace {
    pub(super) fn new(sink: Option<ProgressSink>) -> Self {
        Self { sink, waiting: VecDeque::new(), passed: VecDeque::new() }
    }

    /// Takes in what the server said, oldest first.
    pub(super) fn add(&mut self, progress: VecDeque<Progress>) {
        if self.sink.is_some() {
            self.waiting.extend(progress);
        }
    }

    /// Passes on what may be passed on now. Of the rest only the latest is of interest.
    pub(super) fn pass_on(&mut self) {
        while self.may_pass() {
            let Some(progress) = self.waiting.pop_front() else { return };
            self.pass(progress);
        }
        let latest = self.waiting.pop_back();
        self.waiting.clear();
        self.waiting.extend(latest);
    }

    /// When the next one may be passed on, if one waits.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.front()?;
        self.passed.front().map(|first| *first + WINDOW)
    }

    /// The request is over: the last one is passed on whatever the pace.
    pub(super) fn finish(&mut self) {
        self.pass_on();
        if let Some(last) = self.waiting.pop_back() {
            self.pass(last);
        }
    }

    fn may_pass(&mut self) -> bool {
        let now = Instant::now();
        while self.passed.front().is_some_and(|first| now.duration_since(*first) >= WINDOW) {
            self.passed.pop_front();
        }
        self.passed.len() < TIMES
    }

    fn pass(&mut self, progress: Progress) {
        self.passed.push_back(Instant::now());
        if let Some(sink) = &mut self.sink {
            sink(progress);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn paced() -> (Pace, Arc<Mutex<Vec<f64>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&seen);
        let sink: ProgressSink = Box::new(move |progress: Progress| into.lock().unwrap().push(progress.progress));
        (Pace::new(Some(sink)), seen)
    }

    fn steps(range: std::ops::Range<u32>) -> VecDeque<Progress> {
        range.map(|step| Progress { progress: step.into(), total: None, message: None }).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_steps_all_arrive_and_of_a_flood_ten_a_second_and_the_last() {
        let (mut pace, seen) = paced();
        pace.add(steps(0..3));
        pace.pass_on();
        assert_eq!(*seen.lock().unwrap(), [0.0, 1.0, 2.0]);
        for step in 3..500 {
            pace.add(steps(step..step + 1));
            pace.pass_on();
        }
        assert_eq!(*seen.lock().unwrap(), (0..10).map(f64::from).collect::<Vec<_>>());
        let due = pace.next_due().unwrap();
        tokio::time::sleep_until(due).await;
        pace.pass_on();
        assert_eq!(seen.lock().unwrap().len(), 11);
        assert_eq!(seen.lock().unwrap().last(), Some(&499.0));
        assert!(pace.next_due().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_one_is_passed_on_at_the_end_however_many_there_were() {
        let (mut pace, seen) = paced();
        pace.add(steps(0..200));
        pace.finish();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 11);
        assert_eq!(seen.last(), Some(&199.0));
        assert!(seen.is_sorted());
    }
}
