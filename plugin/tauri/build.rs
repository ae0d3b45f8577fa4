//! Generates the permissions of every command (what may be called by whom is decided by the two sets in
//! `permissions/`), and the table of the settings window's files, so that none of it is read from disk at run time.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

include!("src/command/name.rs");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let commands: Vec<&'static str> = PAGE_COMMANDS.iter().chain(ADMIN_COMMANDS).copied().collect();
    // Tauri wants a 'static list; a build script lives for this one call.
    tauri_plugin::Builder::new(commands.leak()).try_build()?;

    // Tauri links gtk here, so the dialog can be a window of our own.
    println!("cargo::rustc-check-cfg=cfg(gtk_dialog)");
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if ["linux", "freebsd", "openbsd", "netbsd", "dragonfly"].contains(&system.as_str()) {
        println!("cargo::rustc-cfg=gtk_dialog");
    }

    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("ui/dist");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    list(&root, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root)?.components().map(|part| part.as_os_str().to_string_lossy());
        let name = name.collect::<Vec<_>>().join("/");
        writeln!(table, "    ({:?}, include_bytes!({:?})),", format!("/{name}"), file.display().to_string())?;
    }
    table.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("assets.rs"), table)?;
    Ok(())
}

/// Every file below `folder`.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            list(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
