//! A word to the person who is looking elsewhere: the window asks for attention, and the desktop says that a question
//! waits. A port, since a machine may have no one who listens; it never carries a stranger's text.

use tauri::{AppHandle, Manager, Runtime, UserAttentionType};

/// What to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Who says it.
pub(crate) trait Notify: Send + Sync + 'static {
    /// Says it, or does not; nothing depends on it.
    fn notify(&self, notice: Notice);
}

/// The system's own means.
pub(crate) struct Desktop<R: Runtime>(pub(crate) AppHandle<R>);

impl<R: Runtime> Notify for Desktop<R> {
    fn notify(&self, notice: Notice) {
        for window in self.0.webview_windows().values().filter(|window| window.is_visible().unwrap_or(false)) {
            let _ = window.request_user_attention(Some(UserAttentionType::Informational));
        }
        let application = self.0.package_info().name.clone();
        // The D-Bus client belongs to the main thread's loop.
        let _ = self.0.run_on_main_thread(move || say(&application, &notice));
    }
}

/// org.freedesktop.Notifications, through the D-Bus client that gtk brings along.
#[cfg(gtk_dialog)]
fn say(application: &str, notice: &Notice) {
    use gtk::{gio, glib, prelude::*};

    const NO_TIMEOUT_OF_ITS_OWN: i32 = -1;
    let arguments = (
        application,
        0_u32,
        "dialog-question",
        notice.title.as_str(),
        // The body may be read as markup.
        glib::markup_escape_text(&notice.text).as_str(),
        Vec::<String>::new(),
        std::collections::HashMap::<String, glib::Variant>::new(),
        NO_TIMEOUT_OF_ITS_OWN,
    )
        .to_variant();
    gio::bus_get(gio::BusType::Session, gio::Cancellable::NONE, move |bus| {
        let Ok(bus) = bus else { return };
        bus.call(
            Some("org.freedesktop.Notifications"),
            "/org/freedesktop/Notifications",
            "org.freedesktop.Notifications",
            "Notify",
            Some(&arguments),
            None,
            gio::DBusCallFlags::NO_AUTO_START,
            2_000,
            gio::Cancellable::NONE,
            |sent| {
                if let Err(error) = sent {
                    tracing::debug!(%error, "no notification service answers");
                }
            },
        );
    });
}

#[cfg(not(gtk_dialog))]
fn say(_application: &str, _notice: &Notice) {}
