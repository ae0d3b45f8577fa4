//! A script in the main window that knows our source: what it can name it tries.

use std::fs;

use anyhow::{Context, Result, ensure};
use mcp_tests::app::App;
use mcp_tests::command_line::CommandLine;
use mcp_tests::{place, wait};
use serde_json::{Value, json};

use crate::scene::{Scene, tool};

/// The commands that only the settings window may call, as the plugin's own source lists them.
fn admin_commands() -> Result<Vec<String>> {
    let source = fs::read_to_string(place::root().join("plugin/tauri/src/command/name.rs"))?;
    let (_, list) = source.split_once("ADMIN_COMMANDS").context("the list of admin commands")?;
    let (list, _) = list.split_once("];").context("its end")?;
    let names: Vec<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    ensure!(names.len() > 10 && names.iter().all(|name| name.starts_with("admin_")), "{names:?}");
    Ok(names)
}

/// Everything that a person can widen, as one text.
fn settings(scene: &Scene) -> Result<String> {
    let host = CommandLine::of(&scene.desktop)?;
    let mut all = String::new();
    for line in ["servers list --json", "approval list --json", "trust list --json"] {
        all.push_str(&host.line(line)?.succeeded()?.output);
    }
    Ok(all)
}

#[test]
fn no_command_that_a_page_can_name_widens_anything() -> Result<()> {
    let scene = Scene::new("commands")?;
    scene.add_scripted(&json!([tool("wanted")]))?;
    let before = settings(&scene)?;
    let app = App::start(&scene.desktop)?;
    for command in admin_commands()? {
        for arguments in [
            json!({}),
            json!({ "input": { "serverId": "s", "id": "s", "name": "x", "command": "/bin/sh", "tool": "wanted" } }),
            json!({ "input": { "serverId": "s", "enabled": true, "effect": "allow", "scope": "always", "mode": "danger-full-access" } }),
        ] {
            let thrown = app.page().thrown(
                "return window.__TAURI_INTERNALS__.invoke('plugin:mcp-host|' + args.command, args.arguments);",
                json!({ "command": command, "arguments": arguments }),
            );
            let thrown = thrown.with_context(|| format!("`{command}` answered a page"))?;
            ensure!(thrown.to_string().contains("not allowed"), "`{command}` was not refused by the ACL: {thrown}");
        }
    }
    ensure!(app.dialogs()?.is_empty(), "a page raised a dialog of the settings window");
    app.close()?;
    ensure!(settings(&scene)? == before, "something changed:\n{before}\n{}", settings(&scene)?);
    Ok(())
}

#[test]
fn a_page_cannot_open_windows_or_emit_events() -> Result<()> {
    let scene = Scene::new("windows_events")?;
    scene.add_scripted(&json!([tool("wanted")]))?;
    let app = App::start(&scene.desktop)?;
    for (command, arguments) in [
        (
            "plugin:webview|create_webview_window",
            json!({ "options": { "label": "mcp-host-settings", "url": "index.html" } }),
        ),
        (
            "plugin:webview|create_webview_window",
            json!({ "options": { "label": "x", "url": "mcp-host-settings://localhost/" } }),
        ),
        ("plugin:window|create", json!({ "options": { "label": "mcp-host-settings" } })),
        ("plugin:event|emit", json!({ "event": "plugin:mcp-host:page-event", "payload": {} })),
        (
            "plugin:event|emit_to",
            json!({ "target": { "kind": "Any" }, "event": "plugin:mcp-host:page-event", "payload": {} }),
        ),
        ("plugin:webview|internal_toggle_devtools", json!({})),
    ] {
        let thrown = app.page().thrown(
            "return window.__TAURI_INTERNALS__.invoke(args.command, args.arguments);",
            json!({ "command": command, "arguments": arguments }),
        );
        thrown.with_context(|| format!("`{command}` answered a page"))?;
    }
    app.close()
}

