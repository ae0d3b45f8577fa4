//! A Tauri 2 plugin that lets a desktop app host MCP servers, with consent and an audit log.
//!
//! ```no_run
//! tauri::Builder::default()
//!     .plugin(tauri_plugin_mcp_host::init())
//!     # ;
//! ```
//!
//! The page gets `window.__TAURITAVERN__.api.mcpHost`; Rust gets [`McpHostExt`]. Two capability files are to be copied
//! into the application (`capabilities/` of this crate); a start-up self-test says which one is missing.
//!
//! | module | its one job |
//! | --- | --- |
//! | `command` | what JavaScript may ask, and who may ask it |
//! | `document` | which load of a page is alive, and what belongs to it |
//! | `event`, `relay` | from the host's events to those who may hear them |
//! | `settings` | the trusted window: its label, its scheme, its files |
//! | `prompter`, `dialog`, `notify` | a question on the screen, and one answer |
//! | `scope`, `check` | our folders out of a page's reach, our capabilities in place |
//! | `shutdown` | every server ended, whichever way the application ends |
//!
//! Glue, and thin: everything that decides, words or stores is in `mcp-host-core`.

mod bindings;
mod check;
mod command;
mod dialog;
mod document;
mod event;
mod hub;
mod language;
mod notify;
mod prompter;
mod relay;
mod scope;
mod settings;
mod shutdown;

use std::{path::PathBuf, sync::Arc};

use mcp_host_core::{Host, Result, host::Origin, store::Folders};
use tauri::{
    AppHandle, Manager, RunEvent, Runtime, Webview, WindowEvent,
    plugin::TauriPlugin,
    webview::{PageLoadEvent, PageLoadPayload},
};

pub use mcp_host_core::{self as core, approval::Language};
pub use prompter::DialogKind;

use hub::Hub;
use notify::{Desktop, Notify};
use prompter::NativePrompter;

/// The plugin's name, as in `plugin:mcp-host|list_servers`.
pub const PLUGIN_NAME: &str = "mcp-host";

/// The plugin as it comes: the product's own folder, the system's language.
pub fn init<R: Runtime>() -> TauriPlugin<R> {
    Builder::new().build()
}

/// The plugin with options.
#[derive(Clone, Debug)]
pub struct Builder {
    config_dir: Option<PathBuf>,
    language: Option<Language>,
    permission_mode: Option<String>,
    approve_scoped: Vec<String>,
    audit_full: bool,
    dialog: DialogKind,
    page: String,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            config_dir: None,
            language: None,
            permission_mode: None,
            approve_scoped: Vec::new(),
            audit_full: false,
            dialog: DialogKind::default(),
            page: "main".to_owned(),
        }
    }
}

impl Builder {
    /// The defaults of [`init`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps everything under this folder instead of the product's own (`--config-dir`).
    pub fn config_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.config_dir = Some(folder.into());
        self
    }

    /// The language of dialogs and settings; else the system's.
    pub fn language(mut self, language: Language) -> Self {
        self.language = Some(language);
        self
    }

    /// A permission mode for this run (`--permission-mode`).
    pub fn permission_mode(mut self, mode: impl Into<String>) -> Self {
        self.permission_mode = Some(mode.into());
        self
    }

    /// Payload digests that are allowed for this run (`--approve-scoped [SERVER/]TOOL:SHA256`).
    pub fn approve_scoped(mut self, digests: impl IntoIterator<Item = String>) -> Self {
        self.approve_scoped = digests.into_iter().collect();
        self
    }

    /// Keeps arguments and results in the audit log, at the person's risk (`--audit-full`).
    pub fn audit_full(mut self, full: bool) -> Self {
        self.audit_full = full;
        self
    }

    /// Which dialog asks.
    pub fn dialog(mut self, kind: DialogKind) -> Self {
        self.dialog = kind;
        self
    }

    /// The label of the webview whose capability the self-test looks for; `main` unless given.
    pub fn page(mut self, label: impl Into<String>) -> Self {
        self.page = label.into();
        self
    }

    /// The plugin.
    pub fn build<R: Runtime>(self) -> TauriPlugin<R> {
        let page = self.page.clone();
        tauri::plugin::Builder::new(PLUGIN_NAME)
            .js_init_script(include_str!("init-iife.js"))
            .invoke_handler(bindings::handler())
            .register_uri_scheme_protocol(settings::SCHEME, |context, request| {
                let ours = context.app_handle().try_state::<Arc<Hub>>().is_some_and(|hub| hub.opening.is_ours());
                settings::respond(ours, context.webview_label(), &request)
            })
            .setup(move |app, _| {
                let folders = Folders::resolve(self.config_dir.as_deref());
                let language = self.language.unwrap_or_else(language::of_the_system);
                let hub = Arc::new(Hub::new(language, folders.as_ref().ok().cloned()));
                if let Err(error) = folders {
                    hub.set_host(Err(error));
                }
                app.manage(Arc::clone(&hub));
                app.manage(Arc::new(self));
                shutdown::on_signals(app.clone(), hub);
                Ok(())
            })
            .on_page_load(move |webview, payload| page_load(webview, payload, &page))
            .on_event(|app, event| on_event(app, event))
            .build()
    }
}

