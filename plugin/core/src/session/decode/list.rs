//! The items of lists: tools, resources, templates, prompts.

use std::collections::HashMap;

use super::{keep, keep_object, named, optional_object, optional_text};
use crate::{
    model::{Hints, PromptArgument, PromptSummary, ResourceSummary, ResourceTemplateSummary, ServerId, ToolDefinition},
    policy,
    session::{
        list::Listed,
        wire::view::{self, Kind},
    },
};

/// Bytes of one tool's definition.
const TOOL_LIMIT: usize = 256 * 1024;
/// Bytes of a tool's name.
const TOOL_NAME_LIMIT: usize = 256;
/// Bytes of any other item of a list.
const ITEM_LIMIT: usize = 64 * 1024;

/// One tool. Left out only without a name that is text or an input schema that is an object, and over the limits.
pub(in crate::session) fn tool(raw: &str, told: &mut Vec<String>) -> Option<ToolDefinition> {
    let name = view::member(raw, "name").and_then(view::text);
    let of = named("tool", name.as_deref());
    let Some(name) = name else {
        told.push("a tool without a name was left out".to_owned());
        return None;
    };
    if name.len() > TOOL_NAME_LIMIT || raw.len() > TOOL_LIMIT {
        let limit = if raw.len() > TOOL_LIMIT {
            "its definition has more than 256 KiB"
        } else {
            "its name has more than 256 bytes"
        };
        told.push(format!("{of} was left out: {limit}"));
        return None;
    }
    let (mut title, mut description, mut annotations, mut meta) = (None, None, None, None);
    let (mut input_schema, mut output_schema) = (None, None);
    let mut own = Vec::new();
    for (key, value) in view::entries(raw) {
        match &*key {
            "title" => title = optional_text(value, &of, "title", &mut own),
            "description" => description = optional_text(value, &of, "description", &mut own),
            "inputSchema" => input_schema = schema(value, &of, "inputSchema", &mut own),
            "outputSchema" if view::kind(value) == Kind::Null => {}
            "outputSchema" => {
                output_schema = schema(value, &of, "outputSchema", &mut own);
                if output_schema.is_none() {
                    own.push(format!("{of}: `outputSchema` is no object and was left out"));
                }
            }
            "annotations" => annotations = optional_object(value, &of, "annotations", &mut own),
            "_meta" => meta = optional_object(value, &of, "_meta", &mut own),
            _ => {}
        }
    }
    let Some(input_schema) = input_schema else {
        told.push(format!("{of} was left out: it has no `inputSchema` that is an object"));
        return None;
    };
    let hints = annotations.as_ref().map(|raw| hints(raw.as_str(), &of, &mut own)).unwrap_or_default();
    let hash = policy::pin::definition_hash(
        &name,
        title.as_deref(),
        description.as_deref(),
        &input_schema,
        output_schema.as_ref(),
        annotations.as_ref(),
    );
    told.extend(own.iter().cloned());
    Some(ToolDefinition {
        name,
        title,
        description,
        input_schema,
        output_schema,
        annotations,
        hints,
        meta,
        hash,
        diagnostics: own,
        quarantined: false,
    })
}

/// An object. `properties: []`, which PHP makes of no properties, is read as `{}`.
fn schema(raw: &str, of: &str, field: &str, told: &mut Vec<String>) -> Option<crate::model::Raw> {
    let empty_array = |value: &str| view::kind(value) == Kind::Array && view::items(value).next().is_none();
    let Some(properties) = view::member(raw, "properties").filter(|properties| empty_array(properties)) else {
        return keep_object(raw);
    };
    told.push(format!("{of}: `properties: []` in `{field}` was read as `{{}}`"));
    // `properties` is a slice of `raw`.
    let at = properties.as_ptr().addr() - raw.as_ptr().addr();
    let (before, after) = (raw.get(..at)?, raw.get(at + properties.len()..)?);
    keep(&format!("{before}{{}}{after}"))
}

/// A hint of a wrong type counts as missing.
fn hints(raw: &str, of: &str, told: &mut Vec<String>) -> Hints {
    let mut hints = Hints::default();
    for (key, value) in view::entries(raw) {
        let hint = match &*key {
            "readOnlyHint" => &mut hints.read_only,
            "destructiveHint" => &mut hints.destructive,
            "idempotentHint" => &mut hints.idempotent,
            "openWorldHint" => &mut hints.open_world,
            _ => continue,
        };
        *hint = view::boolean(value);
        if hint.is_none() && view::kind(value) != Kind::Null {
            told.push(format!("{of}: `annotations.{key}` is no boolean and counts as missing"));
        }
    }
    hints
}