#[test]
fn what_the_page_forges_for_itself_grants_nothing() -> Result<()> {
    let scene = Scene::new("forged")?;
    scene.add_scripted(&json!([tool("wanted")]))?;
    let app = scene.app("s")?;
    // Ours is called again and again by a page that presses keys and buttons of its own making all the while.
    let call = app.page().begin(
        "const press = () => {\
           for (const key of ['Enter', ' ', 'a', 'y']) for (const type of ['keydown', 'keypress', 'keyup'])\
             for (const target of [window, document, document.body])\
               target.dispatchEvent(new KeyboardEvent(type, { key, code: key, keyCode: 13, bubbles: true }));\
           document.body.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX: 640, clientY: 500, screenX: 640, screenY: 500 }));\
         };\
         window.pressing = setInterval(press, 10);\
         return window.__TAURITAVERN__.api.mcp.callTool({ serverId: 's', name: 'wanted', arguments: {} });",
        Value::Null,
    )?;
    let dialog = app.dialog()?;
    wait::throughout("the dialog stays", std::time::Duration::from_secs(2), || dialog.is_open())?;
    ensure!(!call.is_done()? && scene.calls()?.is_empty());
    // What it could bring to the front it brings to the front; the dialog must stay what is pressed.
    app.page().now("window.focus(); document.body.requestFullscreen?.().catch(() => {});", Value::Null)?;
    ensure!(dialog.is_open()? && scene.calls()?.is_empty());
    app.page().now("clearInterval(window.pressing);", Value::Null)?;
    dialog.answer("Deny")?;
    ensure!(call.code(wait::LONG)? == "mcp.approval_denied");
    app.close()
}

#[test]
fn with_tauritaverns_own_scopes_a_page_cannot_read_our_files() -> Result<()> {
    let scene = Scene::new("files")?;
    scene.add_scripted(&json!([tool("wanted")]))?;
    let home = scene.desktop.home().to_path_buf();
    let app = scene.app("s")?;

    // The scopes are as wide as TauriTavern's: a file of the *app* is there for the taking. Without this control the
    // refusals below would prove nothing.
    let identifier = app.page().script("return window.__TAURI__.app.getIdentifier();", Value::Null)?;
    let identifier = identifier.as_str().context("the app's identifier")?;
    let own = home.join(".local/share").join(identifier).join("own.txt");
    fs::create_dir_all(own.parent().context("a folder")?)?;
    fs::write(&own, "for everybody")?;
    let control = try_to_read(&app, &own.display().to_string())?;
    ensure!(control.iter().any(|text| text.contains("for everybody")), "the control file cannot be read: {control:?}");

    let mut secrets = Vec::new();
    for folder in [home.join(".config/mcp-host"), home.join(".local/state/mcp-host")] {
        collect(&folder, &mut secrets)?;
    }
    ensure!(secrets.iter().any(|path| path.ends_with("servers.json")), "{secrets:?}");
    ensure!(secrets.iter().any(|path| path.extension().is_some_and(|end| end == "jsonl")), "{secrets:?}");
    let link = home.join(".local/share").join(identifier).join("link");
    std::os::unix::fs::symlink(home.join(".config/mcp-host"), &link)?;
    for secret in &secrets {
        let name = secret.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let straight = secret.display().to_string();
        let detour = straight.replacen("/mcp-host/", &format!("/{identifier}/../mcp-host/"), 1);
        let doubled = straight.replace("/mcp-host/", "//mcp-host//");
        for path in [straight, detour, doubled, link.join(name).display().to_string()] {
            let read = try_to_read(&app, &path)?;
            ensure!(read.is_empty(), "`{path}` was read: {read:?}");
        }
    }
    app.close()
}

/// Every way to a file that a page has: the fs plugin's commands, and the asset protocol. What was read.
fn try_to_read(app: &App<'_>, path: &str) -> Result<Vec<String>> {
    let found = app.page().script(
        "const found = []; const invoke = window.__TAURI_INTERNALS__.invoke;\
         const text = (value) => typeof value === 'string' ? value : new TextDecoder().decode(Uint8Array.from(value));\
         const attempt = async (work) => { try { const value = await work(); if (value !== undefined) found.push(value); } catch {} };\
         await attempt(async () => text(await invoke('plugin:fs|read_text_file', { path: args })));\
         await attempt(async () => text(await invoke('plugin:fs|read_file', { path: args })));\
         await attempt(async () => { const rid = await invoke('plugin:fs|open', { path: args, options: { read: true } }); return 'opened ' + rid; });\
         await attempt(async () => { await invoke('plugin:fs|copy_file', { fromPath: args, toPath: args + '.copy' }); return 'copied'; });\
         const url = window.__TAURI_INTERNALS__.convertFileSrc(args);\
         await attempt(async () => { const answer = await fetch(url); if (!answer.ok) return undefined; return answer.text(); });\
         await attempt(() => new Promise((resolve) => { const request = new XMLHttpRequest(); request.open('GET', url);\
           request.onload = () => resolve(request.status === 200 ? request.responseText : undefined);\
           request.onerror = () => resolve(undefined); request.send(); }));\
         return found;",
        json!(path),
    )?;
    Ok(serde_json::from_value(found)?)
}

