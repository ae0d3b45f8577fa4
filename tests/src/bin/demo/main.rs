//! What `cargo xtask demo` starts: the reference app with the demo server configured.
//!
//! With a display it is the person's. With `--tour` it runs on a desktop that nobody sees, and this program is the
//! person: it reads what a screen reader would, presses what a hand would, and leaves pictures in `target/demo`.

#![allow(clippy::print_stdout, reason = "the transcript is the point")]

#[cfg(target_os = "linux")]
mod tour;

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use mcp_tests::place;

#[derive(Parser)]
struct Demo {
    /// Drive the app on a desktop that nobody sees, instead of leaving it to the person
    #[arg(long)]
    tour: bool,
    /// Dark colours
    #[arg(long)]
    dark: bool,
    /// `en` or `zh-CN`; the system's if absent
    #[arg(long)]
    lang: Option<String>,
}

fn main() -> Result<()> {
    let demo = Demo::parse();
    if demo.tour {
        #[cfg(target_os = "linux")]
        return tour::run(demo.dark, demo.lang.as_deref());
        #[cfg(not(target_os = "linux"))]
        anyhow::bail!("the tour needs Xvfb, and so Linux");
    }
    leave_to_the_person(&demo)
}

fn leave_to_the_person(demo: &Demo) -> Result<()> {
    // A folder of its own, kept from one demo to the next: the person's own servers and rules are not touched.
    let folder = place::target().join("demo-home");
    fs::create_dir_all(&folder)?;
    if !folder.join("servers.json").exists() {
        let mut add = Command::new(place::binary("mcp-host")?);
        add.arg("--config-dir").arg(&folder).args(["servers", "add", "demo", "--"]).arg(place::binary("demo-server")?);
        ensure!(add.status()?.success(), "the demo server could not be added");
    }
    let mut app = Command::new(place::binary("mcp-host-app")?);
    app.arg("--config-dir").arg(&folder);
    if let Some(lang) = &demo.lang {
        app.args(["--lang", lang]);
    }
    if demo.dark {
        app.env("GTK_THEME", "Adwaita:dark");
    }
    println!("Servers, rules and the log of this demo are in {}.", folder.display());
    println!(
        "In the window: connect «demo», call one of its tools, answer the dialog, open the settings. Close it to end."
    );
    let status = app.status().context("the app could not be started")?;
    ensure!(status.success(), "the app ended with {status}");
    Ok(())
}