/// The same name twice: one definition counts once, two are listed as one that nobody can call.
pub(in crate::session) fn unite_tools(listed: &mut Listed<ToolDefinition>) {
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut united: Vec<ToolDefinition> = Vec::with_capacity(listed.items.len());
    let mut again: Vec<(usize, bool)> = Vec::new();
    for tool in std::mem::take(&mut listed.items) {
        match first.get(&tool.name) {
            Some(&at) => {
                let same = united.get(at).is_some_and(|have| have.hash == tool.hash);
                again.push((at, same));
            }
            None => {
                first.insert(tool.name.clone(), united.len());
                united.push(tool);
            }
        }
    }
    for (at, same) in again {
        let Some(tool) = united.get_mut(at) else { continue };
        let of = named("tool", Some(&tool.name));
        let problem = if same {
            format!("{of} was listed more than once and counts once")
        } else {
            format!("{of} was listed with different definitions and cannot be called")
        };
        tool.quarantined |= !same;
        if !tool.diagnostics.contains(&problem) {
            tool.diagnostics.push(problem.clone());
            listed.diagnostics.push(problem);
        }
    }
    listed.items = united;
}

/// Whether an item is small enough to be kept.
fn fits(raw: &str, of: &str, told: &mut Vec<String>) -> bool {
    let fits = raw.len() <= ITEM_LIMIT;
    if !fits {
        told.push(format!("{of} was left out: it has more than 64 KiB"));
    }
    fits
}

/// One resource. Left out only without a URI.
pub(in crate::session) fn resource(server: &ServerId, raw: &str, told: &mut Vec<String>) -> Option<ResourceSummary> {
    let Some(uri) = view::member(raw, "uri").and_then(view::text) else {
        told.push("a resource without a URI was left out".to_owned());
        return None;
    };
    let of = named("resource", Some(&uri));
    if !fits(raw, &of, told) {
        return None;
    }
    let mut resource = ResourceSummary {
        server_id: server.clone(),
        uri,
        name: None,
        description: None,
        mime_type: None,
        title: None,
        size: None,
    };
    for (key, value) in view::entries(raw) {
        match &*key {
            "name" => resource.name = optional_text(value, &of, "name", told),
            "title" => resource.title = optional_text(value, &of, "title", told),
            "description" => resource.description = optional_text(value, &of, "description", told),
            "mimeType" => resource.mime_type = optional_text(value, &of, "mimeType", told),
            "size" => resource.size = view::number(value),
            _ => {}
        }
    }
    Some(resource)
}

/// One template. Left out only without a template.
pub(in crate::session) fn template(
    server: &ServerId,
    raw: &str,
    told: &mut Vec<String>,
) -> Option<ResourceTemplateSummary> {
    let Some(uri_template) = view::member(raw, "uriTemplate").and_then(view::text) else {
        told.push("a resource template without a URI template was left out".to_owned());
        return None;
    };
    let of = named("resource template", Some(&uri_template));
    if !fits(raw, &of, told) {
        return None;
    }
    let (mut name, mut title, mut description, mut mime_type) = (None, None, None, None);
    for (key, value) in view::entries(raw) {
        match &*key {
            "name" => name = optional_text(value, &of, "name", told),
            "title" => title = optional_text(value, &of, "title", told),
            "description" => description = optional_text(value, &of, "description", told),
            "mimeType" => mime_type = optional_text(value, &of, "mimeType", told),
            _ => {}
        }
    }
    let name = name.unwrap_or_else(|| uri_template.clone());
    Some(ResourceTemplateSummary { server_id: server.clone(), uri_template, name, title, description, mime_type })
}

/// One prompt. Left out only without a name; an argument without one is left out of it.
pub(in crate::session) fn prompt(server: &ServerId, raw: &str, told: &mut Vec<String>) -> Option<PromptSummary> {
    let Some(name) = view::member(raw, "name").and_then(view::text) else {
        told.push("a prompt without a name was left out".to_owned());
        return None;
    };
    let of = named("prompt", Some(&name));
    if !fits(raw, &of, told) {
        return None;
    }
    let (mut title, mut description, mut arguments) = (None, None, None);
    for (key, value) in view::entries(raw) {
        match &*key {
            "title" => title = optional_text(value, &of, "title", told),
            "description" => description = optional_text(value, &of, "description", told),
            "arguments" if view::kind(value) == Kind::Array => {
                arguments = Some(view::items(value).filter_map(|raw| argument(raw, &of, told)).collect());
            }
            "arguments" if view::kind(value) != Kind::Null => {
                told.push(format!("{of}: `arguments` is no array and was left out"));
            }
            _ => {}
        }
    }
    Some(PromptSummary { server_id: server.clone(), name, title, description, arguments })
}

