//! What changed between two definitions, in lines and words.

use std::{borrow::Cow, fmt, time::Duration};

use similar::{ChangeTag, TextDiff};

use super::DefinitionText;
use crate::model::json::{self, Limits};

/// Longer texts are cut before they are compared; the cut is said.
const MAX_COMPARED_BYTES: usize = 64 * 1024;

/// A comparison that takes longer becomes a coarser one.
const TIME_LIMIT: Duration = Duration::from_millis(500);

/// So many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// A part of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "self-explanatory")]
pub enum Part {
    Title,
    Description,
    InputSchema,
    OutputSchema,
    Annotations,
}

impl Part {
    /// As in the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::InputSchema => "inputSchema",
            Self::OutputSchema => "outputSchema",
            Self::Annotations => "annotations",
        }
    }
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// It is in both.
    Same,
    /// It was there.
    Removed,
    /// It is new.
    Added,
    /// So many lines that are in both are left out here.
    Skipped(usize),
}

/// A run of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The words. Untrusted, not yet inert.
    pub text: String,
    /// Whether they are what is different in this line.
    pub changed: bool,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What happened to it.
    pub kind: LineKind,
    /// Its text, in pieces; without the newline.
    pub pieces: Vec<Piece>,
}

/// What changed in one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartDifference {
    /// Which.
    pub part: Part,
    /// The changed lines and some around them.
    pub lines: Vec<Line>,
    /// One of the two was too long to be compared to its end.
    pub cut: bool,
}

/// What changed in a definition; empty if nothing that a person reads did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The parts that changed.
    pub parts: Vec<PartDifference>,
}

pub(super) fn between(old: &DefinitionText, new: &DefinitionText) -> Difference {
    let parts = [
        (Part::Title, prose(&old.title), prose(&new.title)),
        (Part::Description, prose(&old.description), prose(&new.description)),
        (Part::InputSchema, Some(readable(&old.input_schema)), Some(readable(&new.input_schema))),
        (Part::OutputSchema, schema(&old.output_schema), schema(&new.output_schema)),
        (Part::Annotations, schema(&old.annotations), schema(&new.annotations)),
    ];
    let changed = parts.into_iter().filter(|(_, old, new)| old != new);
    Difference { parts: changed.map(|(part, old, new)| compare(part, old, new)).collect() }
}

/// A text, and whether it had to be cut.
type Cut<'a> = (Cow<'a, str>, bool);

fn prose(text: &Option<String>) -> Option<Cut<'_>> {
    text.as_deref().map(|text| cut(Cow::Borrowed(text)))
}

fn schema(text: &Option<String>) -> Option<Cut<'_>> {
    text.as_deref().map(readable)
}

/// JSON as a person reads it, and so that the order of keys makes no difference.
fn readable(text: &str) -> Cut<'_> {
    if text.len() > MAX_COMPARED_BYTES {
        // Indenting could make far more of it than would ever be shown.
        return cut(Cow::Borrowed(text));
    }
    let value = json::parse(text.as_bytes(), Limits::FOREIGN);
    cut(value.map_or(Cow::Borrowed(text), |value| Cow::Owned(value.pretty_sorted())))
}

