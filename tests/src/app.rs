//! The reference app on a desktop: its page as any script sees it, its dialogs as a person meets them.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::desktop::Desktop;
use crate::dialog::{self, Dialog};
use crate::eye::Node;
use crate::page::{Page, Pending};
use crate::process::{self, Running};
use crate::{place, wait};

/// The binary, and the title of its main window.
const BINARY: &str = "mcp-host-app";

/// How long we look for something that must not come. It bounds the looking; nothing waits for it.
const NEVER: Duration = Duration::from_millis(1500);

/// One run of the app. Dropping it ends it.
pub struct App<'a> {
    desktop: &'a Desktop,
    page: Page,
}

impl<'a> App<'a> {
    /// Starts it and waits until the page's host API is there.
    ///
    /// # Errors
    /// It did not come up; see driver.log among the artefacts.
    pub fn start(desktop: &'a Desktop) -> Result<Self> {
        let page = Page::open(desktop, &place::tauri_driver()?, &place::binary(BINARY)?, &[])?;
        page.until("the host API in the page", "window.__TAURITAVERN__?.ready", wait::LONG)?;
        page.script("await window.__TAURITAVERN__.ready;", Value::Null)?;
        Ok(Self { desktop, page })
    }

    /// Its page, for whatever a script can do.
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// Calls a method of `window.__TAURITAVERN__.api.mcp` with these arguments.
    ///
    /// # Errors
    /// It rejected.
    pub fn api(&self, method: &str, arguments: Value) -> Result<Value> {
        self.page.script(CALL, json!({ "method": method, "given": arguments }))
    }

    /// The same where a rejection is expected: its code.
    ///
    /// # Errors
    /// It resolved, or rejected with something that has no code.
    pub fn refusal(&self, method: &str, arguments: Value) -> Result<String> {
        let thrown = self.page.thrown(CALL, json!({ "method": method, "given": arguments }))?;
        let code = thrown.get("code").and_then(Value::as_str).map(str::to_owned);
        code.with_context(|| format!("rejected with {thrown}"))
    }

    /// Calls a method and does not wait for it.
    ///
    /// # Errors
    /// The page is gone.
    pub fn begin_api(&self, method: &str, arguments: Value) -> Result<Pending<'_>> {
        self.page.begin(CALL, json!({ "method": method, "given": arguments }))
    }

    /// Starts a tool call from the page and does not wait for it.
    ///
    /// # Errors
    /// The page is gone.
    pub fn begin_call(&self, server: &str, tool: &str, arguments: Value) -> Result<Pending<'_>> {
        let input = json!({ "serverId": server, "name": tool, "arguments": arguments });
        self.page.begin(CALL, json!({ "method": "callTool", "given": [input] }))
    }

    /// Waits for a dialog of the app.
    ///
    /// # Errors
    /// None came.
    pub fn dialog(&self) -> Result<Dialog<'a>> {
        Dialog::of(self.desktop, self.process()?.id)
    }

    /// The dialogs that are there now.
    ///
    /// # Errors
    /// The accessibility bus does not answer.
    pub fn dialogs(&self) -> Result<Vec<Node>> {
        dialog::shown(self.desktop, self.process()?.id)
    }

    /// Requires that no dialog comes.
    ///
    /// # Errors
    /// One came.
    pub fn no_dialog(&self) -> Result<()> {
        wait::throughout("no dialog", NEVER, || Ok(self.dialogs()?.is_empty()))
    }

    /// Its process.
    ///
    /// # Errors
    /// It has ended.
    pub fn process(&self) -> Result<Running> {
        let all = process::running();
        let found = process::descendants(self.page.driver_id(), &all).into_iter().find(|each| each.program() == BINARY);
        found.context("the app has ended")
    }

    /// Every running process of the desktop that the app, or what it started, is behind.
    ///
    /// # Errors
    /// The app has ended.
    pub fn children(&self) -> Result<Vec<Running>> {
        Ok(process::descendants(self.process()?.id, &process::running()))
    }

    /// Closes its main window, as a person would.
    ///
    /// # Errors
    /// It did not close.
    pub fn close(self) -> Result<()> {
        self.page.close()
    }

    /// Ends it as the kernel would, without a word.
    ///
    /// # Errors
    /// It had ended already, or did not.
    pub fn kill(self) -> Result<()> {
        let id = self.process()?.id;
        process::signal(id, rustix::process::Signal::KILL);
        wait::until("the app to be gone", wait::LONG, || {
            Ok(process::running().iter().all(|process| process.id != id).then_some(()))
        })?;
        self.page.abandon();
        Ok(())
    }
}

const CALL: &str = "return window.__TAURITAVERN__.api.mcp[args.method](...args.given);";
