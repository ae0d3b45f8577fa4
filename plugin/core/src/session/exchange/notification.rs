//! What a server tells unasked: progress to its request, the rest to the events.

use super::Exchange;
use crate::{
    event::ListKind,
    model::Progress,
    session::{
        event::{LogLevel, LogLine, SessionEvent},
        wire::{Id, view},
    },
};

/// Bytes of a text that are kept.
const TEXT_KEPT: usize = 4096;
/// Bytes of a URI; longer ones are nobody's.
const URI_LIMIT: usize = 8192;

impl Exchange {
    /// Handles one notification.
    pub(super) fn told(&self, method: &str, params: &str) {
        match method {
            "notifications/progress" => {
                if let Some((id, progress)) = read_progress(params)
                    && let Some(ticket) = self.state().open.get(&id)
                {
                    ticket.advance(progress);
                }
            }
            "notifications/message" => self.0.events.push(SessionEvent::Log(self.read_log(params))),
            "notifications/tools/list_changed" => self.list_changed(ListKind::Tools),
            "notifications/resources/list_changed" => self.list_changed(ListKind::Resources),
            "notifications/prompts/list_changed" => self.list_changed(ListKind::Prompts),
            "notifications/resources/updated" => {
                if let Some(uri) = view::member(params, "uri").and_then(view::text).filter(|uri| uri.len() <= URI_LIMIT)
                {
                    self.0.events.push(SessionEvent::ResourceUpdated(uri));
                }
            }
            // Also `notifications/cancelled`: whatever a server asks is answered before it can take it back.
            _ => tracing::debug!(method, "a notification that means nothing to us"),
        }
    }

    fn list_changed(&self, kind: ListKind) {
        self.0.events.push(SessionEvent::ListChanged(kind));
    }

    fn read_log(&self, params: &str) -> LogLine {
        let (mut level, mut logger, mut text) = (LogLevel::Info, None, String::new());
        for (key, value) in view::entries(params) {
            match &*key {
                "level" => level = view::text(value).and_then(|text| LogLevel::parse(&text)).unwrap_or(level),
                "logger" => logger = view::text(value).map(|text| view::cut(text, 256)),
                "data" => text = view::text(value).unwrap_or_else(|| value.to_owned()),
                _ => {}
            }
        }
        // Cut generously before masking, exactly after it: a secret at the edge is masked whole.
        let text = view::cut(self.0.mask.apply(&view::cut(text, 2 * TEXT_KEPT)), TEXT_KEPT);
        LogLine { level, logger, text }
    }
}

/// Whose progress it is, and what it says; `None` inside = a sign of life that says nothing.
fn read_progress(params: &str) -> Option<(i64, Option<Progress>)> {
    let (mut token, mut progress, mut total, mut message) = (None, None, None, None);
    for (key, value) in view::entries(params) {
        match &*key {
            "progressToken" => token = Id::read(value).and_then(|id| id.ours()),
            "progress" => progress = view::number(value),
            "total" => total = view::number(value),
            "message" => message = view::text(value).map(|text| view::cut(text, TEXT_KEPT)),
            _ => {}
        }
    }
    Some((token?, progress.map(|progress| Progress { progress, total, message })))
}