fn cut(text: Cow<'_, str>) -> Cut<'_> {
    if text.len() <= MAX_COMPARED_BYTES {
        return (text, false);
    }
    let end = (0..=MAX_COMPARED_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    (Cow::Owned(text.get(..end).unwrap_or_default().to_owned()), true)
}

fn compare(part: Part, old: Option<Cut<'_>>, new: Option<Cut<'_>>) -> PartDifference {
    let (old, old_cut) = old.unwrap_or_default();
    let (new, new_cut) = new.unwrap_or_default();
    let diff = TextDiff::configure().timeout(TIME_LIMIT).diff_lines(&*old, &*new);
    let mut lines = Vec::new();
    let mut shown_to = 0;
    for group in diff.grouped_ops(CONTEXT) {
        let start = group.first().map_or(0, |op| op.old_range().start);
        lines.extend(skipped(start.saturating_sub(shown_to)));
        shown_to = group.last().map_or(shown_to, |op| op.old_range().end);
        for change in group.iter().flat_map(|op| diff.iter_inline_changes(op)) {
            let pieces = change
                .iter_strings_lossy()
                .map(|(changed, text)| Piece { text: text.trim_end_matches(['\n', '\r']).to_owned(), changed });
            lines.push(Line {
                kind: match change.tag() {
                    ChangeTag::Equal => LineKind::Same,
                    ChangeTag::Delete => LineKind::Removed,
                    ChangeTag::Insert => LineKind::Added,
                },
                pieces: pieces.filter(|piece| !piece.text.is_empty()).collect(),
            });
        }
    }
    lines.extend(skipped(diff.old_len().saturating_sub(shown_to)));
    PartDifference { part, lines, cut: old_cut || new_cut }
}

fn skipped(lines: usize) -> Option<Line> {
    (lines > 0).then(|| Line { kind: LineKind::Skipped(lines), pieces: Vec::new() })
}

/// As `diff` would print it: a heading for each part, `-` and `+` before the lines. Untrusted, not yet inert.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            writeln!(f, "@ {}", part.part.as_str())?;
            for line in &part.lines {
                let mark = match line.kind {
                    LineKind::Same => ' ',
                    LineKind::Removed => '-',
                    LineKind::Added => '+',
                    LineKind::Skipped(lines) => {
                        writeln!(f, "… {lines}")?;
                        continue;
                    }
                };
                write!(f, "{mark} ")?;
                line.pieces.iter().try_for_each(|piece| f.write_str(&piece.text))?;
                writeln!(f)?;
            }
            if part.cut {
                writeln!(f, "…")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn definition(description: &str, schema: &str) -> DefinitionText {
        DefinitionText {
            description: Some(description.to_owned()),
            input_schema: schema.to_owned(),
            ..DefinitionText::default()
        }
    }

    #[test]
    fn changed_words_are_marked_in_changed_lines() {
        let old = definition("Reads a file from the notes folder.", "{}");
        let new = definition("Reads a file from any folder.", "{}");
        let difference = old.difference(&new);
        assert_eq!(
            difference.to_string(),
            "@ description\n- Reads a file from the notes folder.\n+ Reads a file from any folder.\n"
        );
        let marked = |line: &Line| -> String {
            line.pieces.iter().filter(|piece| piece.changed).map(|piece| piece.text.as_str()).collect()
        };
        let lines = &difference.parts.first().unwrap().lines;
        assert_eq!(lines.iter().map(marked).collect::<Vec<_>>(), ["the notes", "any"]);
    }

    #[test]
    fn a_schema_is_compared_line_by_line_whatever_the_order_of_its_keys() {
        let old = definition("d", r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}"#);
        let same = definition("d", r#"{"properties":{"b":{"type":"string"},"a":{"type":"string"}},"type":"object"}"#);
        assert_eq!(old.difference(&same), Difference::default());
        let new = definition("d", r#"{"properties":{"b":{"type":"number"},"a":{"type":"string"}},"type":"object"}"#);
        let lines = [
            "@ inputSchema",
            "… 3",
            "        \"type\": \"string\"",
            "      },",
            "      \"b\": {",
            "-       \"type\": \"string\"",
            "+       \"type\": \"number\"",
            "      }",
            "    },",
            "    \"type\": \"object\"",
            "… 1",
            "",
        ];
        assert_eq!(old.difference(&new).to_string(), lines.join("\n"));
    }

    #[test]
    fn parts_that_came_or_went_are_shown_whole() {
        let mut old = definition("d", "{}");
        let mut new = definition("d", "{}");
        old.title = Some("Old".into());
        new.annotations = Some(r#"{"readOnlyHint":true}"#.into());
        assert_eq!(
            old.difference(&new).to_string(),
            "@ title\n- Old\n@ annotations\n+ {\n+   \"readOnlyHint\": true\n+ }\n"
        );
    }

    #[test]
    fn hostile_texts_are_cut_and_compared_all_the_same() {
        let noise = |seed: usize| -> String {
            (0..40_000_usize).map(|index| format!("{} ", index.wrapping_mul(seed) % 997)).collect()
        };
        let difference = definition(&noise(31), "{}").difference(&definition(&noise(57), "{}"));
        assert!(difference.parts.first().unwrap().cut);
        let lines = |seed| noise(seed).replace(' ', "\n");
        assert!(!definition(&lines(31), "{}").difference(&definition(&lines(57), "{}")).parts.is_empty());
        let deep = "[".repeat(60_000) + &"]".repeat(60_000);
        assert!(!definition("d", &deep).difference(&definition("d", "{}")).parts.is_empty());
        let wide = format!("{}{}{}", "[".repeat(127), "1,".repeat(30_000) + "1", "]".repeat(127));
        assert!(definition("d", &wide).difference(&definition("d", "{}")).parts.first().unwrap().cut);
    }
}