/// A document begins: what the one before it asked for is void.
fn page_load<R: Runtime>(webview: &Webview<R>, payload: &PageLoadPayload<'_>, page: &str) {
    let Some(hub) = webview.try_state::<Arc<Hub>>() else { return };
    match payload.event() {
        PageLoadEvent::Started => {
            let old = hub.documents.begin(webview.label());
            forget(&hub, webview.label(), old);
        }
        PageLoadEvent::Finished => check::run(webview, webview.label() == page),
    }
}

fn forget(hub: &Hub, label: &str, document: Option<u64>) {
    if label == settings::LABEL {
        hub.set_settings_ear(None);
    } else if let (Some(host), Some(document)) = (hub.host_now(), document) {
        host.forget_document(label, document);
    }
}

fn on_event<R: Runtime>(app: &AppHandle<R>, event: &RunEvent) {
    let Some(hub) = app.try_state::<Arc<Hub>>() else { return };
    match event {
        // Before the first page loads, and after every plugin's own set-up.
        RunEvent::Ready => open_host(app, &hub),
        RunEvent::WindowEvent { label, event: WindowEvent::Destroyed, .. } => {
            let old = hub.documents.end(label);
            forget(&hub, label, old);
            if label == settings::LABEL {
                hub.opening.closed();
            } else {
                settings::follow(app, label);
            }
        }
        RunEvent::Exit => shutdown::wait(&hub),
        _ => {}
    }
}

/// Opens the host in the background, once our folders are out of every page's reach.
fn open_host<R: Runtime>(app: &AppHandle<R>, hub: &Arc<Hub>) {
    let Some(folders) = hub.folders.clone() else { return };
    let Some(options) = app.try_state::<Arc<Builder>>() else { return };
    if let Err(error) = scope::close(app, &folders) {
        tracing::error!(%error, "the MCP host stays shut");
        return hub.set_host(Err(error));
    }
    let notify: Arc<dyn Notify> = Arc::new(Desktop(app.clone()));
    let prompter = NativePrompter { app: app.clone(), hub: Arc::clone(hub), kind: options.dialog, notify };
    let host = Host::builder(Origin::App, options.config_dir.clone())
        .prompter(Arc::new(prompter))
        .permission_mode(options.permission_mode.clone())
        .approve_scoped(options.approve_scoped.clone())
        .audit_full(options.audit_full);
    let hub = Arc::clone(hub);
    tauri::async_runtime::spawn(async move {
        let host = host.build().await;
        match &host {
            Ok(host) => {
                tauri::async_runtime::spawn(relay::run(host.clone(), Arc::clone(&hub)));
            }
            Err(error) => tracing::error!(%error, "the MCP host did not open"),
        }
        hub.set_host(host);
    });
}

/// The host, for Rust: `app.mcp_host()`.
pub trait McpHostExt<R: Runtime> {
    /// The plugin's handle.
    fn mcp_host(&self) -> McpHost<R>;
}

impl<R: Runtime, M: Manager<R>> McpHostExt<R> for M {
    fn mcp_host(&self) -> McpHost<R> {
        McpHost { app: self.app_handle().clone() }
    }
}

/// What the application itself may do with the plugin.
#[derive(Clone, Debug)]
pub struct McpHost<R: Runtime> {
    app: AppHandle<R>,
}

impl<R: Runtime> McpHost<R> {
    /// The host, as soon as it is open. Fails where it did not open, or where the plugin is not registered.
    pub async fn host(&self) -> Result<Host> {
        let hub = self.app.try_state::<Arc<Hub>>().map(|hub| Arc::clone(&hub));
        match hub {
            Some(hub) => hub.host().await,
            None => Err(core::Error::internal("the plugin `mcp-host` is not registered")),
        }
    }

    /// Opens the settings window, or brings it to the front; for a menu or the tray.
    pub fn open_settings(&self) -> Result<()> {
        settings::open(&self.app)
    }
}

/// Shows any sheet without an application around it; for pictures and tests of the dialog.
#[cfg(all(feature = "gallery", gtk_dialog))]
#[doc(hidden)]
pub mod gallery {
    use mcp_host_core::approval::{Answer, Sheet};
    use tokio_util::sync::CancellationToken;

    /// Main thread only; see `examples/dialog.rs`.
    pub fn show(
        sheet: Sheet,
        parent: Option<&gtk::Window>,
        closed: CancellationToken,
        answered: impl FnOnce(Answer) + 'static,
    ) {
        let report = crate::dialog::gtk::Report {
            shown: Box::new(|| {}),
            answered: Box::new(answered),
            unnoticed: Box::new(|| {}),
        };
        crate::dialog::gtk::open(sheet, parent, closed, report);
    }
}
