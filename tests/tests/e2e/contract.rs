//! The nine methods of the draft, in the real page, against server-everything from npm.

use anyhow::{Context, Result, ensure};
use mcp_tests::wait;
use serde_json::{Value, json};

use crate::scene::Scene;

#[test]
fn the_nine_methods_of_the_draft_work_against_server_everything() -> Result<()> {
    let scene = Scene::new("nine_methods")?;
    scene.add_everything()?;
    let app = mcp_tests::app::App::start(&scene.desktop)?;
    let item = |list: &Value, field: &str, value: &str| -> Result<Value> {
        let found = list.as_array().and_then(|items| items.iter().find(|item| item[field] == value).cloned());
        found.with_context(|| format!("no {field} = {value} in {list}"))
    };

    let before = item(&app.api("listServers", json!([]))?, "id", "everything")?;
    ensure!(before["connected"] == false && before["transport"] == "stdio" && before["enabled"] == true, "{before}");
    ensure!(app.refusal("listTools", json!(["everything"]))? == "mcp.not_connected");

    let status = app.api("connectServer", json!([{ "serverId": "everything" }]))?;
    ensure!(status["state"] == "connected" && status["protocolVersion"] == "2025-11-25", "{status}");
    ensure!(status["capabilities"]["tools"] == true && status["capabilities"]["sampling"] == false, "{status}");
    ensure!(status["serverInfo"]["name"] == "mcp-servers/everything", "{status}");

    let echo = item(&app.api("listTools", json!(["everything"]))?, "name", "echo")?;
    ensure!(
        echo["approvalRequired"] == true && echo["permission"] == "ask" && echo["serverId"] == "everything",
        "{echo}"
    );
    ensure!(echo["inputSchema"]["properties"]["message"].is_object(), "{echo}");
    let call = app.begin_call("everything", "echo", json!({ "message": "hi" }))?;
    app.dialog()?.answer("Allow once")?;
    let result = call.value(wait::LONG)?;
    ensure!(result["content"][0] == json!({ "type": "text", "text": "Echo: hi" }), "{result}");
    ensure!(result["auditEventId"].as_str().is_some_and(|id| id.len() == 32), "{result}");

    let uri = "demo://resource/static/document/features.md";
    let resources = app.api("listResources", json!(["everything"]))?;
    ensure!(item(&resources, "uri", uri)?["mimeType"] == "text/markdown");
    let reading = app.page().begin(
        "return window.__TAURITAVERN__.api.mcp.readResource({ serverId: 'everything', uri: args });",
        json!(uri),
    )?;
    app.dialog()?.answer("Allow once")?;
    let content = reading.value(wait::LONG)?;
    ensure!(
        content["uri"] == uri && content["contents"][0]["text"].as_str().is_some_and(|text| !text.is_empty()),
        "{content}"
    );

    let prompt = item(&app.api("listPrompts", json!(["everything"]))?, "name", "args-prompt")?;
    ensure!(prompt["arguments"][0]["name"] == "city" && prompt["arguments"][0]["required"] == true, "{prompt}");
    let asking = app.page().begin(
        "return window.__TAURITAVERN__.api.mcp.getPrompt({ serverId: 'everything', name: 'args-prompt', arguments: { city: 'Lisbon' } });",
        json!(null),
    )?;
    app.dialog()?.answer("Allow once")?;
    let content = asking.value(wait::LONG)?;
    ensure!(
        content["messages"][0]["content"]["text"].as_str().is_some_and(|text| text.contains("Lisbon")),
        "{content}"
    );

    app.api("disconnectServer", json!(["everything"]))?;
    let after = item(&app.api("listServers", json!([]))?, "id", "everything")?;
    ensure!(after["connected"] == false, "{after}");
    app.close()
}

#[test]
fn a_long_call_shows_progress_and_can_be_aborted() -> Result<()> {
    let scene = Scene::new("progress")?;
    scene.add_everything()?;
    let app = scene.app("everything")?;
    let call = app.page().begin(
        "window.seen = []; window.controller = new AbortController();\
         return window.__TAURITAVERN__.api.mcp.callTool(\
           { serverId: 'everything', name: 'trigger-long-running-operation', arguments: { duration: 30, steps: 60 } },\
           { signal: window.controller.signal, onProgress: (progress) => window.seen.push(progress) });",
        json!(null),
    )?;
    app.dialog()?.answer("Allow once")?;
    app.page().until("two steps of progress", "window.seen.length >= 2 && window.seen[1].total === 60", wait::LONG)?;
    ensure!(!call.is_done()?);
    app.page().now("window.controller.abort();", json!(null))?;
    ensure!(call.code(wait::LONG)? == "mcp.cancelled");
    // The server lives: the next call is answered.
    let next = app.begin_call("everything", "get-sum", json!({ "a": 19, "b": 23 }))?;
    app.dialog()?.answer("Allow once")?;
    let result = next.value(wait::LONG)?;
    ensure!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("42")), "{result}");
    app.close()
}

#[test]
fn errors_in_the_page_have_the_codes_of_the_contract() -> Result<()> {
    let scene = Scene::new("codes")?;
    scene.add_everything()?;
    let app = scene.app("everything")?;
    // Once approved, so that its definition is known: an unseen one asks, whatever token comes with it.
    let call = app.begin_call("everything", "echo", json!({ "message": "hi" }))?;
    app.dialog()?.answer("Allow once")?;
    call.value(wait::LONG)?;
    for (method, arguments, code) in [
        ("callTool", json!([{ "serverId": "nobody", "name": "echo" }]), "mcp.server_not_found"),
        ("callTool", json!([{ "serverId": "everything", "name": "nothing" }]), "mcp.tool_not_found"),
        ("callTool", json!([{ "serverId": "everything", "name": "echo", "arguments": [1] }]), "mcp.invalid_input"),
        ("callTool", json!([{ "serverId": "everything" }]), "mcp.invalid_input"),
        (
            "callTool",
            json!([{ "serverId": "everything", "name": "echo", "approvalToken": "x" }]),
            "mcp.approval_token_invalid",
        ),
        ("connectServer", json!([{ "serverId": "everything", "command": "sh" }]), "mcp.invalid_input"),
        ("getPrompt", json!([{ "serverId": "everything", "name": "nothing" }]), "mcp.prompt_not_found"),
        ("listTools", json!([{}]), "mcp.invalid_input"),
    ] {
        let call = app.begin_api(method, arguments.clone())?;
        let found = call.code(wait::LONG).with_context(|| format!("{method} {arguments}"))?;
        ensure!(found == code, "{method} {arguments} gave {found}, not {code}");
    }
    ensure!(app.dialogs()?.is_empty());
    app.close()
}
