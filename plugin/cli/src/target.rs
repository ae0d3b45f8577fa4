//! What a rule or a question is about, as it is typed: the core's `[SERVER/]TOOL`, as the core's own arguments want it.

use mcp_host_core::{
    host::GrantTarget,
    policy::target::{ServerPart, ToolPath},
};

/// `[SERVER/]TOOL`: the server, where one is named, and the tool's own name.
pub(crate) fn tool(text: &str) -> Result<(Option<String>, String), String> {
    let path = ToolPath::parse(text).map_err(|error| error.to_string())?;
    Ok((server(&path), path.tool.to_owned()))
}

/// What a rule is about. `denies`: only a deny may leave the server open with `*/`.
pub(crate) fn rule(text: &str, denies: bool) -> Result<GrantTarget, String> {
    let path = ToolPath::parse(text).map_err(|error| error.to_string())?;
    match (path.server, path.tool) {
        (ServerPart::Named(server), ToolPath::ALL) => Ok(GrantTarget::Server(server.to_owned())),
        (_, ToolPath::ALL) => Err(format!("`{text}` would be everything; name a server: `SERVER/*`")),
        (ServerPart::Every, tool) if !denies => {
            Err(format!("`{text}` is a tool of any server, which can only be denied; write `SERVER/{tool}`"))
        }
        (_, tool) => Ok(GrantTarget::Tool { server: server(&path), tool: tool.to_owned() }),
    }
}

fn server(path: &ToolPath<'_>) -> Option<String> {
    match path.server {
        ServerPart::Named(server) => Some(server.to_owned()),
        ServerPart::Bare | ServerPart::Every => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_slash_splits() {
        assert_eq!(tool("files/read"), Ok((Some("files".into()), "read".into())));
        assert_eq!(tool("local/a/b"), Ok((Some("local".into()), "a/b".into())));
        assert_eq!(tool("read"), Ok((None, "read".into())));
        assert!(tool("").is_err() && tool("files/").is_err() && tool("/read").is_err());
    }

    #[test]
    fn a_star_is_all_of_one_server() {
        assert_eq!(rule("files/*", false), Ok(GrantTarget::Server("files".into())));
        assert!(rule("*", true).is_err() && rule("*/*", true).is_err());
    }

    #[test]
    fn a_tool_of_any_server_can_only_be_denied() {
        assert_eq!(rule("*/a/b", true), Ok(GrantTarget::Tool { server: None, tool: "a/b".into() }));
        assert!(rule("*/a", false).is_err());
    }
}
