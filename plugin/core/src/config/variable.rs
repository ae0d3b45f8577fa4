//! What stands for a value in the texts of an entry: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${input:id}`,
//! `${secret:id}`; `$${` is a literal `${`.
//!
//! Anything else that begins with `${` is a mistake, never passed on as it is: a server that gets `Bearer ${TOKEN}`
//! says something misleading, and one that gets half a secret says worse. A `$` without a brace is only a `$`.

use std::fmt;

use super::SecretValue;

/// How large a text may get by expansion.
const LONGEST: usize = 1024 * 1024;

/// What the forms are, for whoever wrote another.
pub const FORMS: [&str; 5] = ["${VAR}", "${VAR:-default}", "${env:VAR}", "${input:id}", "${secret:id}"];

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// An environment variable.
    Variable,
    /// A question to the person.
    Input,
    /// The encrypted store.
    Secret,
}

impl Source {
    /// What goes to the server, in the spelling of servers.json.
    pub fn describe(self, name: &str) -> String {
        match self {
            Self::Variable => format!("${{env:{name}}}"),
            Self::Input => format!("${{input:{name}}}"),
            Self::Secret => format!("${{secret:{name}}}"),
        }
    }
}

/// A place where a value goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Where it comes from.
    pub source: Source,
    /// The variable's name, or the id.
    pub name: String,
    /// What stands there if the variable is unset or empty.
    pub default: Option<String>,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::Variable => write!(f, "${{{}}}", self.name),
            Source::Input => write!(f, "${{input:{}}}", self.name),
            Source::Secret => write!(f, "${{secret:{}}}", self.name),
        }
    }
}

/// A text with places in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Reference(Reference),
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The text of a header may be a token.
            Self::Text(text) => write!(f, "[{} bytes]", text.len()),
            Self::Reference(reference) => write!(f, "{reference}"),
        }
    }
}

/// Why a text is no template. Says nothing of the text but the form it tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; a literal `${{` is written `$${{`")]
pub struct Malformed(String);

/// Why a template has no value.
#[derive(Clone, Debug)]
pub enum Unresolved {
    /// There is nothing of that name.
    Missing(Reference),
    /// The variable is not Unicode.
    NotUnicode(Reference),
    /// It would be larger than a megabyte.
    TooLarge,
    /// The store of secrets cannot be read.
    Store(crate::Error),
}

/// Where values come from while one text is expanded.
pub trait Lookup {
    /// The value, if there is one.
    fn lookup(&self, source: Source, name: &str) -> Result<Option<SecretValue>, LookupError>;
}

/// Why a value cannot be had.
#[derive(Clone, Debug)]
pub enum LookupError {
    /// The variable is not Unicode.
    NotUnicode,
    /// The store of secrets cannot be read.
    Store(crate::Error),
}

/// A text after expansion, and what came into it.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// The text.
    pub text: SecretValue,
    /// The values that were put in, and where.
    pub values: Vec<(Reference, SecretValue)>,
}

impl Template {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            if let Some(after) = from.strip_prefix("$${") {
                literal.push_str("${");
                rest = after;
            } else if let Some(inside) = from.strip_prefix("${") {
                let Some((inside, after)) = inside.split_once('}') else {
                    return Err(Malformed("`${` without `}`".to_owned()));
                };
                if !literal.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Reference(reference(inside)?));
                rest = after;
            } else {
                literal.push('$');
                rest = from.strip_prefix('$').unwrap_or_default();
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Self(pieces))
    }

    /// The places in it.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Reference(reference) => Some(reference),
            Piece::Text(_) => None,
        })
    }

    /// What stands before the first place.
    pub fn literal_prefix(&self) -> &str {
        match self.0.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// Whether there is no place in it.
    pub fn is_literal(&self) -> bool {
        self.references().next().is_none()
    }

    /// Puts values in.
    pub fn expand(&self, lookup: &dyn Lookup) -> Result<Expanded, Unresolved> {
        let mut text = String::new();
        let mut values = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Reference(reference) => {
                    let found = lookup.lookup(reference.source, &reference.name).map_err(|error| match error {
                        LookupError::NotUnicode => Unresolved::NotUnicode(reference.clone()),
                        LookupError::Store(error) => Unresolved::Store(error),
                    })?;
                    match (found, &reference.default) {
                        (Some(value), default) if default.is_none() || !value.expose().is_empty() => {
                            text.push_str(value.expose());
                            values.push((reference.clone(), value));
                        }
                        (_, Some(default)) => text.push_str(default),
                        (_, None) => return Err(Unresolved::Missing(reference.clone())),
                    }
                }
            }
            if text.len() > LONGEST {
                return Err(Unresolved::TooLarge);
            }
        }
        Ok(Expanded { text: SecretValue::new(text), values })
    }
}

