//! Resources: each note, one picture, and a clock that changes by itself.

use base64::Engine as _;
use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde_json::json;

use crate::{Demo, notes::CLOCK};

/// A small picture of an evening.
pub(crate) const EVENING: &[u8] = include_bytes!("../assets/evening.png");
const PICTURE: &str = "demo://pictures/evening.png";
const NOTES: &str = "demo://notes/";

/// The URI of a note.
pub(crate) fn note_uri(id: &str) -> String {
    format!("{NOTES}{id}")
}

/// The resource of a note.
pub(crate) fn note_resource(id: &str, title: &str, text: &str) -> Resource {
    Resource::new(note_uri(id), id)
        .with_title(title)
        .with_description("A note")
        .with_mime_type("text/plain")
        .with_size(text.len() as u64)
}

/// What can be read by pattern.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{NOTES}{{id}}"), "note")
            .with_title("One note")
            .with_description("A note by its id")
            .with_mime_type("text/plain"),
    ]
}

/// The picture in base64.
pub(crate) fn picture() -> String {
    base64::engine::general_purpose::STANDARD.encode(EVENING)
}

impl Demo {
    /// Everything that can be read.
    pub(crate) fn resources(&self) -> Vec<Resource> {
        let notes = self.notes.all();
        let mut resources: Vec<Resource> =
            notes.iter().map(|(id, note)| note_resource(id, &note.title, &note.text)).collect();
        resources.push(
            Resource::new(PICTURE, "evening.png")
                .with_title("An evening")
                .with_mime_type("image/png")
                .with_size(EVENING.len() as u64),
        );
        resources.push(
            Resource::new(CLOCK, "clock")
                .with_title("Clock")
                .with_description("Seconds since the server started; subscribers are told every second")
                .with_mime_type("text/plain"),
        );
        resources
    }

    /// Reads one.
    pub(crate) fn read(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let contents = match uri {
            PICTURE => ResourceContents::blob(picture(), uri).with_mime_type("image/png"),
            CLOCK => ResourceContents::text(format!("{} s", self.notes.uptime()), uri).with_mime_type("text/plain"),
            _ => {
                let note = uri.strip_prefix(NOTES).and_then(|id| self.notes.get(id));
                let note = note.ok_or_else(|| {
                    ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })))
                })?;
                ResourceContents::text(note.text, uri).with_mime_type("text/plain")
            }
        };
        Ok(ReadResourceResult::new(vec![contents]))
    }
}
