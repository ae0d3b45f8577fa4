//! What may happen: the data that the person's decisions leave behind, and the one pure function that applies them.
//!
//! Everything here is data and pure functions: no file, no clock, no lock, no question to a person. `store` keeps the
//! data, `approval` asks, `host` enforces; [`decide`](decide::decide) is the only place that says yes.
//!
//! | module | its one job |
//! | --- | --- |
//! | [`digest`] | arguments in the form that is hashed, shown and sent; the digest of a call |
//! | [`pin`] | what a definition was when the person approved it, and how it differs now |
//! | [`target`] | `[SERVER/]TOOL` |

pub mod digest;
pub mod pin;
pub mod target;
