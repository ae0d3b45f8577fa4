//! A person who has said no is not asked the same again and again.
//!
//! In the memory of this process; times are monotonic.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use crate::model::{CallerKind, ServerId};

/// So many denials of one tool…
const DENIALS: usize = 3;
/// …within this time…
const WITHIN: Duration = Duration::from_secs(60);
/// …or so many in a row of any tools…
const IN_A_ROW: usize = 5;
/// …silence for this long.
const SILENCE: Duration = Duration::from_secs(5 * 60);
/// "Deny everything from page scripts for 10 minutes".
const EVERYTHING: Duration = Duration::from_secs(10 * 60);

/// What a person does not want now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Silence {
    /// To be asked: what would be a question is denied.
    Questions,
    /// That anything is done: denied whatever else would allow it.
    Everything,
}

/// What the person has answered lately.
#[derive(Debug, Default)]
pub struct Fatigue(HashMap<CallerKind, Patience>);

#[derive(Debug, Default)]
struct Patience {
    in_a_row: usize,
    denials: HashMap<(ServerId, String), VecDeque<Duration>>,
    silenced: HashMap<(ServerId, String), Duration>,
    silenced_until: Option<Duration>,
    everything_until: Option<Duration>,
}

impl Fatigue {
    /// The person said no, in so many words. (A question that ran out or was closed does not count.)
    pub fn denied(&mut self, caller: CallerKind, server: &ServerId, name: &str, now: Duration) {
        let patience = self.0.entry(caller).or_default();
        patience.forget(now);
        let key = (server.clone(), name.to_owned());
        let denials = patience.denials.entry(key.clone()).or_default();
        denials.push_back(now);
        if denials.len() >= DENIALS {
            patience.denials.remove(&key);
            patience.silenced.insert(key, now + SILENCE);
        }
        patience.in_a_row += 1;
        if patience.in_a_row >= IN_A_ROW {
            patience.in_a_row = 0;
            patience.silenced_until = Some(now + SILENCE);
        }
    }

    /// The person said yes: the row is broken.
    pub fn allowed(&mut self, caller: CallerKind) {
        if let Some(patience) = self.0.get_mut(&caller) {
            patience.in_a_row = 0;
        }
    }

    /// The person wants nothing of this kind of caller for ten minutes.
    pub fn deny_everything(&mut self, caller: CallerKind, now: Duration) {
        self.0.entry(caller).or_default().everything_until = Some(now + EVERYTHING);
    }

    /// The person wants to be asked again.
    pub fn forgive(&mut self, caller: CallerKind) {
        self.0.remove(&caller);
    }

    /// What the person does not want now, of this caller's kind and for this tool.
    pub fn silence(&self, caller: CallerKind, server: &ServerId, name: &str, now: Duration) -> Option<Silence> {
        let patience = self.0.get(&caller)?;
        let lasts = |until: Option<&Duration>| until.is_some_and(|until| now < *until);
        if lasts(patience.everything_until.as_ref()) {
            Some(Silence::Everything)
        } else if lasts(patience.silenced_until.as_ref())
            || lasts(patience.silenced.get(&(server.clone(), name.to_owned())))
        {
            Some(Silence::Questions)
        } else {
            None
        }
    }
}

impl Patience {
    fn forget(&mut self, now: Duration) {
        self.silenced.retain(|_, until| now < *until);
        self.denials.retain(|_, denials| {
            while denials.front().is_some_and(|at| *at + WITHIN <= now) {
                denials.pop_front();
            }
            !denials.is_empty()
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{CallerKind::*, *};

    fn id(text: &str) -> ServerId {
        ServerId::parse(text).unwrap()
    }

    fn deny(fatigue: &mut Fatigue, tool: &str, seconds: u64) {
        fatigue.denied(Page, &id("files"), tool, Duration::from_secs(seconds));
    }

    fn silence(fatigue: &Fatigue, caller: CallerKind, tool: &str, seconds: u64) -> Option<Silence> {
        fatigue.silence(caller, &id("files"), tool, Duration::from_secs(seconds))
    }

    #[test]
    fn three_denials_in_a_minute_silence_that_tool_for_five() {
        let mut fatigue = Fatigue::default();
        deny(&mut fatigue, "write", 0);
        deny(&mut fatigue, "write", 30);
        assert_eq!(silence(&fatigue, Page, "write", 31), None);
        deny(&mut fatigue, "write", 59);
        assert_eq!(silence(&fatigue, Page, "write", 60), Some(Silence::Questions));
        assert_eq!(silence(&fatigue, Page, "write", 59 + 299), Some(Silence::Questions));
        assert_eq!(silence(&fatigue, Page, "write", 59 + 300), None);
        assert_eq!(silence(&fatigue, Page, "read", 60), None);
        assert_eq!(silence(&fatigue, Agent, "write", 60), None);
        assert_eq!(fatigue.silence(Page, &id("other"), "write", Duration::from_secs(60)), None);
    }

    #[test]
    fn denials_that_are_far_apart_silence_nothing() {
        let mut fatigue = Fatigue::default();
        for seconds in [0, 30, 60, 90] {
            deny(&mut fatigue, "write", seconds);
            assert_eq!(silence(&fatigue, Page, "write", seconds), None);
        }
    }

    #[test]
    fn five_in_a_row_silence_the_kind_of_caller() {
        let mut fatigue = Fatigue::default();
        for (seconds, tool) in [(0, "a"), (100, "b"), (200, "c"), (300, "d")] {
            deny(&mut fatigue, tool, seconds);
        }
        assert_eq!(silence(&fatigue, Page, "x", 301), None);
        deny(&mut fatigue, "e", 400);
        assert_eq!(silence(&fatigue, Page, "x", 401), Some(Silence::Questions));
        assert_eq!(silence(&fatigue, Agent, "x", 401), None);
        assert_eq!(silence(&fatigue, Page, "x", 700), None);
    }

    #[test]
    fn a_yes_breaks_the_row() {
        let mut fatigue = Fatigue::default();
        for round in 0..4 {
            deny(&mut fatigue, "a", round * 100);
        }
        fatigue.allowed(Page);
        deny(&mut fatigue, "b", 400);
        assert_eq!(silence(&fatigue, Page, "x", 401), None);
    }

    #[test]
    fn everything_can_be_denied_for_ten_minutes_and_forgiven() {
        let mut fatigue = Fatigue::default();
        fatigue.deny_everything(Page, Duration::from_secs(0));
        assert_eq!(silence(&fatigue, Page, "x", 599), Some(Silence::Everything));
        assert_eq!(silence(&fatigue, Page, "x", 600), None);
        assert_eq!(silence(&fatigue, Agent, "x", 1), None);
        fatigue.forgive(Page);
        assert_eq!(silence(&fatigue, Page, "x", 1), None);
    }
}
