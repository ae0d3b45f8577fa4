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
//! | `record`, `run`, `anchor`, `run_list` | a line and its chain; an open file; how far it came; which logs there are |
//!
//! Stands on `store` (folder, key) and below `session` and `host`, which write to it. What must never happen here: a call
//! that is sent without its record, a secret that is known in a record, a log that is trusted without being verified.

mod anchor;
mod call;
mod event;
mod judge;
mod log;
mod pattern;
pub mod query;
mod record;
mod redact;
mod report;
mod run;
mod run_list;
mod subject;
pub mod verify;

pub use call::{Receipt, Refusal, Requested, Sent};
pub use event::{Event, PinChange, RuleChange, ServerChange, TokenChange};
pub use log::{AuditLog, AuditOptions, Origin};
pub use redact::Redactor;
pub use subject::{Completed, Subject};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
mod tests;
