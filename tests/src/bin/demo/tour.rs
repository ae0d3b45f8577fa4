//! The tour: what a person does on the first day, done by real keys and a real mouse on a desktop that nobody sees.

use std::path::Path;

use anyhow::{Context, Result};
use mcp_tests::app::App;
use mcp_tests::command_line::CommandLine;
use mcp_tests::desktop::{Desktop, Style};
use mcp_tests::settings::Settings;
use mcp_tests::{place, wait};
use serde_json::{Value, json};

/// What stands on the buttons that the tour presses.
struct Words {
    allow_once: &'static str,
    settings: &'static str,
    audit: &'static str,
}

const ENGLISH: Words = Words { allow_once: "Allow once", settings: "MCP servers", audit: "Audit log" };
const CHINESE: Words = Words { allow_once: "允许一次", settings: "MCP 服务器", audit: "审计日志" };

/// The tool of the demo server that the tour calls: one that changes something.
const TOOL: &str = "add_note";

pub(crate) fn run(dark: bool, lang: Option<&str>) -> Result<()> {
    let chinese = lang.is_some_and(|lang| lang.starts_with("zh"));
    let words = if chinese { &CHINESE } else { &ENGLISH };
    let name = format!("{}-{}", if chinese { "zh-CN" } else { "en" }, if dark { "dark" } else { "light" });
    let folder = place::target().join("demo").join(name);
    let style = Style { dark, language: if chinese { "zh_CN" } else { "en_US" }.into(), keychain: false };
    let desktop = Desktop::start_in(&folder, &style)?;
    tour(&desktop, words).with_context(|| format!("the tour stopped; logs are in {}", folder.display()))?;
    println!("\n1 passed, 0 failed");
    Ok(())
}

fn tour(desktop: &Desktop, words: &Words) -> Result<()> {
    let hand = desktop.hand();
    let mut teller = Teller { step: 0, desktop };

    CommandLine::of(desktop)?.add("demo", &place::binary("demo-server")?, [""; 0])?;
    teller.tell("The person added the demo server (mcp-host servers add): its launch is confirmed.");
    let app = App::start(desktop)?;
    let page = app.page();
    let window = hand.window("MCP host", wait::LONG)?;
    hand.focus(window)?;
    let click = |selector: &str| -> Result<()> {
        page.until(selector, &format!("document.querySelector({})", json!(selector)), wait::LONG)?;
        hand.click(&page.area(selector, &hand.area(window)?)?)
    };

    page.until("the extension's list", "document.querySelector('#mcp-server option')", wait::LONG)?;
    let servers = app.api("listServers", json!([]))?;
    teller.tell(&format!("The page's extension lists the servers: {}", brief(&servers)));
    teller.picture("1-servers")?;

    click("#mcp-example .mcp-connect")?;
    page.until("the server to connect", "document.querySelector('.mcp-state[data-state=connected]')", wait::LONG)?;
    let tool = format!("#mcp-example [data-tool={TOOL}]");
    page.until("its tools", &format!("document.querySelector('{tool}')"), wait::LONG)?;
    let tools = app.api("listTools", json!(["demo"]))?;
    let names: Vec<&str> = tools.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    teller.tell(&format!("«Connect» was clicked; it offers {}", names.join(", ")));

    click(&format!("{tool} summary"))?;
    page.until("a form", &format!("document.querySelector('{tool} .mcp-call')"), wait::LONG)?;
    for (field, text) in [("title", "Ferry"), ("text", "Leaves at nine. Bring the letter for Mara.")] {
        let id = page.now(
            "const labels = [...document.querySelectorAll(arguments[0].tool + ' label')];\
             return labels.find((label) => label.textContent.startsWith(arguments[0].field)).htmlFor;",
            json!({ "tool": tool, "field": field }),
        )?;
        let selector = format!("#{}", id.as_str().with_context(|| format!("a field for {field}"))?);
        click(&selector)?;
        hand.type_text(text)?;
        // Keys and clicks reach a page by different queues: a click may overtake what was typed before it.
        let typed = format!("document.querySelector({})?.value === {}", json!(selector), json!(text));
        page.until(&format!("{text:?} to be typed"), &typed, wait::LONG)?;
    }
    teller.tell(&format!("«{TOOL}» was opened and its form filled in by the keyboard."));
    click(&format!("{tool} .mcp-call"))?;

    let dialog = app.dialog()?;
    dialog.ready()?;
    teller.picture("2-dialog")?;
    teller.tell("«Call» was clicked. A native dialog asks:");
    for line in dialog.reading().lines().take(16) {
        teller.quote(line);
    }
    dialog.answer(words.allow_once)?;
    teller.tell(&format!("«{}» was clicked.", words.allow_once));

    let outcome = format!("{tool} .mcp-outcome");
    page.until("a result", &format!("document.querySelector('{outcome}')?.textContent"), wait::LONG)?;
    teller.tell("The result appears in the page:");
    for line in page.text(&outcome)?.lines().filter(|line| !line.trim().is_empty()).take(6) {
        teller.quote(line);
    }
    teller.picture("3-result")?;

    click("#mcp-example .mcp-settings")?;
    let settings = Settings::wait(desktop, words.settings)?;
    teller.picture("4-settings")?;
    settings.go(words.audit)?;
    let line = settings.until("the call in the log", |page| {
        let rows = page.all().into_iter().filter(|node| node.role.contains("row"));
        rows.map(mcp_tests::eye::Node::reading).find(|row| row.contains(TOOL))
    })?;
    teller.tell("The settings window's log has the call:");
    teller.quote(&line.replace('\n', " · "));
    teller.picture("5-audit")?;
    app.close()?;
    teller.tell("The window was closed.");
    Ok(())
}

fn brief(servers: &Value) -> String {
    let servers = servers.as_array().into_iter().flatten();
    let words = servers.map(|server| {
        let connected = if server["connected"] == true { "connected" } else { "not connected" };
        format!(
            "{} ({}, {connected})",
            server["displayName"].as_str().unwrap_or_default(),
            server["transport"].as_str().unwrap_or_default()
        )
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Says what happened, and keeps a picture of it.
struct Teller<'a> {
    step: usize,
    desktop: &'a Desktop,
}

impl Teller<'_> {
    fn tell(&mut self, what: &str) {
        self.step += 1;
        println!("{:>3}. {what}", self.step);
    }

    fn quote(&self, line: &str) {
        println!("       │ {line}");
    }

    fn picture(&self, name: &str) -> Result<()> {
        self.desktop.hand().rest()?;
        let path = self.desktop.hand().picture(name)?;
        let shown = path.strip_prefix(place::root()).unwrap_or(Path::new(&path));
        println!("       ▣ {}", shown.display());
        Ok(())
    }
}
