//! The settings window: the trusted one. Made by Rust alone, on first use, under a reserved label, on a scheme of its
//! own that answers nobody else, with its storage in our folder.
//!
//! In one Tauri app all other webviews share origin, storage and service workers with the untrusted page. This one
//! shares nothing with it: not the origin, not the data folder, not the commands.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use mcp_host_core::{
    approval::Language,
    error::{Error, Result},
    store::Folders,
};
use tauri::{
    AppHandle, Manager, Runtime, Url, WebviewUrl,
    http::{Request, Response, StatusCode, header},
    webview::{NewWindowResponse, WebviewWindowBuilder},
};

use crate::hub::Hub;

/// The reserved label.
pub(crate) const LABEL: &str = "mcp-host-settings";
/// The scheme.
pub(crate) const SCHEME: &str = "mcp-host-settings";

/// How often a page may open it.
const BETWEEN: Duration = Duration::from_secs(10);

/// Scripts and styles of our own only; IPC through Tauri's own scheme; no frame, no form, no other connection.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src ipc: http://ipc.localhost; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; object-src 'none'";

/// Path and content of every file of the window.
const ASSETS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Whether the window is ours, and when a page may ask for it.
#[derive(Default)]
pub(crate) struct Opening {
    /// When a page last opened it.
    last: Mutex<Option<Instant>>,
    /// How many questions are on the screen.
    questions: AtomicUsize,
    /// The window under our label was made by [`open`], not by a script.
    ours: AtomicBool,
}

/// A question is on the screen until this is dropped.
pub(crate) struct QuestionShown(Arc<Hub>);

impl Drop for QuestionShown {
    fn drop(&mut self) {
        self.0.opening.questions.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Opening {
    /// A page asks for the window: at most every ten seconds, never over a question.
    pub(crate) fn take(&self) -> Result<()> {
        let refuse = |message: String, wait: Option<Duration>| Error::RateLimited {
            server: None,
            message,
            retry_after_ms: wait.and_then(|wait| u32::try_from(wait.as_millis()).ok()),
        };
        if self.questions.load(Ordering::SeqCst) > 0 {
            return Err(refuse("a question waits for the person; the settings window opens after it".to_owned(), None));
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(rest) = last.and_then(|last| BETWEEN.checked_sub(now - last)) {
            let message = format!("the settings window can be opened every {} s", BETWEEN.as_secs());
            return Err(refuse(message, Some(rest)));
        }
        *last = Some(now);
        Ok(())
    }

    /// Whether the window under our label was made here.
    pub(crate) fn is_ours(&self) -> bool {
        self.ours.load(Ordering::SeqCst)
    }

    /// The window under our label is gone.
    pub(crate) fn closed(&self) {
        self.ours.store(false, Ordering::SeqCst);
    }
}

impl QuestionShown {
    pub(crate) fn new(hub: &Arc<Hub>) -> Self {
        hub.opening.questions.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(hub))
    }
}

/// Whether this is an address of the settings window itself.
pub(crate) fn is_own_address(url: &Url) -> bool {
    // Windows and Android have no custom schemes: `http://<scheme>.localhost`.
    let mapped = cfg!(any(windows, target_os = "android")) && matches!(url.scheme(), "http" | "https");
    let host =
        if mapped { url.host_str().and_then(|host| host.strip_prefix("mcp-host-settings.")) } else { url.host_str() };
    (mapped || url.scheme() == SCHEME) && host == Some("localhost")
}

/// Opens the window, or brings it to the front.
pub(crate) fn open<R: Runtime>(app: &AppHandle<R>) -> Result<()> {
    let hub = app.try_state::<Arc<Hub>>().ok_or_else(|| Error::internal("the MCP host is not set up"))?;
    if let Some(window) = app.get_webview_window(LABEL) {
        if !hub.opening.is_ours() || !window.url().is_ok_and(|url| is_own_address(&url)) {
            return Err(Error::internal(format!("a window that is not ours holds the label `{LABEL}`; close it")));
        }
        let shown = window.unminimize().and_then(|()| window.show()).and_then(|()| window.set_focus());
        return shown.map_err(Error::internal);
    }
    let url = Url::parse(&format!("{SCHEME}://localhost/")).map_err(Error::internal)?;
    let title = match hub.language {
        Language::English => "MCP servers",
        Language::SimplifiedChinese => "MCP 服务器",
    };
    let mut window = WebviewWindowBuilder::new(app, LABEL, WebviewUrl::CustomProtocol(url))
        .title(title)
        .inner_size(1020.0, 640.0)
        .center()
        .min_inner_size(640.0, 440.0)
        .on_navigation(is_own_address)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_download(|_, _| false)
        .disable_drag_drop_handler();
    if !shares_context() {
        window = separate(window, hub.data_folder());
    }
    hub.opening.ours.store(true, Ordering::SeqCst);
    match window.build() {
        Ok(_) => {
            if let Some(host) = hub.host_now() {
                host.admin().settings_opened();
            }
            Ok(())
        }
        Err(error) => {
            hub.opening.closed();
            Err(Error::internal(format!("the settings window cannot be opened: {error}")))
        }
    }
}

/// A window of the application is gone: where the settings window is the last one, it goes too, or it would keep an
/// application alive whose own windows are closed.
pub(crate) fn follow<R: Runtime>(app: &AppHandle<R>, gone: &str) {
    let (app, gone) = (app.clone(), gone.to_owned());
    // Later: hooks run under Tauri's lock over all plugins, which a window that goes takes as well.
    tauri::async_runtime::spawn(async move {
        let windows = app.webview_windows();
        let last = windows.keys().all(|label| label == LABEL || *label == gone);
        if let Some(window) = windows.get(LABEL).filter(|_| last)
            && let Err(error) = window.close()
        {
            tracing::warn!(%error, "the settings window does not close");
        }
    });
}

/// Storage of its own, in our folder, which no page's scope reaches.
fn separate<'a, R: Runtime, M: Manager<R>>(
    window: WebviewWindowBuilder<'a, R, M>,
    folder: Option<PathBuf>,
) -> WebviewWindowBuilder<'a, R, M> {
    match folder {
        Some(folder) => window.data_directory(folder).data_store_identifier(*b"mcp-host-setting"),
        None => window.incognito(true),
    }
}

