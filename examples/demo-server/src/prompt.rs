//! Prompts, and what completes their arguments and those of the resource templates.

use rmcp::{
    ErrorData,
    handler::server::wrapper::Parameters,
    model::{
        CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, GetPromptResult, PromptMessage, Reference,
        ResourceContents, Role,
    },
    prompt, prompt_router,
};
use serde::Deserialize;

use crate::{Demo, resource};

const STYLES: [&str; 4] = ["short", "long", "haiku", "formal"];

/// What to summarise, and how.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Summarise {
    /// The id of the note.
    note: String,
    /// `short`, `long`, `haiku` or `formal`; `short` if absent.
    style: Option<String>,
}

#[prompt_router(vis = "pub(crate)")]
impl Demo {
    #[prompt(name = "greet", title = "Greeting", description = "A prompt without arguments: asks for a greeting")]
    async fn greet(&self) -> GetPromptResult {
        GetPromptResult::new(vec![PromptMessage::new_text(Role::User, "Greet me in one sentence.")])
            .with_description("A greeting")
    }

    #[prompt(
        name = "summarise_note",
        title = "Summarise a note",
        description = "Asks for a summary of one note, in a style of your choice"
    )]
    async fn summarise_note(
        &self,
        Parameters(Summarise { note, style }): Parameters<Summarise>,
    ) -> Result<GetPromptResult, ErrorData> {
        let found = self
            .notes
            .get(&note)
            .ok_or_else(|| ErrorData::invalid_params(format!("there is no note `{note}`; see list_notes"), None))?;
        let style = style.filter(|style| !style.is_empty()).unwrap_or_else(|| "short".to_owned());
        let contents = ResourceContents::text(found.text, resource::note_uri(&note)).with_mime_type("text/plain");
        Ok(GetPromptResult::new(vec![
            PromptMessage::new_text(Role::User, format!("Summarise this note. Style: {style}.")),
            PromptMessage::new(Role::User, ContentBlock::resource(contents)),
        ])
        .with_description(format!("A summary of «{}»", found.title)))
    }
}

impl Demo {
    /// What an argument that begins like that may become.
    pub(crate) fn completions(&self, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let ids = || self.notes.all().into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        let choices = match (&request.r#ref, request.argument.name.as_str()) {
            (Reference::Prompt(prompt), "note") if prompt.name == "summarise_note" => ids(),
            (Reference::Prompt(prompt), "style") if prompt.name == "summarise_note" => {
                STYLES.map(str::to_owned).to_vec()
            }
            (Reference::Resource(template), "id") if template.uri == resource::note_uri("{id}") => ids(),
            (Reference::Prompt(_) | Reference::Resource(_), _) => {
                return Err(ErrorData::invalid_params("there is no such argument", None));
            }
            _ => return Err(ErrorData::invalid_params("there is nothing of that kind", None)),
        };
        let begin = &request.argument.value;
        let mut values: Vec<String> = choices.into_iter().filter(|choice| choice.starts_with(begin.as_str())).collect();
        let total = u32::try_from(values.len()).ok();
        let more = values.len() > CompletionInfo::MAX_VALUES;
        values.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::with_pagination(values, total, more)
            .map_err(|problem| ErrorData::internal_error(problem, None))?;
        Ok(CompleteResult::new(info))
    }
}
