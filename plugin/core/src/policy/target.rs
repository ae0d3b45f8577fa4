//! `[SERVER/]TOOL` as people write it.

use crate::{
    error::{Error, Result},
    model::ServerId,
};

/// The server part of `[SERVER/]TOOL`, as written: a key of servers.json stands there as well as an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerPart<'a> {
    /// There is none: the local tool, the called server's, or that name anywhere; the caller of the parser knows.
    Bare,
    /// `*/`: that name on every server.
    Every,
    /// `SERVER/`.
    Named(&'a str),
}

/// A tool as it is named on the command line. The first `/` always splits, so a local tool with a slash in its name is
/// written `local/a/b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolPath<'a> {
    /// Whose.
    pub server: ServerPart<'a>,
    /// The tool's own name; [`ToolPath::ALL`] stands for all of them.
    pub tool: &'a str,
}

impl<'a> ToolPath<'a> {
    /// `SERVER/*`.
    pub const ALL: &'static str = "*";

    /// Reads `[SERVER/]TOOL`.
    pub fn parse(text: &'a str) -> Result<Self> {
        let (server, tool) = match text.split_once('/') {
            None => (ServerPart::Bare, text),
            Some(("*", tool)) => (ServerPart::Every, tool),
            Some((server, tool)) => (ServerPart::Named(server), tool),
        };
        if tool.is_empty() || server == ServerPart::Named("") {
            return Err(Error::invalid_input(
                "/tool",
                format!("`{text}` does not name a tool; write `SERVER/TOOL`, or the name of a tool alone"),
            ));
        }
        Ok(Self { server, tool })
    }

    /// The server as an id; `None` where none is named. `resolve` turns what is written into an id.
    pub(super) fn server_id(&self, resolve: impl FnOnce(&str) -> Result<ServerId>) -> Result<Option<ServerId>> {
        match self.server {
            ServerPart::Named(name) => resolve(name).map(Some),
            ServerPart::Bare | ServerPart::Every => Ok(None),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_slash_splits() {
        let path = |text| ToolPath::parse(text).unwrap();
        assert_eq!(path("read"), ToolPath { server: ServerPart::Bare, tool: "read" });
        assert_eq!(path("files/read"), ToolPath { server: ServerPart::Named("files"), tool: "read" });
        assert_eq!(path("local/a/b"), ToolPath { server: ServerPart::Named("local"), tool: "a/b" });
        assert_eq!(path("*/a/b"), ToolPath { server: ServerPart::Every, tool: "a/b" });
        assert_eq!(path("My Files/*"), ToolPath { server: ServerPart::Named("My Files"), tool: ToolPath::ALL });
    }

    #[test]
    fn a_name_that_is_not_there_is_refused() {
        for text in ["", "/", "/read", "files/", "*/"] {
            assert!(ToolPath::parse(text).is_err(), "{text}");
        }
    }
}
