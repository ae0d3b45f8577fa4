//! What a fresh machine lacks, installed once: Debian packages, npm packages, real MCP servers, tauri-driver.
//!
//! Each step looks before it acts and leaves a stamp of what it was made from, so that a second run costs
//! milliseconds. It must never change anything outside the work tree except by the system's own package manager.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::command::Run;
use crate::tree;

/// To compile the app and its pages.
const BUILD_PACKAGES: &[&str] =
    &["build-essential", "pkg-config", "libwebkit2gtk-4.1-dev", "libgtk-3-dev", "libdbus-1-dev"];

/// To run it in a window that nobody sees, press its buttons, read what a screen reader would, and look at it.
const TEST_PACKAGES: &[&str] = &[
    "xvfb",         // a display
    "openbox",      // without a window manager there is no focus to speak of
    "xdotool",      // real key and mouse events
    "dbus",         // a session bus of its own
    "at-spi2-core", // the accessibility bus
    "python3-gi",   // … read from Python
    "gir1.2-atspi-2.0",
    "webkit2gtk-driver", // WebKitWebDriver
    "gnome-keyring",     // a Secret Service
    "imagemagick",       // screenshots
    "x11-utils",         // xwininfo, xprop
    "chromium",          // components of the settings window, without a window
    "fonts-dejavu-core",
    "fonts-noto-cjk", // Chinese
    "python3-venv",   // servers from PyPI
    "util-linux",     // setpriv: children end with the test that started them
];

/// A program, not a library we link: it stands between a WebDriver client and WebKitWebDriver.
const TAURI_DRIVER: (&str, &str) = ("tauri-driver", "2.1.0");

/// Licences, sources and bans of everything we link.
const CARGO_DENY: (&str, &str) = ("cargo-deny", "0.20.2");

/// vite 8 needs it.
const NODE: (u32, u32) = (20, 19);

/// A step that only the person at the machine can do; xtask exits 2.
#[derive(Debug)]
pub(crate) struct NeedsPerson(String);

impl fmt::Display for NeedsPerson {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for NeedsPerson {}

/// All of it.
pub(crate) fn everything() -> Result<()> {
    lint()?;
    desktop()
}

/// To compile the app and its pages.
pub(crate) fn build() -> Result<()> {
    node_version()?;
    system_packages(BUILD_PACKAGES)?;
    npm_workspace()
}

/// To lint as well.
pub(crate) fn lint() -> Result<()> {
    build()?;
    cargo_program(CARGO_DENY)
}

/// To test, and to drive the app on a desktop that nobody sees.
pub(crate) fn desktop() -> Result<()> {
    node_version()?;
    system_packages(&[BUILD_PACKAGES, TEST_PACKAGES].concat())?;
    npm_workspace()?;
    npm_servers()?;
    python_servers()?;
    cargo_program(TAURI_DRIVER)
}

fn node_version() -> Result<()> {
    let advice = "Node.js 20.19 or newer is needed, with npm, on the PATH (Debian 12's own is 18)";
    let version = Run::new("node").args(["--version"]).read().map_err(|_| NeedsPerson(advice.into()))?;
    let mut parts = version.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found < NODE {
        return Err(NeedsPerson(format!("{advice}; this one is {version}")).into());
    }
    Ok(())
}

fn system_packages(wanted: &[&str]) -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    if Run::new("dpkg-query").args(["--version"]).read().is_err() {
        println!("setup: no dpkg here; what Debian calls {} must be installed", wanted.join(" "));
        return Ok(());
    }
    let missing: Vec<&str> = wanted.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut prefix: Vec<&str> = Vec::new();
    if Run::new("id").args(["-u"]).read()? != "0" {
        if Run::new("sudo").args(["-n", "true"]).read().is_err() {
            return Err(NeedsPerson(format!(
                "these Debian packages are missing and only root can install them; run this, then try again:\n\n  \
                 sudo apt-get update && sudo apt-get install -y --no-install-recommends {}\n",
                missing.join(" ")
            ))
            .into());
        }
        prefix.extend(["sudo", "-n"]);
    }
    prefix.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]);
    let (program, first) = prefix.split_first().context("a command")?;
    let apt = |arguments: &[&str]| Run::new(program).args(first.iter().chain(arguments)).run();
    apt(&["update"])?;
    apt(&[&["install", "-y", "--no-install-recommends"], missing.as_slice()].concat())
}

fn is_installed(package: &str) -> bool {
    let status = Run::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package]).read();
    status.is_ok_and(|status| status == "installed")
}

fn npm_workspace() -> Result<()> {
    let root = tree::root();
    let lock = root.join("package-lock.json");
    stamped("npm", &root.join("node_modules"), &[&lock], || {
        Run::new("npm").args(["ci", "--no-audit", "--no-fund"]).run()
    })
}

/// Real servers that other people wrote, at pinned versions.
fn npm_servers() -> Result<()> {
    let folder = tree::tools().join("node");
    let (list, lock) = (servers().join("package.json"), servers().join("package-lock.json"));
    stamped("npm-servers", &folder.join("node_modules"), &[&list, &lock], || {
        fs::create_dir_all(&folder)?;
        fs::copy(&list, folder.join("package.json"))?;
        fs::copy(&lock, folder.join("package-lock.json"))?;
        Run::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).in_folder(&folder).run()
    })
}

fn python_servers() -> Result<()> {
    let folder = tree::tools().join("py");
    let list = servers().join("requirements.txt");
    stamped("python-servers", &folder.join("bin"), &[&list], || {
        // Debian's own interpreter: another one in front of it on the PATH may lack `venv`, or be gone tomorrow.
        let python = if Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { "python3" };
        Run::new(python).args(["-m", "venv", "--clear"]).args([&folder]).run()?;
        Run::new(folder.join("bin/pip")).args(["install", "--quiet", "--no-deps", "--requirement"]).args([&list]).run()
    })
}

fn cargo_program((name, version): (&str, &str)) -> Result<()> {
    let binary = tree::tool(name);
    let stamp = tree::tools().join(format!("{name}-{version}.stamp"));
    if stamp.exists() && binary.exists() {
        return Ok(());
    }
    // Debug: they run for seconds, and half of the time to build them is saved.
    Run::cargo()
        .args(["install", "--quiet", "--locked", "--debug", "--force", "--root"])
        .args([tree::tools()])
        .args(["--version", version, name])
        .env("CARGO_TARGET_DIR", tree::target().join("tools-build"))
        .run()?;
    fs::write(stamp, "")?;
    Ok(())
}

fn servers() -> std::path::PathBuf {
    tree::root().join("tests/servers")
}

/// Runs `make` unless `made` exists and was made from these very inputs.
fn stamped(name: &str, made: &Path, inputs: &[&Path], make: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut state = Vec::new();
    for input in inputs {
        state.extend(fs::read(input).with_context(|| format!("`{}` is missing", input.display()))?);
        state.push(b'\n');
    }
    let stamp = tree::tools().join(format!("{name}.stamp"));
    if made.exists() && fs::read(&stamp).is_ok_and(|before| before == state) {
        return Ok(());
    }
    make()?;
    if !made.exists() {
        bail!("setup step `{name}` succeeded but left no `{}`", made.display());
    }
    fs::create_dir_all(tree::tools())?;
    fs::write(stamp, state)?;
    Ok(())
}