fn collect(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("`{}`", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

#[test]
fn a_page_cannot_reach_the_settings_window() -> Result<()> {
    let scene = Scene::new("settings_scheme")?;
    scene.add_scripted(&json!([tool("wanted")]))?;
    let app = App::start(&scene.desktop)?;
    let main = app.page().address()?;
    let opened = app.api("openSettings", json!([]));
    opened.context("openSettings from a page")?;
    scene.desktop.eye().until("the settings window", "", wait::LONG, |window| {
        window.all().into_iter().any(|node| node.role == "document web" && node.name.contains("MCP")).then_some(())
    })?;
    let found = app.page().script(
        "const found = {}; const address = 'mcp-host-settings://localhost/';\
         const attempt = async (name, work) => { try { found[name] = await work(); } catch (error) { found[name] = null; } };\
         await attempt('fetch', async () => { const answer = await fetch(address); return answer.ok ? await answer.text() : null; });\
         await attempt('frame', () => new Promise((resolve) => {\
           const frame = document.createElement('iframe'); frame.src = address;\
           frame.onload = () => { try { resolve(frame.contentDocument?.querySelector('script') ? 'scripts' : null); } catch { resolve('another origin'); } };\
           frame.onerror = () => resolve(null); setTimeout(() => resolve(null), 3000); document.body.append(frame); }));\
         await attempt('script', () => new Promise((resolve) => {\
           const script = document.createElement('script'); script.src = address + 'index.js';\
           script.onload = () => resolve('ran'); script.onerror = () => resolve(null); document.body.append(script); }));\
         await attempt('open', async () => { const other = window.open(address); return other ? 'a window' : null; });\
         await attempt('storage', async () => Object.keys(localStorage).concat(Object.keys(sessionStorage)).filter((key) => key.includes('mcp-host')).length || null);\
         await attempt('databases', async () => (await indexedDB.databases()).length || null);\
         return found;",
        Value::Null,
    )?;
    for (way, answer) in found.as_object().context("an object")? {
        // A frame that shows our 403 as a page of another origin tells nothing.
        ensure!(answer.is_null() || (way == "frame" && answer == "another origin"), "{way}: {answer}");
    }
    // Going there by itself: the page stays, or shows what the handler refuses with, and never a page of ours.
    app.page().now("setTimeout(() => { location.href = 'mcp-host-settings://localhost/'; }, 0);", Value::Null)?;
    wait::throughout("the main window never shows the settings", std::time::Duration::from_secs(2), || {
        let shown =
            app.page().now("return document.querySelectorAll('script[src]').length + document.title;", Value::Null);
        let address = app.page().address().unwrap_or_default();
        Ok(address == main
            || !address.starts_with("mcp-host-settings:")
            || shown.is_ok_and(|shown| shown.as_str().is_some_and(|shown| shown.starts_with('0'))))
    })?;
    Ok(())
}

#[test]
fn a_page_hears_nothing_but_the_contracts_events() -> Result<()> {
    let scene = Scene::new("listening")?;
    scene.add_scripted(&json!([tool("wanted")]))?;
    let app = App::start(&scene.desktop)?;
    // Every event of Tauri goes through this one function of the page: whatever arrives is seen here.
    app.page().script(
        "window.heard = []; const internals = window.__TAURI_INTERNALS__;\
         const names = ['tauri://focus', 'mcp-host', 'plugin:mcp-host:page-event', 'plugin:mcp-host:hint', 'page-event', 'hint', 'approval', 'audit'];\
         for (const event of names) {\
           const handler = internals.transformCallback((message) => window.heard.push(message));\
           try { await internals.invoke('plugin:event|listen', { event, target: { kind: 'Any' }, handler }); } catch {}\
         }",
        Value::Null,
    )?;
    app.api("connectServer", json!([{ "serverId": "s" }]))?;
    app.api("openSettings", json!([])).context("openSettings from a page")?;
    let call = app.begin_call("s", "wanted", json!({ "password": "hunter2" }))?;
    let dialog = app.dialog()?;
    dialog.answer("Deny")?;
    ensure!(call.code(wait::LONG)? == "mcp.approval_denied");
    let heard = app.page().now("return JSON.stringify(window.heard);", Value::Null)?;
    let heard = heard.as_str().unwrap_or_default();
    let home = scene.desktop.home().display().to_string();
    for secret in ["hunter2", "node", "script.json", home.as_str(), "fingerprint", "command"] {
        ensure!(!heard.contains(secret), "the page heard {secret:?}: {heard}");
    }
    app.close()
}
