//! What may happen: the data that the person's decisions leave behind, and the one pure function that applies them.
//!
//! Everything here is data and pure functions: no file, no clock, no lock, no question to a person. `store` keeps the
//! data, `approval` asks, `host` enforces; [`decide`](decide::decide) is the only place that says yes.
//!
//! | module | its one job |
//! | --- | --- |
//! | [`mod@decide`] | the decision: facts in, verdict and rule name out |
//! | [`subject`] | what is asked for, as decisions look at it |
//! | [`mode`], [`class`] | what happens to a call that nothing else decides |
//! | [`rule`], [`condition`], [`target`] | what the person has said about calls to come |
//! | [`digest`], [`token`] | an exact call, approved before it is made |
//! | [`pin`] | what a definition was when the person approved it, and how it differs now |
//! | [`own_folder`] | whether a call leads into our own folders |
//! | [`fatigue`], [`rate`] | what a person is spared, and a server |
//! | [`state`] | what is kept of all this, and how it may be edited |

pub mod class;
pub mod condition;
pub mod decide;
pub mod digest;
pub mod fatigue;
pub mod mode;
pub mod own_folder;
pub mod pin;
pub mod rate;
pub mod rule;
pub mod state;
pub mod subject;
pub mod target;
pub mod token;

pub use decide::{Decision, Denial, Facts, RuleName, Verdict, decide};