/// What stands between the braces.
fn reference(inside: &str) -> Result<Reference, Malformed> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let (source, name) = match name.split_once(':') {
        None => (Source::Variable, name),
        Some(("env", name)) => (Source::Variable, name),
        Some(("input", name)) => (Source::Input, name),
        Some(("secret", name)) => (Source::Secret, name),
        Some((kind, _)) => {
            let kind: String = kind.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
            return Err(Malformed(format!("`${{{kind}:…}}` is none of the forms there are ({})", FORMS.join(", "))));
        }
    };
    let valid = match source {
        Source::Variable => is_variable_name(name),
        Source::Input | Source::Secret => is_reference_id(name),
    };
    if !valid {
        return Err(Malformed(format!(
            "what stands between `${{` and `}}` is none of the forms there are ({})",
            FORMS.join(", ")
        )));
    }
    match default {
        Some(_) if source != Source::Variable => {
            Err(Malformed("only an environment variable has a default".to_owned()))
        }
        Some(default) if default.contains("${") => Err(Malformed("a default cannot hold another `${`".to_owned())),
        default => Ok(Reference { source, name: name.to_owned(), default: default.map(str::to_owned) }),
    }
}

/// Whether an environment variable may be called that. Parentheses and dots are Windows' (`ProgramFiles(x86)`).
pub fn is_variable_name(name: &str) -> bool {
    name.len() <= 256
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'(' | b')' | b'.' | b'-'))
}

/// Whether a secret or an input may be called that.
pub fn is_reference_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

/// `text` as a template that means exactly itself.
pub fn escape(text: &str) -> String {
    text.replace("${", "$${")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    struct Map(HashMap<(Source, &'static str), &'static str>);

    impl Lookup for Map {
        fn lookup(&self, source: Source, name: &str) -> Result<Option<SecretValue>, LookupError> {
            Ok(self
                .0
                .iter()
                .find(|((s, n), _)| *s == source && *n == name)
                .map(|(_, value)| SecretValue::new((*value).to_owned())))
        }
    }

    fn map() -> Map {
        Map(HashMap::from([
            ((Source::Variable, "HOME"), "/home/me"),
            ((Source::Variable, "EMPTY"), ""),
            ((Source::Secret, "files-token"), "s3cret"),
            ((Source::Input, "id"), "answer"),
        ]))
    }

    fn expand(text: &str) -> Result<String, Unresolved> {
        Template::parse(text).unwrap().expand(&map()).map(|expanded| expanded.text.expose().to_owned())
    }

    #[test]
    fn every_form_is_expanded() {
        for (text, expected) in [
            ("${HOME}/notes", "/home/me/notes"),
            ("${env:HOME}", "/home/me"),
            ("${NONE:-/tmp}", "/tmp"),
            ("${env:NONE:-a:-b}", "a:-b"),
            ("${EMPTY:-full}", "full"),
            ("<${EMPTY}>", "<>"),
            ("${NONE:-}", ""),
            ("${secret:files-token}${input:id}", "s3cretanswer"),
            ("no places, $HOME and $ and $$", "no places, $HOME and $ and $$"),
            ("$${HOME} costs $5}", "${HOME} costs $5}"),
            ("$$${HOME}", "$${HOME}"),
        ] {
            assert_eq!(expand(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        for (text, source, name) in [
            ("a ${NONE} b", Source::Variable, "NONE"),
            ("${secret:no}", Source::Secret, "no"),
            ("${input:x}", Source::Input, "x"),
        ] {
            let Err(Unresolved::Missing(reference)) = expand(text) else { panic!("{text} was resolved") };
            assert_eq!((reference.source, reference.name.as_str()), (source, name));
        }
    }

    #[test]
    fn what_is_none_of_the_forms_is_a_mistake() {
        for text in [
            "${",
            "${A",
            "${}",
            "${ A }",
            "${1}",
            "${A%.*}",
            "${config:x}",
            "${secret:}",
            "${secret:a:-b}",
            "${A:-${B}}",
            "${a b}",
        ] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_template_does_not_show_its_text() {
        let template = Template::parse("Bearer hunter2 ${X}").unwrap();
        assert!(!format!("{template:?}").contains("hunter2"));
        assert!(!format!("{:?}", template.expand(&map())).contains("hunter2"));
    }

    #[test]
    fn expansion_is_bounded() {
        struct Large;
        impl Lookup for Large {
            fn lookup(&self, _: Source, _: &str) -> Result<Option<SecretValue>, LookupError> {
                Ok(Some(SecretValue::new("x".repeat(100_000))))
            }
        }
        let template = Template::parse(&"${A}".repeat(100)).unwrap();
        assert!(matches!(template.expand(&Large), Err(Unresolved::TooLarge)));
    }

    proptest! {
        #[test]
        fn escaped_text_means_itself(text in "[a${}: \\-]{0,30}|.{0,60}") {
            prop_assert_eq!(expand(&escape(&text)).unwrap(), text);
        }

        #[test]
        fn no_text_makes_it_panic(text in "([${}:\\-]|secret|env|input|A|é){0,20}") {
            if let Ok(template) = Template::parse(&text) {
                let _ = template.expand(&map());
            }
        }
    }
}