/// Where the window's storage is.
pub(crate) fn data_folder(folders: &Folders) -> PathBuf {
    folders.state().join("settings-webview")
}

/// Debug builds only: a WebDriver session does not see a window that has a data folder of its own.
fn shares_context() -> bool {
    cfg!(debug_assertions) && std::env::var_os("MCP_HOST_SETTINGS_SHARED_CONTEXT").is_some_and(|value| value == "1")
}

/// Answers the scheme: the settings window gets its files, everybody else 403.
pub(crate) fn respond(ours: bool, label: &str, request: &Request<Vec<u8>>) -> Response<&'static [u8]> {
    let (status, mime, body): (_, _, &'static [u8]) = if label != LABEL || !ours {
        (StatusCode::FORBIDDEN, "text/plain", b"")
    } else {
        let path = if request.uri().path() == "/" { "/index.html" } else { request.uri().path() };
        match ASSETS.iter().find(|(name, _)| *name == path) {
            Some((name, content)) => (StatusCode::OK, mime_of(name), content),
            None => (StatusCode::NOT_FOUND, "text/plain", b""),
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let text = header::HeaderValue::from_static;
    headers.insert(header::CONTENT_TYPE, text(mime));
    headers.insert(header::CONTENT_SECURITY_POLICY, text(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, text("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, text("DENY"));
    headers.insert(header::REFERRER_POLICY, text("no-referrer"));
    headers.insert(header::CACHE_CONTROL, text("no-store"));
    response
}

fn mime_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("json" | "map") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn get(label: &str, ours: bool, path: &str) -> Response<&'static [u8]> {
        let uri = format!("{SCHEME}://localhost{path}");
        respond(ours, label, &Request::builder().uri(uri).body(Vec::new()).unwrap())
    }

    #[test]
    fn the_scheme_answers_the_settings_window_alone() {
        let page = get(LABEL, true, "/");
        assert_eq!(page.status(), StatusCode::OK);
        assert!(page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().starts_with("default-src 'none'"));
        assert!(!page.body().is_empty());
        assert_eq!(get(LABEL, true, "/index.html").body(), page.body());

        for refused in [get("main", true, "/"), get(LABEL, false, "/"), get("mcp-host-settings2", true, "/index.html")]
        {
            assert_eq!(refused.status(), StatusCode::FORBIDDEN);
            assert!(refused.body().is_empty());
        }
        assert_eq!(get(LABEL, true, "/../index.html").status(), StatusCode::NOT_FOUND);
        assert_eq!(get(LABEL, true, "//etc/passwd").status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn only_the_own_scheme_and_host_are_its_address() {
        let own = |text: &str| is_own_address(&Url::parse(text).unwrap());
        assert!(own("mcp-host-settings://localhost/"));
        assert!(own("mcp-host-settings://localhost/index.html#servers"));
        for other in [
            "mcp-host-settings://evil/",
            "tauri://localhost/",
            "https://mcp-host-settings.localhost.evil.com/",
            "mcp-host-settings2://localhost/",
            "asset://localhost/mcp-host-settings",
        ] {
            assert!(!own(other), "{other}");
        }
        assert_eq!(own("http://mcp-host-settings.localhost/"), cfg!(windows));
    }

    #[test]
    fn a_page_opens_it_at_most_every_ten_seconds_and_never_over_a_question() {
        let opening = Opening::default();
        opening.questions.store(1, Ordering::SeqCst);
        assert!(matches!(opening.take(), Err(Error::RateLimited { retry_after_ms: None, .. })));
        opening.questions.store(0, Ordering::SeqCst);
        opening.take().unwrap();
        assert!(matches!(opening.take(), Err(Error::RateLimited { retry_after_ms: Some(_), .. })));
        *opening.last.lock().unwrap() = Instant::now().checked_sub(BETWEEN);
        opening.take().unwrap();
    }
}
