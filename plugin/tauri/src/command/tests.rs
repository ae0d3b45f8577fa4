//! The commands over a real host in a folder of its own, invoked as a webview invokes them. (What the ACL lets through
//! is tested in the real application: the mock runtime has none.)

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{fs, sync::Arc};

use mcp_host_core::{Host, approval::Language, error::Error, host::Origin, store::Folders};
use serde_json::{Value, json};
use tauri::{
    App, WebviewUrl, WebviewWindow, WebviewWindowBuilder,
    ipc::{CallbackFn, InvokeBody},
    test::{INVOKE_KEY, MockRuntime, get_ipc_response, mock_builder, mock_context, noop_assets},
    webview::InvokeRequest,
};

use super::{ADMIN_COMMANDS, PAGE_COMMANDS};
use crate::{bindings, hub::Hub, settings};

/// An application whose host lives in a folder of its own.
struct Stage {
    app: App<MockRuntime>,
    hub: Arc<Hub>,
    /// Kept until the end.
    _folder: tempfile::TempDir,
}

impl Stage {
    /// `servers`: the content of servers.json; `None`: the host does not open.
    fn new(servers: Option<&Value>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = Arc::new(Hub::new(Language::English, Folders::at(folder.path()).ok()));
        if let Some(servers) = servers {
            fs::write(folder.path().join("servers.json"), servers.to_string()).unwrap();
            let host = Host::builder(Origin::App, Some(folder.path().to_path_buf())).build();
            hub.set_host(tauri::async_runtime::block_on(host));
        }
        let app = mock_builder()
            .invoke_handler(bindings::handler())
            .manage(Arc::clone(&hub))
            .build(mock_context(noop_assets()))
            .unwrap();
        Self { app, hub, _folder: folder }
    }

    fn webview(&self, label: &str, url: &str) -> WebviewWindow<MockRuntime> {
        let url = WebviewUrl::CustomProtocol(url.parse().unwrap());
        WebviewWindowBuilder::new(&self.app, label, url).build().unwrap()
    }

    fn page(&self) -> WebviewWindow<MockRuntime> {
        self.webview("main", "tauri://localhost/")
    }
}

/// Invokes a command; what it resolves to, or rejects with.
fn invoke(webview: &WebviewWindow<MockRuntime>, command: &str, arguments: Value) -> Result<Value, Value> {
    let request = InvokeRequest {
        cmd: command.to_owned(),
        callback: CallbackFn(0),
        error: CallbackFn(1),
        url: "tauri://localhost".parse().unwrap(),
        body: InvokeBody::Json(arguments),
        headers: tauri::http::HeaderMap::default(),
        invoke_key: INVOKE_KEY.to_owned(),
    };
    get_ipc_response(webview, request).map(|body| body.deserialize().unwrap())
}

fn servers() -> Value {
    json!({ "mcpServers": {
        "My Notes": { "command": "/nowhere/notes-server", "args": ["--secret-folder"], "env": { "TOKEN": "abc" } },
        "broken": { "command": 7 },
    } })
}

fn channel(number: u32) -> String {
    format!("__CHANNEL__:{number}")
}

