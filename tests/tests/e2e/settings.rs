//! The settings window under a person's hands. Adding a server and widening a rule end in a native dialog.

use anyhow::{Context, Result, ensure};
use mcp_tests::app::App;
use mcp_tests::settings::Settings;
use mcp_tests::{place, wait};
use serde_json::json;

use crate::scene::{Scene, reader};

const TITLE: &str = "MCP servers";

#[test]
fn a_person_adds_a_server_and_confirms_its_launch_natively() -> Result<()> {
    let scene = Scene::new("settings_add")?;
    let app = App::start(&scene.desktop)?;
    ensure!(app.api("listServers", json!([]))? == json!([]));
    app.api("openSettings", json!([]))?;
    let settings = Settings::wait(&scene.desktop, TITLE)?;
    settings.says("No server yet")?;
    settings.press("push button", "Add server…")?;
    let everything = place::npm_server("everything")?;
    let snippet =
        json!({ "mcpServers": { "every": { "command": everything, "args": ["stdio"], "env": { "PLAIN": "value" } } } });
    settings.fill("Snippet", &snippet.to_string())?;
    settings.press("push button", "Add")?;

    let dialog = app.dialog()?;
    let reading = dialog.reading();
    for shown in [everything.display().to_string().as_str(), "stdio", "PLAIN"] {
        ensure!(reading.contains(shown), "the confirmation does not show {shown:?}:\n{reading}");
    }
    dialog.fits_the_screen()?;
    let yes = dialog.node().buttons().into_iter().find(|name| !matches!(*name, "Deny" | "Cancel" | "Back"));
    let yes = yes.context("a button that confirms")?.to_owned();
    dialog.answer(&yes)?;
    let listed = wait::until("the server in the page's list", wait::LONG, || {
        let list = app.api("listServers", json!([]))?;
        Ok((list[0]["id"] == "every").then_some(list))
    })?;
    ensure!(listed[0]["enabled"] == true, "{listed}");
    let status = app.api("connectServer", json!([{ "serverId": "every" }]))?;
    ensure!(status["state"] == "connected", "{status}");
    settings.says("Connected")?;
    app.close()
}

#[test]
fn a_rule_is_seen_and_revoked_and_the_log_tells_the_call() -> Result<()> {
    let scene = Scene::new("settings_rules")?;
    scene.add_scripted(&json!([reader("look")]))?;
    let app = scene.app("s")?;
    let call = app.begin_call("s", "look", json!({ "at": 1 }))?;
    app.dialog()?.answer("Always allow exactly this")?;
    call.value(wait::LONG)?;

    app.api("openSettings", json!([]))?;
    let settings = Settings::wait(&scene.desktop, TITLE)?;
    settings.go("Audit log")?;
    settings.says("look")?;
    settings.picture("audit")?;
    settings.press("push button", "Verify")?;
    settings.go("Rules")?;
    settings.says("look")?;
    let revoke = settings.until("a button that revokes", |page| {
        page.buttons().into_iter().find(|name| name.starts_with("Revoke")).map(str::to_owned)
    })?;
    settings.press("push button", &revoke)?;
    settings.says("No rules")?;

    // At once: the same call asks again.
    let call = app.begin_call("s", "look", json!({ "at": 1 }))?;
    app.dialog()?.answer("Deny")?;
    ensure!(call.code(wait::LONG)? == "mcp.approval_denied");
    app.close()
}
