//! Who calls a command: a page's document, or the settings window. Decided here, in Rust, besides Tauri's own ACL:
//! in one Tauri app all webviews may share an origin, and Tauri calls every custom scheme "local".

use std::sync::Arc;

use mcp_host_core::{
    error::{ErrorCode, ErrorInfo},
    model::Caller,
};
use specta::{Types, datatype::DataType, function::FunctionArg};
use tauri::{
    Manager, Runtime, Webview,
    ipc::{CommandArg, CommandItem, InvokeError},
};

use crate::{hub::Hub, settings};

/// The document of an untrusted page.
pub(crate) struct Page {
    pub(crate) hub: Arc<Hub>,
    /// The webview's label.
    pub(crate) label: String,
    /// Which load of it.
    pub(crate) document: u64,
}

impl Page {
    pub(crate) fn caller(&self) -> Caller {
        Caller::Page { window: self.label.clone(), document: self.document }
    }
}

/// The settings window. Having one is the proof that it asked.
pub(crate) struct Settings {
    pub(crate) hub: Arc<Hub>,
    /// Which load of its document; its pending calls end with it.
    pub(crate) document: u64,
}

impl<'de, R: Runtime> CommandArg<'de, R> for Page {
    fn from_command(command: CommandItem<'de, R>) -> Result<Self, InvokeError> {
        let webview = command.message.webview_ref();
        if webview.label() == settings::LABEL {
            return Err(refuse("the settings window has commands of its own"));
        }
        if !is_of_this_app(webview) {
            return Err(refuse("this address is not part of the application"));
        }
        let hub = hub(webview)?;
        let document = hub.documents.current(webview.label());
        Ok(Self { hub, label: webview.label().to_owned(), document })
    }
}

impl<'de, R: Runtime> CommandArg<'de, R> for Settings {
    fn from_command(command: CommandItem<'de, R>) -> Result<Self, InvokeError> {
        let webview = command.message.webview_ref();
        let hub = hub(webview)?;
        let ours = webview.label() == settings::LABEL
            && hub.opening.is_ours()
            && webview.url().is_ok_and(|url| settings::is_own_address(&url));
        if !ours {
            return Err(refuse("only the settings window may do this"));
        }
        let document = hub.documents.current(settings::LABEL);
        Ok(Self { hub, document })
    }
}

/// Neither is an argument that JavaScript gives.
impl FunctionArg for Page {
    fn to_datatype(_: &mut Types) -> Option<DataType> {
        None
    }
}

impl FunctionArg for Settings {
    fn to_datatype(_: &mut Types) -> Option<DataType> {
        None
    }
}

fn hub<R: Runtime>(webview: &Webview<R>) -> Result<Arc<Hub>, InvokeError> {
    webview.try_state::<Arc<Hub>>().map(|hub| Arc::clone(&hub)).ok_or_else(|| refuse("the MCP host is not set up"))
}

/// Refused before the request became one: the contract calls that `mcp.ipc`.
fn refuse(why: &str) -> InvokeError {
    let code = ErrorCode::Ipc;
    ErrorInfo { code, message: format!("{code}: {why}"), retryable: false, server_id: None, details: None }.into()
}

/// Whether the webview shows the application itself. A capability with `remote` addresses opens our commands to other
/// sites as far as Tauri is concerned; for us a site is never the page.
fn is_of_this_app<R: Runtime>(webview: &Webview<R>) -> bool {
    let Ok(url) = webview.url() else { return false };
    match url.scheme() {
        "http" | "https" => {
            let host = url.host_str().unwrap_or_default();
            let dev = webview.config().build.dev_url.as_ref().is_some_and(|dev| dev.origin() == url.origin());
            dev || host == "tauri.localhost" || host.strip_suffix(".localhost").is_some_and(|name| !name.contains('.'))
        }
        "file" | "data" | "blob" | "about" | "javascript" => false,
        _ => true,
    }
}
