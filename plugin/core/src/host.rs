//! (being written)
pub struct Host;
