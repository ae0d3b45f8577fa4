//! The start-up self-test: are our two capability files there, and do they grant what they should?
//!
//! A missing capability shows itself only as a refused command, far from its cause. So each webview's first load asks
//! Tauri's own authority, by a command of each kind, and the log says which file is missing, or which grants too much.

use std::sync::Mutex;

use tauri::{
    Manager, Runtime, Url, Webview,
    ipc::{CallbackFn, InvokeBody, InvokeResponse},
    webview::InvokeRequest,
};

use crate::{PLUGIN_NAME, settings};

/// What a webview's capabilities grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granted {
    /// The command was let through by the authority.
    Yes,
    /// The authority refused.
    No,
}

/// Looks at what a webview was granted, and says what is wrong with it. `page`: it is the one that should be granted
/// the page's commands; other windows of the application may or may not be.
///
/// Later, on the main thread: hooks run under Tauri's lock over all plugins, which a command takes as well.
pub(crate) fn run<R: Runtime>(webview: &Webview<R>, page: bool) {
    let webview = webview.clone();
    tauri::async_runtime::spawn(async move {
        let app = webview.app_handle().clone();
        let _ = app.run_on_main_thread(move || look(&webview, page));
    });
}

fn look<R: Runtime>(webview: &Webview<R>, page: bool) {
    let label = webview.label().to_owned();
    let is_settings = label == settings::LABEL;
    let mut checks = vec![("admin_get_environment", is_settings)];
    if page {
        checks.push(("get_api_info", true));
    }
    for (command, expected) in checks {
        let label = label.clone();
        ask(webview, command, move |granted| {
            if let Some(problem) = problem(&label, command, expected, granted) {
                tracing::error!("{problem}");
            }
        });
    }
}

/// What is wrong, and what to do.
fn problem(label: &str, command: &str, expected: bool, granted: Granted) -> Option<String> {
    match (expected, granted) {
        (true, Granted::No) => {
            let file = if label == settings::LABEL { "mcp-host-settings.json" } else { "mcp-host-page.json" };
            Some(format!(
                "the webview `{label}` may not call the MCP host (`{command}` was refused): copy the plugin's \
                 capability file `{file}` into `src-tauri/capabilities/` and name the webview in it"
            ))
        }
        (false, Granted::Yes) => Some(format!(
            "the webview `{label}` was granted `{command}`, which is for the settings window alone: take \
             `mcp-host:admin` out of its capability"
        )),
        _ => None,
    }
}

/// Sends a command as the webview itself would.
fn ask<R: Runtime>(webview: &Webview<R>, command: &str, then: impl FnOnce(Granted) + Send + 'static) {
    let Ok(url) = webview.url() else { return };
    let request = InvokeRequest {
        cmd: format!("plugin:{PLUGIN_NAME}|{command}"),
        callback: CallbackFn(0),
        error: CallbackFn(0),
        url: local(url),
        body: InvokeBody::default(),
        headers: tauri::http::HeaderMap::default(),
        invoke_key: webview.app_handle().invoke_key().to_owned(),
    };
    // The handler answers once; a lock lets the closure be `Send` without asking more of it.
    let then = Mutex::new(Some(then));
    webview.clone().on_message(
        request,
        Box::new(move |_, _, response, _, _| {
            // The authority refuses with a sentence, our own commands with an object.
            let granted = match response {
                InvokeResponse::Err(error) if error.0.is_string() => Granted::No,
                InvokeResponse::Ok(_) | InvokeResponse::Err(_) => Granted::Yes,
            };
            let then = then.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            if let Some(then) = then {
                then(granted);
            }
        }),
    );
}

/// The same page without its path, which may hold anything.
fn local(mut url: Url) -> Url {
    url.set_path("/");
    url.set_query(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named_and_a_grant_too_many_as_well() {
        let missing = |label, command| problem(label, command, true, Granted::No).unwrap_or_default();
        assert!(missing("main", "get_api_info").contains("mcp-host-page.json"));
        assert!(missing(settings::LABEL, "admin_get_environment").contains("mcp-host-settings.json"));
        let too_much = problem("main", "admin_get_environment", false, Granted::Yes).unwrap_or_default();
        assert!(too_much.contains("mcp-host:admin"));
        assert_eq!(problem("main", "get_api_info", true, Granted::Yes), None);
        assert_eq!(problem("main", "admin_get_environment", false, Granted::No), None);
    }
}
