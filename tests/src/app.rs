//! The reference app on a desktop: its page as any script sees it, its dialogs as a person meets them.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::desktop::Desktop;
use crate::eye::Node;
use crate::hand::{Area, Window};
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
        let node = wait::until("a dialog of the app", wait::LONG, || self.dialogs().map(|mut found| found.pop()))?;
        let window = self.desktop.hand().window(&node.name, wait::LONG)?;
        Ok(Dialog { desktop: self.desktop, window, node })
    }

    /// The dialogs that are there now.
    ///
    /// # Errors
    /// The accessibility bus does not answer.
    pub fn dialogs(&self) -> Result<Vec<Node>> {
        let windows = self.desktop.eye().windows("")?;
        let app = self.process()?.id;
        let mine = windows.into_iter().filter(|node| node.process == app && node.is("showing"));
        Ok(mine.filter(|node| matches!(node.role.as_str(), "dialog" | "alert")).collect())
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

/// A native dialog that is open.
pub struct Dialog<'a> {
    desktop: &'a Desktop,
    window: Window,
    node: Node,
}

impl Dialog<'_> {
    /// What a screen reader would read of it, line by line.
    pub fn reading(&self) -> String {
        self.node.reading()
    }

    /// Its tree.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Its window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Where it is.
    ///
    /// # Errors
    /// It is gone.
    pub fn area(&self) -> Result<Area> {
        self.desktop.hand().area(self.window)
    }

    /// Presses a button with the mouse as soon as the dialog takes it, and waits until that had its effect.
    ///
    /// # Errors
    /// There is no such button, or pressing it did nothing.
    pub fn press(self, name: &str) -> Result<()> {
        let button = self.node.button(name).with_context(|| format!("no «{name}» in\n{}", self.node.outline()))?;
        let area = button.place()?;
        let hand = self.desktop.hand();
        let title = self.node.name.clone();
        // Until the guard has run out a click does nothing, so it is repeated; what it opens has another title or place.
        wait::until(&format!("«{name}» to be taken"), wait::LONG, || {
            hand.click(&area)?;
            std::thread::sleep(Duration::from_millis(150));
            Ok((!hand.windows(&title)?.contains(&self.window)).then_some(()))
        })
    }

    /// Whether it is still open.
    ///
    /// # Errors
    /// xdotool's.
    pub fn is_open(&self) -> Result<bool> {
        Ok(self.desktop.hand().windows(&self.node.name)?.contains(&self.window))
    }

    /// Presses a key again and again until the dialog closes, and waits for that.
    ///
    /// # Errors
    /// It did not.
    pub fn close_by(self, key: &str) -> Result<()> {
        let hand = self.desktop.hand();
        wait::until(&format!("{key} to close the dialog"), wait::LONG, || {
            if self.is_open()? {
                hand.key(key)?;
                std::thread::sleep(Duration::from_millis(150));
            }
            Ok((!self.is_open()?).then_some(()))
        })
    }

    /// Requires that all of it, and each of its buttons, is on the screen.
    ///
    /// # Errors
    /// What is not.
    pub fn fits_the_screen(&self) -> Result<()> {
        let screen = Area { x: 0, y: 0, width: 1280, height: 720 };
        let area = self.area()?;
        ensure!(screen.contains(&area), "the dialog is at {area:?}");
        let buttons: Vec<&Node> = self.node.all().into_iter().filter(|node| node.role.ends_with("button")).collect();
        if buttons.is_empty() {
            bail!("it has no buttons:\n{}", self.node.outline());
        }
        for button in buttons.into_iter().filter(|button| button.is("showing")) {
            ensure!(screen.contains(&button.place()?), "«{}» is at {:?}", button.name, button.area);
        }
        Ok(())
    }
}
