//! Which document of which webview is alive, and what belongs to it: pending requests, subscriptions, channels.
//!
//! A load of a page is a document with a number of its own. When the next one begins the old one's requests are
//! cancelled and its channels dropped; nothing of it passes to the new one. Bounded (policy.md §10).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_host_core::{
    error::{Error, Result},
    model::{ResourceChange, ServerId},
};
use tauri::ipc::Channel;
use tokio_util::sync::CancellationToken;

use crate::event::PageEvent;

/// Requests of one document at a time.
pub(crate) const MAX_PENDING: usize = 64;
/// Subscriptions of one document, to events and to resources together.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;

/// All live documents. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Documents {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By the webview's label.
    live: Mutex<HashMap<String, Document>>,
    /// The number of the last document; never used twice in one run.
    last: AtomicU64,
}

/// One load of one webview's page.
struct Document {
    number: u64,
    /// Requests under way, by a number of ours.
    pending: HashMap<u64, Pending>,
    last_request: u64,
    /// Where events go, by subscription.
    events: HashMap<u32, Channel<PageEvent>>,
    /// Where changes of a resource go, by subscription.
    resources: HashMap<u32, Watch>,
    last_subscription: u32,
}

struct Pending {
    /// The document's own name for it.
    name: Option<String>,
    cancel: CancellationToken,
}

struct Watch {
    server: ServerId,
    uri: String,
    channel: Channel<ResourceChange>,
}

/// A request under way; it counts until this is dropped.
pub(crate) struct Slot {
    documents: Documents,
    label: String,
    document: u64,
    request: u64,
    /// Cancelled by the document, or when it is gone.
    pub(crate) cancel: CancellationToken,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(document) = self.documents.lock().get_mut(&self.label)
            && document.number == self.document
        {
            document.pending.remove(&self.request);
        }
    }
}

