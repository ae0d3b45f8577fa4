//! Carriers: what moves whole messages to and from a server.
