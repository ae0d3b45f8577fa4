//! How often a tool may be called: so many calls in a sliding window, for each tool and kind of caller.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    model::{CallerKind, ServerId},
};

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimit {
    /// So many calls; 1 to [`RateLimit::MOST_CALLS`].
    pub max_calls: u32,
    /// In so many seconds; 1 to a day.
    #[serde(default = "RateLimit::default_window")]
    pub window_seconds: u32,
}

impl RateLimit {
    /// No limit is wider: each call in the window is remembered.
    pub const MOST_CALLS: u32 = 100_000;

    fn default_window() -> u32 {
        60
    }

    /// Whether it can be meant.
    pub fn check(&self) -> Result<()> {
        if !(1..=Self::MOST_CALLS).contains(&self.max_calls) {
            let problem = format!("`maxCalls` must be 1 to {}; to forbid a tool, deny it", Self::MOST_CALLS);
            return Err(Error::invalid_input("/maxCalls", problem));
        }
        if !(1..=86_400).contains(&self.window_seconds) {
            return Err(Error::invalid_input("/windowSeconds", "`windowSeconds` must be 1 to 86400"));
        }
        Ok(())
    }

    fn window(&self) -> Duration {
        Duration::from_secs(self.window_seconds.into())
    }
}

/// The calls of the last windows.
#[derive(Debug, Default)]
pub struct Rates(HashMap<(CallerKind, ServerId, String), VecDeque<Duration>>);

impl Rates {
    /// Whether another call would be within the limit now. Takes nothing.
    ///
    /// # Errors
    ///
    /// `rate_limited` with the time after which there is room.
    pub fn look(
        &self,
        caller: CallerKind,
        server: &ServerId,
        tool: &str,
        limit: RateLimit,
        now: Duration,
    ) -> Result<()> {
        let Some(calls) = self.0.get(&(caller, server.clone(), tool.to_owned())) else { return Ok(()) };
        let recent = calls.iter().filter(|at| now < **at + limit.window()).count();
        let max = limit.max_calls as usize;
        // There is room when all but `max - 1` of the recent ones have left the window.
        let Some(last_to_leave) = recent.checked_sub(max) else { return Ok(()) };
        let left_already = calls.len() - recent;
        let free_at = calls.get(left_already + last_to_leave).map_or(now, |at| *at + limit.window());
        let RateLimit { max_calls, window_seconds } = limit;
        Err(Error::RateLimited {
            server: Some(server.clone()),
            message: format!("tool '{tool}' rate limit exceeded: {max_calls} calls per {window_seconds}s"),
            retry_after_ms: Some(u32::try_from(free_at.saturating_sub(now).as_millis()).unwrap_or(u32::MAX)),
        })
    }

    /// Takes a place for a call that is about to be sent.
    ///
    /// # Errors
    ///
    /// As [`Rates::look`]: another call may have come in between.
    pub fn take(
        &mut self,
        caller: CallerKind,
        server: &ServerId,
        tool: &str,
        limit: RateLimit,
        now: Duration,
    ) -> Result<()> {
        self.look(caller, server, tool, limit, now)?;
        let calls = self.0.entry((caller, server.clone(), tool.to_owned())).or_default();
        while calls.front().is_some_and(|at| *at + limit.window() <= now) {
            calls.pop_front();
        }
        calls.push_back(now);
        Ok(())
    }

    /// A server is gone, or its limits are others: nothing is remembered of it.
    pub fn forget(&mut self, server: &ServerId) {
        self.0.retain(|(_, of, _), _| of != server);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::{CallerKind::*, *};

    const LIMIT: RateLimit = RateLimit { max_calls: 3, window_seconds: 60 };

    fn files() -> ServerId {
        ServerId::parse("files").unwrap()
    }

    fn take(rates: &mut Rates, tool: &str, seconds: u64) -> Result<()> {
        rates.take(Page, &files(), tool, LIMIT, Duration::from_secs(seconds))
    }

    #[test]
    fn the_window_slides() {
        let mut rates = Rates::default();
        for seconds in [0, 20, 40] {
            take(&mut rates, "read", seconds).unwrap();
        }
        let Err(Error::RateLimited { message, retry_after_ms, .. }) = take(&mut rates, "read", 50) else { panic!() };
        assert_eq!(message, "tool 'read' rate limit exceeded: 3 calls per 60s");
        assert_eq!(retry_after_ms, Some(10_000));
        take(&mut rates, "read", 60).unwrap();
        assert!(take(&mut rates, "read", 79).is_err());
        take(&mut rates, "read", 80).unwrap();
    }

    #[test]
    fn looking_takes_nothing_and_a_refusal_neither() {
        let mut rates = Rates::default();
        let look = |rates: &Rates, seconds| rates.look(Page, &files(), "read", LIMIT, Duration::from_secs(seconds));
        for _ in 0..10 {
            look(&rates, 0).unwrap();
        }
        for _ in 0..3 {
            take(&mut rates, "read", 0).unwrap();
        }
        for _ in 0..10 {
            assert!(take(&mut rates, "read", 59).is_err());
        }
        look(&rates, 60).unwrap();
    }

    #[test]
    fn each_tool_and_kind_of_caller_has_its_own() {
        let mut rates = Rates::default();
        for _ in 0..3 {
            take(&mut rates, "read", 0).unwrap();
        }
        assert!(take(&mut rates, "read", 1).is_err());
        take(&mut rates, "write", 1).unwrap();
        rates.take(Agent, &files(), "read", LIMIT, Duration::from_secs(1)).unwrap();
        rates.forget(&files());
        take(&mut rates, "read", 1).unwrap();
    }

    #[test]
    fn a_narrower_limit_counts_the_calls_that_were_made() {
        let mut rates = Rates::default();
        for _ in 0..3 {
            take(&mut rates, "read", 0).unwrap();
        }
        let narrow = RateLimit { max_calls: 1, window_seconds: 60 };
        let Err(Error::RateLimited { retry_after_ms, .. }) =
            rates.look(Page, &files(), "read", narrow, Duration::from_secs(30))
        else {
            panic!()
        };
        assert_eq!(retry_after_ms, Some(30_000));
    }

    #[test]
    fn a_limit_that_cannot_be_meant_is_refused() {
        for (max_calls, window_seconds) in [(0, 60), (RateLimit::MOST_CALLS + 1, 60), (1, 0), (1, 86_401)] {
            assert!(RateLimit { max_calls, window_seconds }.check().is_err());
        }
        let limit: RateLimit = serde_json::from_str(r#"{"maxCalls":5}"#).unwrap();
        assert_eq!(limit, RateLimit { max_calls: 5, window_seconds: 60 });
        limit.check().unwrap();
    }
}
