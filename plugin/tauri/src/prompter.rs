//! The native prompter: takes a sheet to the screen by the best dialog that the platform has.

use std::sync::Arc;

use mcp_host_core::{
    approval::{Answer, Language, Prompter, Sheet},
    clock::BoxFuture,
};
use tauri::{AppHandle, Manager, Runtime, WebviewWindow};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{
    dialog::{
        steps::{self, SystemScreen},
        words::Words,
    },
    hub::Hub,
    notify::{Notice, Notify},
    settings::{self, QuestionShown},
};

/// Which dialog shows a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DialogKind {
    /// Our own window on Linux, the system's message dialogs elsewhere.
    #[default]
    Native,
    /// The system's message dialogs, one question after the other. Debug builds only; for testing them on Linux.
    Steps,
}

/// Asks the person in front of this application.
pub(crate) struct NativePrompter<R: Runtime> {
    pub(crate) app: AppHandle<R>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) kind: DialogKind,
    pub(crate) notify: Arc<dyn Notify>,
}

impl<R: Runtime> NativePrompter<R> {
    /// The window that a question belongs to: the one that asks, else the one that has the focus, else any. Only one
    /// that can be seen: a dialog over a hidden or minimised window is hidden with it.
    fn parent(app: &AppHandle<R>, sheet: &Sheet) -> Option<WebviewWindow<R>> {
        let windows = app.webview_windows();
        let visible = |window: &&WebviewWindow<R>| {
            window.is_visible().unwrap_or(false) && !window.is_minimized().unwrap_or(false)
        };
        sheet
            .parent
            .as_ref()
            .and_then(|label| windows.get(label))
            .filter(visible)
            .or_else(|| windows.values().find(|window| window.is_focused().unwrap_or(false)))
            .or_else(|| windows.get(settings::LABEL).filter(visible))
            .or_else(|| windows.values().find(visible))
            .cloned()
    }

    fn in_steps(&self) -> bool {
        !cfg!(gtk_dialog) || (cfg!(debug_assertions) && self.kind == DialogKind::Steps)
    }

    fn show_in_steps(&self, sheet: Sheet, shown: oneshot::Sender<()>, closed: CancellationToken) -> BoxFuture<Answer> {
        let (app, hub, notify) = (self.app.clone(), Arc::clone(&self.hub), Arc::clone(&self.notify));
        Box::pin(async move {
            let _question = QuestionShown::new(&hub);
            let parent = Self::parent(&app, &sheet);
            if !parent.as_ref().is_some_and(|parent| parent.is_focused().unwrap_or(false)) {
                notify.notify(Notice::of(&sheet));
            }
            let mut screen = SystemScreen { app, parent };
            let shown = move || {
                let _ = shown.send(());
            };
            // The dialog outlives the question; its answer is void then.
            tokio::select! {
                biased;
                () = closed.cancelled() => Answer::Dismissed,
                answer = steps::ask(&sheet, &mut screen, &closed, shown) => answer,
            }
        })
    }

    #[cfg(gtk_dialog)]
    fn show_own(&self, sheet: Sheet, shown: oneshot::Sender<()>, closed: CancellationToken) -> BoxFuture<Answer> {
        use gtk::prelude::*;

        use crate::dialog::gtk::{Report, open};

        let (sender, answer) = oneshot::channel();
        let (app, hub, notify) = (self.app.clone(), Arc::clone(&self.hub), Arc::clone(&self.notify));
        let asked = self.app.run_on_main_thread(move || {
            let question = QuestionShown::new(&hub);
            let parent = Self::parent(&app, &sheet).and_then(|window| window.gtk_window().ok());
            let notice = Notice::of(&sheet);
            let report = Report {
                shown: Box::new(move || {
                    let _ = shown.send(());
                }),
                answered: Box::new(move |answer| {
                    drop(question);
                    let _ = sender.send(answer);
                }),
                unnoticed: Box::new(move || notify.notify(notice)),
            };
            open(sheet, parent.as_ref().map(Cast::upcast_ref), closed, report);
        });
        Box::pin(async move {
            match asked {
                // The application ended before anybody answered.
                Ok(()) => answer.await.unwrap_or(Answer::Dismissed),
                Err(error) => {
                    tracing::error!(%error, "a question cannot be shown");
                    Answer::Unavailable
                }
            }
        })
    }

    #[cfg(not(gtk_dialog))]
    fn show_own(&self, sheet: Sheet, shown: oneshot::Sender<()>, closed: CancellationToken) -> BoxFuture<Answer> {
        self.show_in_steps(sheet, shown, closed)
    }
}

impl<R: Runtime> Prompter for NativePrompter<R> {
    fn show(&self, sheet: Sheet, shown: oneshot::Sender<()>, closed: CancellationToken) -> BoxFuture<Answer> {
        if self.in_steps() { self.show_in_steps(sheet, shown, closed) } else { self.show_own(sheet, shown, closed) }
    }

    fn raise(&self, id: &str) {
        #[cfg(gtk_dialog)]
        {
            let id = id.to_owned();
            if let Err(error) = self.app.run_on_main_thread(move || crate::dialog::gtk::raise(&id)) {
                tracing::warn!(%error, "a question cannot be raised");
            }
        }
        #[cfg(not(gtk_dialog))]
        let _ = id;
    }

    fn language(&self) -> Language {
        self.hub.language
    }
}

impl Notice {
    /// What is said in the background: that something waits, and nothing of what a stranger wrote.
    fn of(sheet: &Sheet) -> Self {
        Self { title: sheet.title.clone(), text: Words::of(sheet.language).waiting.to_owned() }
    }
}
