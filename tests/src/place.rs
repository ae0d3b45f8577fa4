//! Where our programs and the real servers are, once `cargo xtask setup` and a build have run.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The root of the work tree.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Cargo's target folder: two above the running test or program (`target/debug[/deps]/…`).
pub fn target() -> PathBuf {
    let mut folder = env::current_exe().unwrap_or_else(|_| root().join("target/debug/x"));
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    folder.pop();
    folder
}

/// A program of this workspace, built by the same profile as the test that asks.
///
/// # Errors
/// It is not built.
pub fn binary(name: &str) -> Result<PathBuf> {
    let profile = env::current_exe()?;
    let folder = profile.ancestors().skip(1).find(|folder| !folder.ends_with("deps")).unwrap_or(Path::new("."));
    existing(folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)), "cargo build --workspace --bins")
}

/// What `cargo xtask setup` installed for this work tree.
pub fn tools() -> PathBuf {
    env::var_os("MCP_TEST_TOOLS").map_or_else(|| target().join("tools"), PathBuf::from)
}

/// tauri-driver.
///
/// # Errors
/// It is not installed.
pub fn tauri_driver() -> Result<PathBuf> {
    existing(tools().join("bin").join(format!("tauri-driver{}", env::consts::EXE_SUFFIX)), "cargo xtask setup")
}

/// A real server from npm (`everything`, `filesystem`, `memory`), as the path of its program.
///
/// # Errors
/// It is not installed.
pub fn npm_server(name: &str) -> Result<PathBuf> {
    existing(tools().join("node/node_modules/.bin").join(format!("mcp-server-{name}")), "cargo xtask setup")
}

/// A real server from PyPI (`time`), as the path of its program.
///
/// # Errors
/// It is not installed.
pub fn python_server(name: &str) -> Result<PathBuf> {
    existing(tools().join("py/bin").join(format!("mcp-server-{name}")), "cargo xtask setup")
}

/// A server that says what a JSON file tells it to say, as the path of its script; `node` runs it.
pub fn scripted_server() -> PathBuf {
    root().join("tests/servers/scripted.mjs")
}

fn existing(path: PathBuf, remedy: &str) -> Result<PathBuf> {
    if !path.exists() {
        bail!("`{}` is missing; run `{remedy}`", path.display());
    }
    Ok(path)
}
