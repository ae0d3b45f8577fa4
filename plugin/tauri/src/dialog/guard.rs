//! When keys and buttons count: once a dialog has stood still, whole and focused for 600 ms (policy.md §8).
//!
//! Pure: time comes in, yes or no goes out. Whoever types while the dialog appears, or clicks where it appears, does
//! not answer it. Pressing something too early starts the count again, so that a key held down never gets through.

use std::time::{Duration, Instant};

/// How long a dialog has to stand before it can be answered.
pub(crate) const STILL: Duration = Duration::from_millis(600);

/// What is known about the dialog's window.
#[derive(Debug)]
pub(crate) struct Guard {
    mapped: bool,
    focused: bool,
    /// Where the platform does not tell, true.
    unobscured: bool,
    /// The last time that anything changed or was pressed too early.
    disturbed: Instant,
}

impl Guard {
    /// A window that is not shown yet. `tells_visibility`: the platform will say when it is covered (X11).
    pub(crate) fn new(now: Instant, tells_visibility: bool) -> Self {
        Self { mapped: false, focused: false, unobscured: !tells_visibility, disturbed: now }
    }

    /// It is on the screen, or no longer.
    pub(crate) fn set_mapped(&mut self, now: Instant, mapped: bool) {
        self.mapped = mapped;
        self.disturb(now);
    }

    /// It has the keyboard, or no longer.
    pub(crate) fn set_focused(&mut self, now: Instant, focused: bool) {
        self.focused = focused;
        self.disturb(now);
    }

    /// Nothing covers it, or something does.
    pub(crate) fn set_unobscured(&mut self, now: Instant, unobscured: bool) {
        self.unobscured = unobscured;
        self.disturb(now);
    }

    /// It moved, changed its size or its content, or something was pressed too early.
    pub(crate) fn disturb(&mut self, now: Instant) {
        self.disturbed = now;
    }

    /// Whether an answer counts now.
    pub(crate) fn is_open(&self, now: Instant) -> bool {
        self.mapped && self.focused && self.unobscured && now.saturating_duration_since(self.disturbed) >= STILL
    }

    /// Whether only time is missing.
    pub(crate) fn is_settling(&self) -> bool {
        self.mapped && self.focused && self.unobscured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    #[test]
    fn it_opens_after_600_ms_of_standing_mapped_focused_and_unobscured() {
        let start = Instant::now();
        let mut guard = Guard::new(start, true);
        assert!(!guard.is_open(at(start, 10_000)));
        guard.set_mapped(at(start, 100), true);
        guard.set_unobscured(at(start, 150), true);
        assert!(!guard.is_open(at(start, 10_000)), "not focused");
        guard.set_focused(at(start, 200), true);
        assert!(!guard.is_open(at(start, 799)));
        assert!(guard.is_open(at(start, 800)));
    }

    #[test]
    fn every_disturbance_starts_the_count_again() {
        let start = Instant::now();
        let disturbances: [fn(&mut Guard, Instant); 5] = [
            |guard, now| guard.disturb(now),
            |guard, now| guard.set_mapped(now, true),
            |guard, now| guard.set_focused(now, true),
            |guard, now| guard.set_unobscured(now, true),
            |guard, now| {
                guard.set_unobscured(now, false);
                guard.set_unobscured(now, true);
            },
        ];
        for disturb in disturbances {
            let mut guard = Guard::new(start, true);
            guard.set_mapped(start, true);
            guard.set_focused(start, true);
            guard.set_unobscured(start, true);
            assert!(guard.is_open(at(start, 600)));
            disturb(&mut guard, at(start, 700));
            assert!(!guard.is_open(at(start, 1299)));
            assert!(guard.is_open(at(start, 1300)));
        }
    }

    #[test]
    fn it_stays_shut_while_covered_unfocused_or_gone() {
        let start = Instant::now();
        let losses: [fn(&mut Guard, Instant); 3] = [
            |guard, now| guard.set_mapped(now, false),
            |guard, now| guard.set_focused(now, false),
            |guard, now| guard.set_unobscured(now, false),
        ];
        for lose in losses {
            let mut guard = Guard::new(start, false);
            guard.set_mapped(start, true);
            guard.set_focused(start, true);
            assert!(guard.is_open(at(start, 600)), "a platform that does not tell counts as unobscured");
            lose(&mut guard, at(start, 600));
            assert!(!guard.is_open(at(start, 60_000)));
        }
    }
}
