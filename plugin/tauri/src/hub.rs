//! The plugin's state in one application: the host once it is open, the live documents, the settings window's ear.
//!
//! The host opens in the background (a keychain may take seconds), so every command awaits it here. If it does not
//! open, every command says why, and the application itself goes on.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use mcp_host_core::{
    Host,
    approval::Language,
    error::{Error, Result},
    store::Folders,
};
use tauri::ipc::Channel;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    document::Documents,
    event::Hint,
    settings::{self, Opening},
};

/// One per application, managed by Tauri as `Arc<Hub>`.
pub(crate) struct Hub {
    /// Absent while the host opens.
    host: watch::Sender<Option<Result<Host>>>,
    pub(crate) documents: Documents,
    /// Where hints go; one settings window, one document, so the newest channel is the one.
    settings_ear: Mutex<Option<Channel<Hint>>>,
    /// When the settings window may be opened by a page.
    pub(crate) opening: Opening,
    pub(crate) language: Language,
    /// Where everything is kept; absent where that cannot be told, and then the host never opens.
    pub(crate) folders: Option<Folders>,
}

impl Hub {
    pub(crate) fn new(language: Language, folders: Option<Folders>) -> Self {
        Self {
            host: watch::Sender::new(None),
            documents: Documents::default(),
            settings_ear: Mutex::new(None),
            opening: Opening::default(),
            language,
            folders,
        }
    }

    /// Where the settings window keeps its storage.
    pub(crate) fn data_folder(&self) -> Option<PathBuf> {
        self.folders.as_ref().map(settings::data_folder)
    }

    /// The host, as soon as it is open.
    pub(crate) async fn host(&self) -> Result<Host> {
        let mut host = self.host.subscribe();
        match host.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Ok(host))) => Ok(host.clone()),
            Ok(Some(Err(error))) => Err(error.clone()),
            Ok(None) | Err(_) => Err(Error::internal("the host is gone")),
        }
    }

    /// The same, unless the request is taken back first.
    pub(crate) async fn host_unless(&self, cancel: &CancellationToken) -> Result<Host> {
        let taken_back = || Error::Cancelled { server: None, what: "the request".to_owned(), sent: false };
        cancel.run_until_cancelled(self.host()).await.unwrap_or_else(|| Err(taken_back()))
    }

    /// The host, if it is open now.
    pub(crate) fn host_now(&self) -> Option<Host> {
        self.host.borrow().as_ref().and_then(|host| host.as_ref().ok()).cloned()
    }

    /// The host is open, or never will be. The first word counts.
    pub(crate) fn set_host(&self, host: Result<Host>) {
        self.host.send_if_modified(|slot| {
            let first = slot.is_none();
            if first {
                *slot = Some(host);
            }
            first
        });
    }

    /// The settings window listens.
    pub(crate) fn set_settings_ear(&self, channel: Option<Channel<Hint>>) {
        let old = {
            let mut ear = self.settings_ear.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *ear, channel)
        };
        // Dropping a channel tells its webview something; not under the lock.
        drop(old);
    }

    /// Tells the settings window, if it is there.
    pub(crate) fn hint(&self, hint: Hint) {
        let ear = self.settings_ear.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(ear) = ear {
            let _ = ear.send(hint);
        }
    }
}
