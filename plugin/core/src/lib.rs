//! A governed MCP host without a user interface.
//!
//! Read the modules from top to bottom: each imports only what stands above it.
//!
//! | module | its one job |
//! | --- | --- |
//! | [`model`] | the vocabulary: ids, JSON as it was written, summaries, calls, results |
//! | [`error`] | what can go wrong, its code, and who may read which part of it |
//! | [`clock`] | time and sleep, behind a port |
//! | [`store`] | the product's folder: paths, locks, atomic and sealed files, the master key |
//! | [`event`] | what the host tells its embedder |
//! | [`config`] | servers.json: reading, editing, variables, launches and their fingerprint |
//! | [`policy`] | rules, pins, digests, tokens, and the one pure `decide` |
//! | [`approval`] | the question put to a person, the queue before it, and `Approved` |
//! | [`audit`] | the hash-chained log: records, redaction, verification |
//! | [`session`] | one live connection to one server |
//! | [`host`] | servers by id, and the choke point that every call goes through |
//!
//! What must never happen here: a call that was not decided, a decision that was not written down, a panic on data
//! from outside, an allocation whose size a stranger chooses.

pub mod approval;
pub mod audit;
pub mod clock;
pub mod config;
pub mod error;
pub mod event;
pub mod host;
pub mod model;
pub mod policy;
pub mod session;
pub mod store;

pub use error::{Error, ErrorCode, ErrorInfo, Result};
pub use host::Host;
