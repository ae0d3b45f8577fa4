//! The audit log: who asked for what, what was shown, who decided and by which rule, what happened.
//!
//! | part | its one job |
//! | --- | --- |
//! | [`AuditLog`] | the log of this run: opened with its first record, ended cleanly by its last clone |
//! | [`Requested`], [`Sent`] | one call's steps, in their only order; neither two outcomes nor none |
//! | [`Event`] | everything else that is written down |
//! | [`Redactor`] | what must not stand in it |
//! | [`verify`] | whether a log is what was written |
//! | [`query`] | reading it, newest first |
//! | `record`, `anchor`, `run_list` | a line and its chain; how far a log came; which logs there are |
//!
//! Stands on `store` (folder, key) and below `session` and `host`, which write to it. What must never happen here: a call
//! that is sent without its record, a secret that is known in a record, a log that is trusted without being verified.

mod anchor;
mod call;
mod event;
mod log;
mod pattern;
pub mod query;
mod record;
mod redact;
mod run_list;
pub mod verify;

pub use call::{Completed, Receipt, Refusal, Requested, Sent, Subject};
pub use event::{Event, PinChange, RuleChange, ServerChange, TokenChange};
pub use log::{AuditLog, AuditOptions, Origin};
pub use redact::Redactor;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
mod tests;
