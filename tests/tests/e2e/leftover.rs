//! Nothing that a server started outlives it: not its wrapper, not its children, not a stubborn one.

use anyhow::{Result, ensure};
use mcp_tests::command_line::CommandLine;
use mcp_tests::process::Running;
use mcp_tests::{place, wait};
use serde_json::json;

use crate::scene::{Scene, tool};

/// A server behind a shell that would stay for something else, and that ignores the end of its input and SIGTERM.
fn wrapped(name: &str) -> Result<Scene> {
    let scene = Scene::new(name)?;
    scene.script(&json!({ "tools": [tool("x")], "stubborn": true }))?;
    let script = scene.desktop.home().join("script.json");
    let line = format!("node '{}' '{}'; true", place::scripted_server().display(), script.display());
    CommandLine::of(&scene.desktop)?.add("s", "/bin/sh".as_ref(), ["-c", &line])?;
    Ok(scene)
}

fn servers(scene: &Scene) -> Vec<Running> {
    let all = scene.desktop.processes();
    all.into_iter()
        .filter(|process| process.arguments.iter().any(|argument| argument.contains("scripted.mjs")))
        .collect()
}

fn all_gone(scene: &Scene) -> Result<()> {
    // EOF, 2 s, SIGTERM, 2 s, SIGKILL.
    wait::until("the server's processes to end", wait::LONG, || Ok(servers(scene).is_empty().then_some(())))
}

#[test]
fn a_disconnect_ends_the_whole_tree() -> Result<()> {
    let scene = wrapped("tree_disconnect")?;
    let app = scene.app("s")?;
    ensure!(servers(&scene).len() >= 2, "a shell and its child: {:#?}", servers(&scene));
    app.api("disconnectServer", json!(["s"]))?;
    all_gone(&scene)?;
    app.close()
}

#[test]
fn leaving_the_app_ends_the_whole_tree() -> Result<()> {
    let scene = wrapped("tree_exit")?;
    let app = scene.app("s")?;
    ensure!(servers(&scene).len() >= 2, "a shell and its child: {:#?}", servers(&scene));
    app.close()?;
    all_gone(&scene)
}

#[test]
fn killing_the_app_ends_the_whole_tree() -> Result<()> {
    let scene = wrapped("tree_kill")?;
    let app = scene.app("s")?;
    ensure!(servers(&scene).len() >= 2, "a shell and its child: {:#?}", servers(&scene));
    app.kill()?;
    all_gone(&scene)?;
    // What watched over them has nothing left to watch.
    let desktop = [
        "Xvfb",
        "openbox",
        "dbus-daemon",
        "at-spi-bus-launcher",
        "at-spi2-registryd",
        // Started by the bus when somebody asks for a keychain.
        "gnome-keyring-daemon",
        "tauri-driver",
        "WebKitWebDriver",
    ];
    let left = || scene.desktop.processes().into_iter().filter(|process| !desktop.contains(&process.program()));
    wait::until("nothing of the app to be left", wait::LONG, || Ok((left().count() == 0).then_some(())))
        .map_err(|error| error.context(format!("left: {:#?}", left().collect::<Vec<_>>())))?;
    Ok(())
}
