//! Tool definitions as the person approved them: their hash, their text, and the difference to what the server says now.
//!
//! A hash is made of *whatever* a server sends. What makes it change is what a person would call a change: not the order
//! of keys, not white space, not how a number is spelled.

mod hash;

pub use hash::definition_hash;
