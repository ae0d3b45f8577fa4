//! Waiting for a condition, never for a time.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How often a condition is looked at.
const STEP: Duration = Duration::from_millis(25);

/// Long enough for anything on a busy machine with two cores; a test that needs it all has failed already.
pub const LONG: Duration = Duration::from_secs(30);

/// Looks at `condition` until it gives a value; an error that names `what` when `limit` has passed.
///
/// # Errors
/// The condition's own, at once; or that it never held.
pub fn until<T>(what: &str, limit: Duration, mut condition: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(value) = condition()? {
            return Ok(value);
        }
        if Instant::now() >= deadline {
            bail!("waited {} s in vain for {what}", limit.as_secs_f32());
        }
        std::thread::sleep(STEP);
    }
}

/// Looks at `condition` all through `span`; an error as soon as it does not hold.
///
/// For what must *not* happen: the span only bounds how long we look, so a slow machine cannot make it fail.
///
/// # Errors
/// The condition's own, or that it ceased to hold.
pub fn throughout(what: &str, span: Duration, mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + span;
    while Instant::now() < end {
        if !condition()? {
            bail!("did not stay so: {what}");
        }
        std::thread::sleep(STEP);
    }
    Ok(())
}
