//! The reference app with a profile of its own.