impl Documents {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Document>> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self) -> Document {
        Document {
            number: self.inner.last.fetch_add(1, Ordering::Relaxed) + 1,
            pending: HashMap::new(),
            last_request: 0,
            events: HashMap::new(),
            resources: HashMap::new(),
            last_subscription: 0,
        }
    }

    /// A new document begins in a webview. Returns the number of the one that it replaces.
    pub(crate) fn begin(&self, label: &str) -> Option<u64> {
        let fresh = self.fresh();
        let old = self.lock().insert(label.to_owned(), fresh);
        old.map(Document::end)
    }

    /// The webview is gone. Returns the number of its document.
    pub(crate) fn end(&self, label: &str) -> Option<u64> {
        let old = self.lock().remove(label);
        old.map(Document::end)
    }

    /// The number of the document that is alive in a webview.
    pub(crate) fn current(&self, label: &str) -> u64 {
        let mut live = self.lock();
        if let Some(document) = live.get(label) {
            return document.number;
        }
        let fresh = self.fresh();
        live.entry(label.to_owned()).or_insert(fresh).number
    }

    fn with<T>(&self, label: &str, number: u64, act: impl FnOnce(&mut Document) -> Result<T>) -> Result<T> {
        match self.lock().get_mut(label) {
            Some(document) if document.number == number => act(document),
            _ => {
                Err(Error::Cancelled { server: None, what: "a request of a page that is gone".to_owned(), sent: false })
            }
        }
    }

    /// A request begins. `name` is the document's own, for [`Documents::cancel`].
    pub(crate) fn request(&self, label: &str, number: u64, name: Option<String>) -> Result<Slot> {
        if let Some(name) = &name
            && !((1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'))
        {
            return Err(Error::invalid_input("/requestId", "`requestId` must be 1 to 64 letters, digits or `-`"));
        }
        self.with(label, number, |document| {
            if document.pending.len() >= MAX_PENDING {
                return Err(Error::RateLimited {
                    server: None,
                    message: format!("{MAX_PENDING} requests of this page are pending already; wait for one to end"),
                    retry_after_ms: None,
                });
            }
            if name.is_some() && document.pending.values().any(|pending| pending.name == name) {
                return Err(Error::invalid_input("/requestId", "this `requestId` is in use by a pending request"));
            }
            document.last_request += 1;
            let (request, cancel) = (document.last_request, CancellationToken::new());
            document.pending.insert(request, Pending { name, cancel: cancel.clone() });
            Ok(Slot { documents: self.clone(), label: label.to_owned(), document: number, request, cancel })
        })
    }

    /// The document takes a request back. What is not pending is ignored.
    pub(crate) fn cancel(&self, label: &str, number: u64, name: &str) {
        let found = self.with(label, number, |document| {
            Ok(document.pending.values().find(|one| one.name.as_deref() == Some(name)).map(|one| one.cancel.clone()))
        });
        if let Ok(Some(cancel)) = found {
            cancel.cancel();
        }
    }

    /// The document wants events.
    pub(crate) fn subscribe(&self, label: &str, number: u64, channel: Channel<PageEvent>) -> Result<u32> {
        self.with(label, number, |document| {
            let id = document.next_subscription()?;
            document.events.insert(id, channel);
            Ok(id)
        })
    }

    /// The document wants a resource's changes.
    pub(crate) fn watch(
        &self,
        label: &str,
        number: u64,
        server: ServerId,
        uri: String,
        channel: Channel<ResourceChange>,
    ) -> Result<u32> {
        self.with(label, number, |document| {
            let id = document.next_subscription()?;
            document.resources.insert(id, Watch { server, uri, channel });
            Ok(id)
        })
    }

    /// The document no longer wants events. Unknown ids are ignored, so that unsubscribing twice is no fault.
    pub(crate) fn unsubscribe(&self, label: &str, number: u64, id: u32) {
        // The channel's end tells the webview something; that must not happen under the lock.
        let dropped = self.with(label, number, |document| Ok(document.events.remove(&id)));
        drop(dropped);
    }

    /// The document no longer wants a resource's changes. Returns what it was, where it was.
    pub(crate) fn unwatch(&self, label: &str, number: u64, id: u32) -> Option<(ServerId, String)> {
        let removed = self.with(label, number, |document| Ok(document.resources.remove(&id)));
        removed.ok().flatten().map(|watch| (watch.server, watch.uri))
    }

    /// Tells an event to every document, or to one.
    pub(crate) fn tell(&self, event: &PageEvent, only: Option<(&str, u64)>) {
        let channels: Vec<Channel<PageEvent>> = self
            .lock()
            .iter()
            .filter(|(label, document)| {
                only.is_none_or(|(window, number)| *label == window && document.number == number)
            })
            .flat_map(|(_, document)| document.events.values().cloned())
            .collect();
        for channel in channels {
            // A webview that is closing cannot be told, and need not be.
            let _ = channel.send(event.clone());
        }
    }

    /// Tells a change to whoever watches that resource.
    pub(crate) fn tell_change(&self, change: &ResourceChange) {
        let channels: Vec<Channel<ResourceChange>> = self
            .lock()
            .values()
            .flat_map(|document| document.resources.values())
            .filter(|watch| watch.server == change.server_id && watch.uri == change.uri)
            .map(|watch| watch.channel.clone())
            .collect();
        for channel in channels {
            let _ = channel.send(change.clone());
        }
    }
}

impl Document {
    fn next_subscription(&mut self) -> Result<u32> {
        if self.events.len() + self.resources.len() >= MAX_SUBSCRIPTIONS {
            return Err(Error::RateLimited {
                server: None,
                message: format!("this page has {MAX_SUBSCRIPTIONS} subscriptions already; end one"),
                retry_after_ms: None,
            });
        }
        self.last_subscription = self.last_subscription.wrapping_add(1);
        Ok(self.last_subscription)
    }

    fn end(self) -> u64 {
        for pending in self.pending.values() {
            pending.cancel.cancel();
        }
        self.number
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn channel<T>() -> (Channel<T>, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel();
        let channel = Channel::new(move |body| {
            if let tauri::ipc::InvokeResponseBody::Json(text) = body {
                sender.send(text).unwrap();
            }
            Ok(())
        });
        (channel, receiver)
    }

    fn removed() -> PageEvent {
        PageEvent::ServerRemoved { server_id: ServerId::parse("a").unwrap() }
    }

    #[test]
    fn a_reload_is_another_document_and_ends_what_the_old_one_asked() {
        let documents = Documents::default();
        let old = documents.current("main");
        assert_eq!(documents.current("main"), old);
        let slot = documents.request("main", old, Some("r-1".to_owned())).unwrap();
        let (events, heard) = channel();
        documents.subscribe("main", old, events).unwrap();

        assert_eq!(documents.begin("main"), Some(old));

        assert!(slot.cancel.is_cancelled());
        assert_ne!(documents.current("main"), old);
        documents.tell(&removed(), None);
        assert!(heard.try_recv().is_err(), "the old document's channel is dropped");
        assert!(matches!(documents.request("main", old, None), Err(Error::Cancelled { .. })));
        let new = documents.current("main");
        documents.request("main", new, Some("r-1".to_owned())).unwrap();
    }

    #[test]
    fn what_is_for_one_document_reaches_no_other() {
        let documents = Documents::default();
        let (one, heard_one) = channel();
        let (two, heard_two) = channel();
        let (first, second) = (documents.current("main"), documents.current("other"));
        documents.subscribe("main", first, one).unwrap();
        documents.subscribe("other", second, two).unwrap();

        documents.tell(&removed(), Some(("main", first)));
        assert!(heard_one.try_recv().is_ok());
        assert!(heard_two.try_recv().is_err());

        documents.tell(&removed(), Some(("main", second)));
        assert!(heard_one.try_recv().is_err());
        assert!(heard_two.try_recv().is_err());
    }

    #[test]
    fn pending_requests_and_subscriptions_are_bounded_and_given_back() {
        let documents = Documents::default();
        let number = documents.current("main");
        let mut slots: Vec<Slot> = (0..MAX_PENDING).map(|_| documents.request("main", number, None).unwrap()).collect();
        assert!(matches!(documents.request("main", number, None), Err(Error::RateLimited { .. })));
        slots.pop();
        documents.request("main", number, None).unwrap();

        let ids: Vec<u32> =
            (0..MAX_SUBSCRIPTIONS).map(|_| documents.subscribe("main", number, channel().0).unwrap()).collect();
        let server = ServerId::parse("a").unwrap();
        let watch = || documents.watch("main", number, server.clone(), "file:///a".to_owned(), channel().0);
        assert!(matches!(watch(), Err(Error::RateLimited { .. })));
        documents.unsubscribe("main", number, ids[0]);
        documents.unsubscribe("main", number, ids[0]);
        watch().unwrap();
    }

    #[test]
    fn a_request_is_cancelled_by_its_name_and_only_by_its_document() {
        let documents = Documents::default();
        let number = documents.current("main");
        let other = documents.current("other");
        let slot = documents.request("main", number, Some("r-1".to_owned())).unwrap();
        assert!(matches!(
            documents.request("main", number, Some("r-1".to_owned())),
            Err(Error::InvalidInput { path, .. }) if path == "/requestId"
        ));
        documents.cancel("other", other, "r-1");
        documents.cancel("main", number, "r-2");
        assert!(!slot.cancel.is_cancelled());
        documents.cancel("main", number, "r-1");
        assert!(slot.cancel.is_cancelled());
        drop(slot);
        documents.request("main", number, Some("r-1".to_owned())).unwrap();
    }
}
