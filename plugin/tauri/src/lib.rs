//! A Tauri 2 plugin that lets a desktop app host MCP servers, with consent and an audit log.

mod bindings;
mod command;
mod document;
mod event;
mod hub;
mod relay;
mod settings;

/// The plugin's name, as in `plugin:mcp-host|list_servers`.
pub const PLUGIN_NAME: &str = "mcp-host";