#[test]
fn a_page_sees_servers_and_nothing_of_how_they_are_run() {
    let stage = Stage::new(Some(&servers()));
    let page = stage.page();
    let list = invoke(&page, "list_servers", json!({})).unwrap();
    let ids: Vec<&str> = list.as_array().unwrap().iter().map(|server| server["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["broken", "my-notes"]);
    let mut told = list.to_string();
    for id in ids {
        let status = invoke(&page, "get_server_status", json!({ "input": { "serverId": id } })).unwrap();
        told.push_str(&status.to_string());
        let refused = invoke(&page, "connect_server", json!({ "input": { "serverId": id } })).unwrap_err();
        told.push_str(&refused.to_string());
    }
    for secret in ["nowhere", "notes-server", "secret-folder", "TOKEN", "abc"] {
        assert!(!told.contains(secret), "{secret} in {told}");
    }
}

#[test]
fn what_is_wrong_with_an_input_is_named_before_anything_happens() {
    let stage = Stage::new(Some(&servers()));
    let page = stage.page();
    for (command, arguments, path) in [
        ("connect_server", json!({ "input": { "serverId": "my-notes", "command": "sh" } }), "/command"),
        ("connect_server", json!({ "input": {} }), "/serverId"),
        ("connect_server", json!({}), ""),
        ("connect_server", json!({ "input": { "serverId": 1 } }), "/serverId"),
        ("list_tools", json!({ "input": { "serverId": ["a"] } }), "/serverId"),
        (
            "call_tool",
            json!({ "input": { "serverId": "a", "name": "b", "arguments": {}, "argumentsJson": "{}" }, "onProgress": channel(1) }),
            "/argumentsJson",
        ),
        (
            "call_tool",
            json!({ "input": { "serverId": "a", "name": "b" }, "options": { "timeoutMs": 0 }, "onProgress": channel(1) }),
            "/timeoutMs",
        ),
        (
            "call_tool",
            json!({ "input": { "serverId": "a", "name": "b" }, "options": { "signal": {} }, "onProgress": channel(1) }),
            "/signal",
        ),
        (
            "complete",
            json!({ "input": { "serverId": "a", "ref": { "type": "prompt", "name": "p" }, "argument": { "name": "x" } } }),
            "/argument/value",
        ),
        ("unsubscribe_events", json!({ "input": { "subscription": -1 } }), "/subscription"),
    ] {
        let refused = invoke(&page, command, arguments.clone()).unwrap_err();
        assert_eq!(refused["code"], "mcp.invalid_input", "{command} {arguments} {refused}");
        assert_eq!(refused["details"]["path"], path, "{command} {arguments} {refused}");
        assert!(refused["message"].as_str().unwrap().starts_with("mcp.invalid_input: "), "{refused}");
    }
}

#[test]
fn no_admin_command_answers_anybody_but_the_settings_window() {
    let stage = Stage::new(Some(&servers()));
    let page = stage.page();
    let own = format!("{}://localhost/", settings::SCHEME);
    // Of the right label and address, but made by a script: nothing in Rust opened it.
    let forged = stage.webview(settings::LABEL, &own);
    let elsewhere = stage.webview("other", &own);
    for webview in [&page, &forged, &elsewhere] {
        for command in ADMIN_COMMANDS {
            let refused = invoke(webview, command, json!({ "input": { "serverId": "my-notes" } })).unwrap_err();
            assert_eq!(refused["code"], "mcp.ipc", "{command} as {}: {refused}", webview.label());
        }
    }
}

#[test]
fn the_settings_window_and_foreign_sites_have_no_page_commands() {
    let stage = Stage::new(Some(&servers()));
    let sites = [
        (settings::LABEL, "mcp-host-settings://localhost/"),
        ("remote", "https://example.com/"),
        ("lookalike", "https://tauri.localhost.example.com/"),
        ("popup", "about:blank"),
    ];
    for (label, url) in sites {
        let webview = stage.webview(label, url);
        for command in PAGE_COMMANDS {
            let refused = invoke(&webview, command, json!({})).unwrap_err();
            assert_eq!(refused["code"], "mcp.ipc", "{command} as {label}: {refused}");
        }
    }
}

#[test]
fn a_host_that_did_not_open_says_why_in_every_command() {
    let stage = Stage::new(None);
    let page = stage.page();
    stage.hub.set_host(Err(Error::ConfigInvalid {
        message: "the key cannot be read".to_owned(),
        path: None,
        key: None,
        allowed: Vec::new(),
        private: Some("/home/me/.config/mcp-host/key".to_owned()),
    }));
    let input = json!({
        "input": { "serverId": "a", "name": "b", "uri": "c", "ref": { "type": "prompt", "name": "p" },
                   "argument": { "name": "x", "value": "" } },
        "onProgress": channel(1), "onChange": channel(2),
    });
    for command in ["list_servers", "get_server_status", "connect_server", "list_tools", "call_tool", "complete"] {
        // Each takes what it knows of the input, so each is given what it knows.
        let known: &[&str] = match command {
            "call_tool" => &["serverId", "name"],
            "complete" => &["serverId", "ref", "argument"],
            _ => &["serverId"],
        };
        let mut arguments = input.clone();
        arguments["input"].as_object_mut().unwrap().retain(|key, _| known.contains(&key.as_str()));
        let refused = invoke(&page, command, arguments).unwrap_err();
        assert_eq!(refused["code"], "mcp.config_invalid", "{command}: {refused}");
        assert!(!refused.to_string().contains("/home/me"), "{command}: {refused}");
    }
}

#[test]
fn a_request_that_waits_for_the_host_can_be_taken_back() {
    let stage = Stage::new(None);
    let page = stage.page();
    let waiting = {
        let page = page.clone();
        std::thread::spawn(move || {
            let input = json!({ "serverId": "a", "name": "b" });
            let options = json!({ "requestId": "r-1" });
            invoke(&page, "call_tool", json!({ "input": input, "options": options, "onProgress": channel(1) }))
        })
    };
    // Once it is pending this takes it back; before, it is ignored.
    while !waiting.is_finished() {
        invoke(&page, "cancel_call", json!({ "input": { "requestId": "r-1" } })).unwrap();
        std::thread::yield_now();
    }
    assert_eq!(waiting.join().unwrap().unwrap_err()["code"], "mcp.cancelled");
}

#[test]
fn unsubscribing_is_idempotent_and_late_is_no_fault() {
    let stage = Stage::new(Some(&servers()));
    let page = stage.page();
    let id = invoke(&page, "subscribe_events", json!({ "onEvent": channel(1) })).unwrap();
    for command in ["unsubscribe_events", "unsubscribe_events", "unsubscribe_resource"] {
        invoke(&page, command, json!({ "input": { "subscription": id } })).unwrap();
    }
    // A subscription that the server refuses leaves nothing behind.
    let input = json!({ "input": { "serverId": "my-notes", "uri": "file:///a" }, "onChange": channel(2) });
    let refused = invoke(&page, "subscribe_resource", input).unwrap_err();
    assert_ne!(refused["code"], "mcp.internal", "{refused}");
}
