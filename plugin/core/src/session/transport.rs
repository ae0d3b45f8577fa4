//! Carriers: what moves whole messages between an [`Exchange`](super::exchange::Exchange) and a server.
//!
//! A carrier takes what is to be written from [`next_outgoing`](super::exchange::Exchange::next_outgoing), hands what it
//! reads to [`accept`](super::exchange::Exchange::accept), and says once how the connection ended. It knows nothing of
//! ids, requests or MCP. It watches its stop token, ends on every path, and never waits for a server without a limit.

pub(super) mod lines;
pub(super) mod stdio;
