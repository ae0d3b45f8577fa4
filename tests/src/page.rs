//! The main window's page, through tauri-driver and WebKitWebDriver.
//!
//! What runs here is what any script of the page could run: WebDriver is used to *be* such a script and to look at the
//! page, never to press what a person would press.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::desktop::Desktop;
use crate::hand::Area;
use crate::process::Guarded;
use crate::wait;

/// One run of the app under WebDriver. Dropping it ends the app.
pub struct Page {
    client: Option<Client>,
    runtime: Runtime,
    driver: Guarded,
}

impl Page {
    /// Starts tauri-driver, and through it `application`.
    ///
    /// # Errors
    /// The session did not start: usually the app ended, or opened another window first; see driver.log.
    pub fn open(desktop: &Desktop, driver: &Path, application: &Path, arguments: &[String]) -> Result<Self> {
        let (port, native) = (free_port()?, free_port()?);
        let mut command = desktop.command(driver);
        command.args(["--port", &port.to_string(), "--native-port", &native.to_string()]);
        let mut driver = desktop.start_guarded(&command, "driver")?;
        // It listens before the driver behind it does.
        wait::until("tauri-driver and WebKitWebDriver to listen", wait::LONG, || {
            if let Some(status) = driver.ended()? {
                bail!("tauri-driver ended: {status}\n{}", driver.output());
            }
            Ok([port, native].into_iter().all(listens).then_some(()))
        })?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let options = json!({ "tauri:options": { "application": application, "args": arguments } });
        let capabilities: Capabilities = serde_json::from_value(options)?;
        let address = format!("http://127.0.0.1:{port}");
        let client = runtime.block_on(async {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            builder.capabilities(capabilities);
            tokio::time::timeout(wait::LONG * 2, builder.connect(&address)).await
        });
        let client =
            client.context("the app's window did not come up; see driver.log")?.context("WebDriver session")?;
        let page = Self { client: Some(client), runtime, driver };
        page.run(|client| async move {
            let limits = fantoccini::wd::TimeoutConfiguration::new(Some(wait::LONG * 4), Some(wait::LONG), None);
            client.update_timeouts(limits).await
        })?;
        Ok(page)
    }

    /// The process id of tauri-driver; the app descends from it.
    pub fn driver_id(&self) -> u32 {
        self.driver.id()
    }

    /// Runs the body of an async function in the page, its arguments as `args`; what it returns, or what it threw as an
    /// error with its JSON.
    ///
    /// # Errors
    /// It threw, or the page is gone.
    pub fn script(&self, body: &str, arguments: Value) -> Result<Value> {
        let answer = self.outcome(body, arguments)?;
        match answer.get("thrown") {
            None => Ok(answer.get("value").cloned().unwrap_or(Value::Null)),
            Some(thrown) => bail!("the page's script threw {thrown}"),
        }
    }

    /// The same for a script that is expected to throw: what it threw.
    ///
    /// # Errors
    /// It did not throw, or the page is gone.
    pub fn thrown(&self, body: &str, arguments: Value) -> Result<Value> {
        let answer = self.outcome(body, arguments)?;
        answer.get("thrown").cloned().with_context(|| format!("it did not throw; it gave {answer}"))
    }

