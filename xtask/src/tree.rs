//! Where things are in this work tree, and which program to start. Knows paths, runs nothing.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the work tree.
pub(crate) fn root() -> PathBuf {
    // CARGO_MANIFEST_DIR of the running binary may be another clone's when a target folder is shared.
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), Into::into);
    manifest.parent().map_or(manifest.clone(), Path::to_path_buf)
}

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// What `setup` installs for this work tree alone: npm servers, the Python environment, tauri-driver.
pub(crate) fn tools() -> PathBuf {
    target().join("tools")
}

/// A program that `setup` installed there.
pub(crate) fn tool(name: &str) -> PathBuf {
    tools().join("bin").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

/// A binary of ours, built by the `dev` profile.
pub(crate) fn binary(name: &str) -> PathBuf {
    target().join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

/// The cargo that runs us.
pub(crate) fn cargo() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), Into::into)
}
