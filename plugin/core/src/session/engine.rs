//! rmcp. The only file that sends on an rmcp peer.