fn argument(raw: &str, of: &str, told: &mut Vec<String>) -> Option<PromptArgument> {
    let Some(name) = view::member(raw, "name").and_then(view::text) else {
        told.push(format!("{of}: an argument without a name was left out"));
        return None;
    };
    let mut argument = PromptArgument { name, title: None, description: None, required: false };
    for (key, value) in view::entries(raw) {
        match &*key {
            "title" => argument.title = optional_text(value, of, "arguments.title", told),
            "description" => argument.description = optional_text(value, of, "arguments.description", told),
            "required" => argument.required = view::boolean(value) == Some(true),
            _ => {}
        }
    }
    Some(argument)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn tools(raw: &[&str]) -> Listed<ToolDefinition> {
        let mut listed = Listed::default();
        for raw in raw {
            listed.items.extend(tool(raw, &mut listed.diagnostics));
        }
        unite_tools(&mut listed);
        listed
    }

    fn names(listed: &Listed<ToolDefinition>) -> Vec<&str> {
        listed.items.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn a_tool_is_left_out_only_without_a_name_or_an_input_schema() {
        let listed = tools(&[
            r#"{"name":"good","inputSchema":{"type":"object"}}"#,
            r#"{"name":"none"}"#,
            r#"{"name":"bool","inputSchema":true}"#,
            r#"{"name":7,"inputSchema":{}}"#,
            r#"{"inputSchema":{}}"#,
            r#""tool""#,
            "null",
            r#"{"name":"odd","title":7,"description":[],"inputSchema":{},"outputSchema":"x","annotations":3,"_meta":[]}"#,
            r#"{"name":"","inputSchema":{}}"#,
        ]);
        assert_eq!(names(&listed), ["good", "odd", ""]);
        assert_eq!(listed.diagnostics.len(), 6 + 5);
        assert_eq!(listed.items[1].diagnostics.len(), 5);
        assert!(listed.items[0].diagnostics.is_empty());
    }

    #[test]
    fn a_schema_is_kept_as_it_was_written() {
        let schema = r##"{"type":"object","properties":{"q":{"$ref":"#/$defs/Q"}},"$defs":{"Q":{"anyOf":[{"$ref":"#"},{"maximum":1.0E400}]}}}"##;
        let listed =
            tools(&[&format!(r#"{{"name":"t","inputSchema":{schema},"outputSchema":{{"type":"nonsense"}}}}"#)]);
        assert_eq!(listed.items[0].input_schema.as_str(), schema);
        assert!(listed.items[0].output_schema.is_some());
    }

    #[test]
    fn properties_of_an_empty_array_are_none() {
        let listed = tools(&[r#"{"name":"t","inputSchema":{"type":"object", "properties" : [ ] ,"required":[]}}"#]);
        assert_eq!(listed.items[0].input_schema.as_str(), r#"{"type":"object", "properties" : {} ,"required":[]}"#);
        assert_eq!(listed.items[0].diagnostics.len(), 1);
    }

    #[test]
    fn a_hint_of_a_wrong_type_counts_as_missing() {
        let listed = tools(&[
            r#"{"name":"t","inputSchema":{},"annotations":{"readOnlyHint":"true","destructiveHint":false,"openWorldHint":1,"x":2}}"#,
        ]);
        let tool = &listed.items[0];
        assert_eq!(tool.hints, Hints { destructive: Some(false), ..Hints::default() });
        assert_eq!(tool.diagnostics.len(), 2);
        assert!(tool.annotations.is_some());
    }

    #[test]
    fn the_same_name_twice_counts_once_and_with_two_definitions_never() {
        let listed = tools(&[
            r#"{"name":"a","inputSchema":{"type":"object","x":1}}"#,
            r#"{"name":"b","inputSchema":{}}"#,
            r#"{"inputSchema":{"x":1,"type":"object"},"name":"a"}"#,
            r#"{"name":"b","inputSchema":{},"description":"other"}"#,
            r#"{"name":"b","inputSchema":{}}"#,
        ]);
        assert_eq!(names(&listed), ["a", "b"]);
        assert_eq!(listed.items.iter().map(|tool| tool.quarantined).collect::<Vec<_>>(), [false, true]);
        assert_eq!(listed.diagnostics.len(), 3);
    }

    #[test]
    fn limits_of_a_tool_hold() {
        let long = "n".repeat(257);
        let big = "d".repeat(256 * 1024);
        let listed = tools(&[
            &format!(r#"{{"name":"{long}","inputSchema":{{}}}}"#),
            &format!(r#"{{"name":"big","inputSchema":{{}},"description":"{big}"}}"#),
        ]);
        assert_eq!((listed.items.len(), listed.diagnostics.len()), (0, 2));
        assert!(listed.diagnostics.iter().all(|told| told.len() < 300));
    }

    #[test]
    fn resources_templates_and_prompts_survive_odd_fields() {
        let server = ServerId::parse("s").unwrap();
        let mut told = Vec::new();
        let found =
            resource(&server, r#"{"uri":"a:b","name":null,"size":"big","mimeType":7,"x":1}"#, &mut told).unwrap();
        assert_eq!((found.uri.as_str(), found.name, found.size, told.len()), ("a:b", None, None, 1));
        assert!(resource(&server, r#"{"name":"n"}"#, &mut told).is_none());
        let found = template(&server, r#"{"uriTemplate":"a:{b}"}"#, &mut told).unwrap();
        assert_eq!(found.name, "a:{b}");
        let raw = r#"{"name":"p","arguments":[{"name":"x","required":true},{"name":"y","required":"yes"},{},5]}"#;
        let found = prompt(&server, raw, &mut told).unwrap();
        let arguments = found.arguments.unwrap();
        assert_eq!(
            arguments.iter().map(|one| (one.name.as_str(), one.required)).collect::<Vec<_>>(),
            [("x", true), ("y", false)]
        );
        assert!(prompt(&server, r#"{"name":"p"}"#, &mut told).unwrap().arguments.is_none());
        assert_eq!(told.len(), 1 + 1 + 2);
    }
}
