//! The notes, and who wants to hear of their changes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{Peer, RoleServer, model::ResourceUpdatedNotificationParam};
use tokio::task::AbortHandle;

/// The resource that changes by itself.
pub(crate) const CLOCK: &str = "demo://clock";

/// How often the clock tells its subscribers.
const TICK: Duration = Duration::from_secs(1);

/// How many notes are kept.
const MOST_NOTES: usize = 1_000;

/// A note.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Who hears of changes of one URI.
struct Subscription {
    peer: Peer<RoleServer>,
    /// What ticks for the clock.
    ticking: Option<AbortHandle>,
}

/// All notes by id.
pub(crate) struct Notes {
    notes: Mutex<BTreeMap<String, Note>>,
    /// By URI.
    subscribers: Mutex<HashMap<String, Subscription>>,
    started: Instant,
}

impl Notes {
    /// Three notes, so that there is something to see.
    pub(crate) fn with_examples() -> Self {
        let examples = [
            ("groceries", "Groceries", "Bread, tea, two lemons."),
            ("garden", "Garden", "The roses want water every second evening."),
            ("reading", "Reading list", "The Left Hand of Darkness\nInvisible Cities\n紅樓夢"),
        ];
        let notes =
            examples.map(|(id, title, text)| (id.to_owned(), Note { title: title.to_owned(), text: text.to_owned() }));
        Self { notes: Mutex::new(notes.into()), subscribers: Mutex::default(), started: Instant::now() }
    }

    fn notes(&self) -> MutexGuard<'_, BTreeMap<String, Note>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every note.
    pub(crate) fn all(&self) -> Vec<(String, Note)> {
        self.notes().iter().map(|(id, note)| (id.clone(), note.clone())).collect()
    }

    /// One note.
    pub(crate) fn get(&self, id: &str) -> Option<Note> {
        self.notes().get(id).cloned()
    }

    /// Adds a note and gives it an id made of its title.
    pub(crate) fn add(&self, title: &str, text: &str) -> Result<String, String> {
        let mut notes = self.notes();
        if notes.len() >= MOST_NOTES {
            return Err(format!("there are {MOST_NOTES} notes already; delete one first"));
        }
        let slug: String = title
            .to_lowercase()
            .chars()
            .map(|char| if char.is_ascii_alphanumeric() { char } else { '-' })
            .take(40)
            .collect();
        let slug = match slug.trim_matches('-') {
            "" => "note",
            slug => slug,
        };
        let id = std::iter::once(slug.to_owned())
            .chain((2..).map(|number| format!("{slug}-{number}")))
            .find(|id| !notes.contains_key(id))
            .ok_or("no name is free")?;
        notes.insert(id.clone(), Note { title: title.to_owned(), text: text.to_owned() });
        Ok(id)
    }

    /// Deletes a note.
    pub(crate) fn delete(&self, id: &str) -> Option<Note> {
        self.notes().remove(id)
    }

    /// Seconds since the server started.
    pub(crate) fn uptime(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// Tells `peer` of changes of `uri` from now on.
    pub(crate) fn subscribe(&self, uri: &str, peer: Peer<RoleServer>) {
        let ticking = (uri == CLOCK).then(|| {
            let peer = peer.clone();
            let tick = async move {
                loop {
                    tokio::time::sleep(TICK).await;
                    if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(CLOCK)).await.is_err() {
                        break;
                    }
                }
            };
            tokio::spawn(tick).abort_handle()
        });
        let before = self.subscribers().insert(uri.to_owned(), Subscription { peer, ticking });
        stop(before);
    }

    /// And no longer.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let before = self.subscribers().remove(uri);
        stop(before);
    }

    /// Tells whoever wants to know that `uri` changed.
    pub(crate) async fn changed(&self, uri: &str) {
        let peer = self.subscribers().get(uri).map(|subscription| subscription.peer.clone());
        if let Some(peer) = peer {
            // A peer that is gone has no more wishes.
            let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
        }
    }

    fn subscribers(&self) -> MutexGuard<'_, HashMap<String, Subscription>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stop(subscription: Option<Subscription>) {
    if let Some(ticking) = subscription.and_then(|subscription| subscription.ticking) {
        ticking.abort();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_one_title_get_ids_of_their_own() {
        let notes = Notes::with_examples();
        assert_eq!(notes.add("Garden", "x").unwrap(), "garden-2");
        assert_eq!(notes.add("¿?", "x").unwrap(), "note");
        assert_eq!(notes.delete("garden").unwrap().title, "Garden");
        assert!(notes.delete("garden").is_none());
    }
}
