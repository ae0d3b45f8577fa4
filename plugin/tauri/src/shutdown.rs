//! Every server ended and the log closed, whichever way the application ends: its last window, `exit`, SIGTERM, SIGINT
//! or SIGHUP. (What ends without a word, SIGKILL or a crash, is the core's watchdog's to clean up.)

use std::{sync::Arc, time::Duration};

use tauri::{AppHandle, Runtime};

use crate::hub::Hub;

/// No server may hold the application's end for longer: close, SIGTERM and SIGKILL take 2 s each.
const LIMIT: Duration = Duration::from_secs(8);

/// Waits for the host to end. Main thread, at `RunEvent::Exit`.
pub(crate) fn wait(hub: &Hub) {
    let Some(host) = hub.host_now() else { return };
    let (sender, ended) = std::sync::mpsc::channel();
    tauri::async_runtime::spawn(async move {
        host.shutdown().await;
        let _ = sender.send(());
    });
    if ended.recv_timeout(LIMIT).is_err() {
        tracing::error!("some servers did not end in time");
    }
}

/// A signal that asks to end is an orderly exit.
#[cfg(unix)]
pub(crate) fn on_signals<R: Runtime>(app: AppHandle<R>, hub: Arc<Hub>) {
    use tokio::signal::unix::{SignalKind, signal};

    async fn received(kind: SignalKind) {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(error) => {
                tracing::warn!(%error, "a signal cannot be listened to");
                std::future::pending::<()>().await;
            }
        }
    }

    tauri::async_runtime::spawn(async move {
        tokio::select! {
            () = received(SignalKind::terminate()) => {}
            () = received(SignalKind::interrupt()) => {}
            () = received(SignalKind::hangup()) => {}
        }
        if let Some(host) = hub.host_now() {
            let _ = tokio::time::timeout(LIMIT, host.shutdown()).await;
        }
        app.exit(0);
        // The application may refuse to exit, or its loop may stand still; it was told to go.
        tokio::time::sleep(LIMIT).await;
        std::process::exit(0);
    });
}

#[cfg(not(unix))]
pub(crate) fn on_signals<R: Runtime>(_app: AppHandle<R>, _hub: Arc<Hub>) {}