    /// Starts the body of an async function in the page and does not wait for it; see [`Pending::outcome`].
    ///
    /// # Errors
    /// The page is gone.
    pub fn begin(&self, body: &str, arguments: Value) -> Result<Pending<'_>> {
        let name = self.now(
            &format!(
                "const name = 'pending' + (window.__pending = (window.__pending || 0) + 1);\
                 const args = arguments[0];\
                 window[name] = null;\
                 ({WRAPPED})(async (args) => {{ {body} }}, args).then((answer) => {{ window[name] = answer; }});\
                 return name;"
            ),
            arguments,
        )?;
        Ok(Pending { page: self, name: name.as_str().unwrap_or_default().to_owned() })
    }

    /// Evaluates a synchronous script; `arguments[0]` is its argument.
    ///
    /// # Errors
    /// WebDriver's.
    pub fn now(&self, script: &str, argument: Value) -> Result<Value> {
        let script = script.to_owned();
        self.run(|client| async move { client.execute(&script, vec![argument]).await })
    }

    /// Where an element is on the screen: its place in the page, in a window at `window`.
    ///
    /// # Errors
    /// No such element.
    pub fn area(&self, selector: &str, window: &Area) -> Result<Area> {
        let found = self.now(
            "const element = document.querySelector(arguments[0]);\
             if (!element) return null;\
             element.scrollIntoView({ block: 'center' });\
             const { x, y, width, height } = element.getBoundingClientRect();\
             return { x: Math.round(x), y: Math.round(y), width: Math.round(width), height: Math.round(height) };",
            json!(selector),
        )?;
        let inner: Option<Area> = serde_json::from_value(found)?;
        let inner = inner.with_context(|| format!("the page has no `{selector}`"))?;
        Ok(Area { x: window.x + inner.x, y: window.y + inner.y, ..inner })
    }

    /// The text of the page, or of one element.
    ///
    /// # Errors
    /// No such element.
    pub fn text(&self, selector: &str) -> Result<String> {
        let selector = selector.to_owned();
        self.run(|client| async move { client.find(Locator::Css(&selector)).await?.text().await })
    }

    /// Loads the page anew.
    ///
    /// # Errors
    /// WebDriver's.
    pub fn reload(&self) -> Result<()> {
        self.run(|client| async move { client.refresh().await })
    }

    /// The page's address.
    ///
    /// # Errors
    /// WebDriver's.
    pub fn address(&self) -> Result<String> {
        Ok(self.run(|client| async move { client.current_url().await })?.to_string())
    }

    /// Waits for a synchronous expression to be true in the page.
    ///
    /// # Errors
    /// It was not, within `limit`.
    pub fn until(&self, what: &str, expression: &str, limit: Duration) -> Result<()> {
        let script = format!("return !!({expression});");
        wait::until(what, limit, || Ok((self.now(&script, Value::Null)? == Value::Bool(true)).then_some(())))
    }

    /// Closes the window, as the person would, and ends the driver.
    ///
    /// # Errors
    /// WebDriver's.
    pub fn close(mut self) -> Result<()> {
        self.end_session()
    }

    /// For when the app was ended by other means: the driver is ended without asking it anything.
    pub fn abandon(mut self) {
        self.client = None;
    }

    fn outcome(&self, body: &str, arguments: Value) -> Result<Value> {
        let script = format!(
            "const done = arguments[arguments.length - 1];\
             ({WRAPPED})(async (args) => {{ {body} }}, arguments[0]).then(done);"
        );
        self.run(|client| async move { client.execute_async(&script, vec![arguments]).await })
    }

    fn run<T, F>(&self, act: impl FnOnce(Client) -> F) -> Result<T>
    where
        F: Future<Output = Result<T, fantoccini::error::CmdError>>,
    {
        let client = self.client.clone().context("the session is closed")?;
        Ok(self.runtime.block_on(act(client))?)
    }

    fn end_session(&mut self) -> Result<()> {
        let Some(client) = self.client.take() else { return Ok(()) };
        self.runtime.block_on(async { tokio::time::timeout(wait::LONG, client.close()).await })??;
        Ok(())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.end_session();
    }
}

/// A script that is running in the page.
pub struct Pending<'a> {
    page: &'a Page,
    name: String,
}

impl Pending<'_> {
    /// Whether it has ended.
    ///
    /// # Errors
    /// The page is gone.
    pub fn is_done(&self) -> Result<bool> {
        Ok(!self.look()?.is_null())
    }

    /// Waits for it: `{"value": …}` or `{"thrown": …}`.
    ///
    /// # Errors
    /// It did not end within `limit`.
    pub fn outcome(&self, limit: Duration) -> Result<Value> {
        wait::until("the page's script to end", limit, || Ok(Some(self.look()?).filter(|value| !value.is_null())))
    }

    /// Waits for it, and for it to have given a value.
    ///
    /// # Errors
    /// It threw, or did not end within `limit`.
    pub fn value(&self, limit: Duration) -> Result<Value> {
        let outcome = self.outcome(limit)?;
        outcome.get("value").cloned().with_context(|| format!("the page's script gave {outcome}"))
    }

    /// Waits for it, and for it to have thrown an error with this code.
    ///
    /// # Errors
    /// It gave a value, threw something else, or did not end within `limit`.
    pub fn code(&self, limit: Duration) -> Result<String> {
        let outcome = self.outcome(limit)?;
        let code = outcome.pointer("/thrown/code").and_then(Value::as_str).map(str::to_owned);
        code.with_context(|| format!("the page's script gave {outcome}"))
    }

    fn look(&self) -> Result<Value> {
        self.page.now("return window[arguments[0]];", json!(self.name))
    }
}

/// Turns whatever a function gives or throws into one JSON value: errors do not survive JSON by themselves.
const WRAPPED: &str = "async (work, args) => {\
    try { const value = await work(args); return { value: value === undefined ? null : value }; }\
    catch (error) {\
      const plain = error instanceof Error\
        ? { name: error.name, message: error.message, ...error, code: error.code }\
        : error;\
      return { thrown: plain === undefined ? 'undefined' : plain };\
    }\
  }";

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
