//! The reference desktop app: a page in TauriTavern's manner over `tauri-plugin-mcp-host`.
//!
//! The page is untrusted, and is given what TauriTavern gives its own: no CSP, a global Tauri, wide file scopes, and
//! extensions that run in it. What it may do with MCP is the plugin's to say, and nothing here helps it.

// No console window besides the app on Windows.
#![cfg_attr(all(windows, not(debug_assertions)), windows_subsystem = "windows")]

mod extension;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use tauri_plugin_mcp_host::{DialogKind, Language};
use tracing_subscriber::EnvFilter;

/// A TauriTavern-shaped page that hosts MCP servers.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Keep servers, rules and logs in this folder instead of the product's own
    #[arg(long, env = "MCP_HOST_CONFIG_DIR", value_name = "DIR")]
    config_dir: Option<PathBuf>,
    /// Language of the dialogs and the settings window: `en` or `zh-CN`; the system's if absent
    #[arg(long)]
    lang: Option<String>,
    /// Permission mode for this run
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<String>,
    /// Ask by the system's message dialogs, in steps (debug builds only)
    #[arg(long)]
    dialog_in_steps: bool,
}

impl Options {
    fn plugin(self) -> tauri_plugin_mcp_host::Builder {
        let mut plugin = tauri_plugin_mcp_host::Builder::new();
        if let Some(folder) = self.config_dir {
            plugin = plugin.config_dir(folder);
        }
        if let Some(lang) = self.lang {
            plugin =
                plugin.language(if lang.starts_with("zh") { Language::SimplifiedChinese } else { Language::English });
        }
        if let Some(mode) = self.permission_mode {
            plugin = plugin.permission_mode(mode);
        }
        if self.dialog_in_steps {
            plugin = plugin.dialog(DialogKind::Steps);
        }
        plugin
    }
}

fn main() -> Result<()> {
    // rmcp warns of each question of a server that it refuses: a hostile one could fill the terminal.
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,rmcp=error,mcp_host_app=info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let options = Options::parse();
    tauri::Builder::default()
        .plugin(tauri_plugin_fs::init())
        .plugin(options.plugin().build())
        .register_uri_scheme_protocol(extension::SCHEME, |context, request| extension::respond(&context, &request))
        .invoke_handler(tauri::generate_handler![extension::list_extensions])
        .setup(|app| {
            extension::install_bundled(app.handle())?;
            Ok(())
        })
        .run(tauri::generate_context!())
        .context("the app ended with an error")
}
