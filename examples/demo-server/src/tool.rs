//! One tool of each kind: reading, writing, destroying, slow, failing, large, a picture, structured.

use std::time::Duration;

use rmcp::{
    ErrorData, Json, Peer, RoleServer,
    handler::server::wrapper::Parameters,
    model::{CallToolResult, ContentBlock, ProgressNotificationParam, RequestMetaObject, ResourceContents},
    tool, tool_router,
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Demo, resource};

/// The most that `large` writes.
const LARGEST: u32 = 64 * 1024 * 1024;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Echo {
    /// What to say back.
    message: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Add {
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Sum {
    /// `a + b`.
    sum: f64,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct NoteList {
    /// Every note.
    notes: Vec<NoteLine>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct NoteLine {
    /// Its id.
    id: String,
    /// Its title.
    title: String,
    /// How long its text is, in bytes.
    bytes: usize,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct NoteId {
    /// The note's id, as `list_notes` gives it.
    id: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct NewNote {
    /// Its title.
    title: String,
    /// Its text.
    text: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Slow {
    /// How long it takes, in seconds; 5 if absent, at most 600.
    seconds: Option<f64>,
    /// How many steps of progress are told; 10 if absent, at most 1,000.
    steps: Option<u32>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Fail {
    /// What to complain about.
    message: Option<String>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Large {
    /// How many bytes of text; 100,000 if absent, at most 67,108,864.
    bytes: Option<u32>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct City {
    /// The city's name.
    city: String,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Weather {
    /// The city, as it was asked for.
    city: String,
    /// Degrees Celsius.
    temperature: f64,
    /// In a word.
    sky: String,
    /// Percent.
    humidity: u8,
}

#[tool_router(vis = "pub(crate)")]
impl Demo {
    #[tool(
        description = "Says back what it is told.",
        annotations(title = "Echo", read_only_hint = true, open_world_hint = false)
    )]
    async fn echo(&self, Parameters(Echo { message }): Parameters<Echo>) -> String {
        format!("Echo: {message}")
    }

    #[tool(
        description = "Adds two numbers.",
        annotations(title = "Add", read_only_hint = true, open_world_hint = false)
    )]
    async fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> Json<Sum> {
        Json(Sum { sum: a + b })
    }

    #[tool(
        description = "Lists the notes.",
        annotations(title = "List notes", read_only_hint = true, open_world_hint = false)
    )]
    async fn list_notes(&self) -> Json<NoteList> {
        let notes = self.notes.all();
        let lines = notes.into_iter().map(|(id, note)| NoteLine { id, title: note.title, bytes: note.text.len() });
        Json(NoteList { notes: lines.collect() })
    }

    #[tool(
        description = "Shows a note, whole and as a link to its resource.",
        annotations(title = "Show a note", read_only_hint = true, open_world_hint = false)
    )]
    async fn show_note(&self, Parameters(NoteId { id }): Parameters<NoteId>) -> CallToolResult {
        let Some(note) = self.notes.get(&id) else { return no_note(&id) };
        let link = resource::note_resource(&id, &note.title, &note.text);
        let contents = ResourceContents::text(note.text, resource::note_uri(&id)).with_mime_type("text/plain");
        CallToolResult::success(vec![
            ContentBlock::text(note.title),
            ContentBlock::resource(contents),
            ContentBlock::resource_link(link),
        ])
    }

    #[tool(
        description = "Adds a note. Nothing that is there changes.",
        annotations(
            title = "Add a note",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn add_note(
        &self,
        Parameters(NewNote { title, text }): Parameters<NewNote>,
        peer: Peer<RoleServer>,
    ) -> CallToolResult {
        match self.notes.add(&title, &text) {
            Ok(id) => {
                // Whether anybody listens does not matter to the note.
                let _ = peer.notify_resource_list_changed().await;
                CallToolResult::success(vec![ContentBlock::text(format!("Added as `{id}`."))])
            }
            Err(problem) => CallToolResult::error(vec![ContentBlock::text(problem)]),
        }
    }

    #[tool(
        description = "Deletes a note for good.",
        annotations(
            title = "Delete a note",
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn delete_note(
        &self,
        Parameters(NoteId { id }): Parameters<NoteId>,
        peer: Peer<RoleServer>,
    ) -> CallToolResult {
        let Some(note) = self.notes.delete(&id) else { return no_note(&id) };
        self.notes.changed(&resource::note_uri(&id)).await;
        let _ = peer.notify_resource_list_changed().await;
        CallToolResult::success(vec![ContentBlock::text(format!("Deleted «{}».", note.title))])
    }

    #[tool(
        description = "Takes its time and tells how far it is. Stops when it is cancelled.",
        annotations(title = "Slow", read_only_hint = true, open_world_hint = false)
    )]
    async fn slow(
        &self,
        Parameters(Slow { seconds, steps }): Parameters<Slow>,
        meta: RequestMetaObject,
        peer: Peer<RoleServer>,
        cancelled: CancellationToken,
    ) -> CallToolResult {
        let seconds = seconds.unwrap_or(5.0).clamp(0.0, 600.0);
        let steps = steps.unwrap_or(10).clamp(1, 1_000);
        let pause = Duration::from_secs_f64(seconds / f64::from(steps));
        for step in 1..=steps {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = cancelled.cancelled() => {
                    return CallToolResult::error(vec![ContentBlock::text(format!("Cancelled in step {step}."))]);
                }
            }
            if let Some(token) = meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, f64::from(step))
                    .with_total(f64::from(steps))
                    .with_message(format!("Step {step} of {steps}"));
                let _ = peer.notify_progress(progress).await;
            }
        }
        CallToolResult::success(vec![ContentBlock::text(format!("Done in {steps} steps."))])
    }

    #[tool(description = "Fails, always.", annotations(title = "Fail", read_only_hint = true, open_world_hint = false))]
    async fn fail(&self, Parameters(Fail { message }): Parameters<Fail>) -> CallToolResult {
        let message = message.unwrap_or_else(|| "This tool fails whenever it is called.".to_owned());
        CallToolResult::error(vec![ContentBlock::text(message)])
    }

    #[tool(
        description = "Writes a long text.",
        annotations(title = "Large", read_only_hint = true, open_world_hint = false)
    )]
    async fn large(&self, Parameters(Large { bytes }): Parameters<Large>) -> String {
        const LINE: &str = "All work and no play makes a long text. ";
        let bytes = bytes.unwrap_or(100_000).min(LARGEST) as usize;
        let mut text = LINE.repeat(bytes / LINE.len() + 1);
        text.truncate(bytes);
        text
    }

    #[tool(
        description = "Shows a picture of an evening.",
        annotations(title = "Picture", read_only_hint = true, open_world_hint = false)
    )]
    async fn picture(&self) -> CallToolResult {
        CallToolResult::success(vec![
            ContentBlock::text("An evening."),
            ContentBlock::image(resource::picture(), "image/png"),
        ])
    }

    #[tool(
        description = "The weather in a city, as text and as data. It is made up, and the same for the same city.",
        annotations(title = "Weather", read_only_hint = true, open_world_hint = false)
    )]
    async fn weather(&self, Parameters(City { city }): Parameters<City>) -> Result<Json<Weather>, ErrorData> {
        if city.trim().is_empty() {
            return Err(ErrorData::invalid_params("`city` is empty", None));
        }
        let seed = city.bytes().fold(7_u32, |seed, byte| seed.wrapping_mul(31).wrapping_add(u32::from(byte)));
        let sky = match seed % 4 {
            0 => "clear",
            1 => "cloudy",
            2 => "rain",
            _ => "fog",
        };
        let temperature = (f64::from(seed % 350) - 50.0) / 10.0;
        let humidity = u8::try_from(30 + seed % 60).unwrap_or(50);
        Ok(Json(Weather { city, temperature, sky: sky.to_owned(), humidity }))
    }
}

fn no_note(id: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(format!("There is no note `{id}`; see list_notes."))])
}
