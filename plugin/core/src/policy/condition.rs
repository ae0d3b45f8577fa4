//! "Always, but only…": what the arguments of a call must be for a rule to count.
//!
//! A condition is read in two directions. To *permit*, it must cover every argument and every doubt counts against the
//! caller; to *forbid* (deny and ask rules), one match suffices and every doubt counts against the caller again.

pub mod path;
pub mod propose;
pub mod uri;
pub mod words;

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use self::{
    path::{PathGlob, Platform},
    words::WordPrefix,
};
use crate::{
    error::{Error, Result},
    model::json::{Object, Value, escape_segment, pointer_segments},
};

/// What one value must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Constraint {
    /// This value.
    Equals(Value),
    /// A path that this glob matches; [`PathGlob`].
    PathGlob(String),
    /// A command line that begins with these words; [`WordPrefix`].
    WordPrefix(String),
    /// Anything; said explicitly, since what is not mentioned is not allowed.
    Any,
}

/// What the arguments of a call must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Conditions {
    /// Exactly these arguments.
    Exact(Object),
    /// A constraint for each of these JSON pointers.
    Each(BTreeMap<String, Constraint>),
}

impl Conditions {
    /// Constraints by JSON pointer.
    ///
    /// # Errors
    ///
    /// `invalid_input` naming the pointer or pattern that cannot be meant.
    pub fn each(constraints: BTreeMap<String, Constraint>) -> Result<Self> {
        let conditions = Self::Each(constraints);
        conditions.check()?;
        Ok(conditions)
    }

    /// Whether the conditions make sense: looked at when a rule is made and when it is read from the store.
    pub(super) fn check(&self) -> Result<()> {
        let Self::Each(constraints) = self else { return Ok(()) };
        if constraints.is_empty() {
            return Err(Error::invalid_input("/conditions", "conditions without any constraint; leave them out"));
        }
        for (pointer, constraint) in constraints {
            let invalid = |problem: &str| Error::invalid_input(format!("/conditions{pointer}"), problem);
            if pointer_segments(pointer).is_none_or(|segments| segments.is_empty()) {
                return Err(invalid(&format!(
                    "`{pointer}` is not the JSON pointer of an argument; write `/name`, or `/name/inner`"
                )));
            }
            match constraint {
                Constraint::PathGlob(pattern) => PathGlob::new(pattern, Platform::HERE)
                    .map(drop)
                    .map_err(|problem| invalid(&format!("`{pattern}` cannot be used as a path glob: {problem}")))?,
                Constraint::WordPrefix(words) => WordPrefix::new(words)
                    .map(drop)
                    .map_err(|problem| invalid(&format!("`{words}` cannot be used as a word prefix: {problem}")))?,
                Constraint::Equals(_) | Constraint::Any => {}
            }
        }
        Ok(())
    }

    /// Whether an allow under these conditions covers the arguments: all of them, without a doubt.
    pub fn permit(&self, arguments: &Object) -> bool {
        match self {
            Self::Exact(exact) => exact == arguments,
            Self::Each(constraints) => {
                let mentioned =
                    arguments.iter().all(|(name, _)| constraints.contains_key(&format!("/{}", escape_segment(name))));
                mentioned
                    && constraints.iter().all(|(pointer, constraint)| match arguments.pointer(pointer) {
                        Some(value) => constraint.permits(value),
                        // Something is expected there, unless anything is, nothing included.
                        None => *constraint == Constraint::Any,
                    })
            }
        }
    }

    /// Whether a deny (or an ask) under these conditions concerns the arguments, in doubt too.
    pub fn forbid(&self, arguments: &Object) -> bool {
        match self {
            Self::Exact(exact) => loosely_equal_objects(exact, arguments),
            Self::Each(constraints) => constraints.iter().all(|(pointer, constraint)| {
                *constraint == Constraint::Any
                    || arguments.pointer(pointer).is_some_and(|value| constraint.forbids(value))
            }),
        }
    }
}

impl Constraint {
    fn permits(&self, value: &Value) -> bool {
        match self {
            Self::Equals(expected) => value == expected,
            Self::PathGlob(pattern) => value
                .as_str()
                .is_some_and(|path| PathGlob::new(pattern, Platform::HERE).is_ok_and(|glob| glob.permits(path))),
            Self::WordPrefix(words) => {
                value.as_str().is_some_and(|line| WordPrefix::new(words).is_ok_and(|prefix| prefix.permits(line)))
            }
            Self::Any => true,
        }
    }

    fn forbids(&self, value: &Value) -> bool {
        match self {
            Self::Equals(expected) => loosely_equal(value, expected),
            // What is no text, or an unusable pattern, leaves a doubt.
            Self::PathGlob(pattern) => value
                .as_str()
                .is_none_or(|path| PathGlob::new(pattern, Platform::HERE).map_or(true, |glob| glob.forbids(path))),
            Self::WordPrefix(words) => {
                value.as_str().is_none_or(|line| WordPrefix::new(words).map_or(true, |prefix| prefix.forbids(line)))
            }
            Self::Any => true,
        }
    }
}

/// Equality by which `1.0` does not slip past a deny of `1`.
fn loosely_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.same_value(other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| loosely_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => loosely_equal_objects(one, other),
        (one, other) => one == other,
    }
}

fn loosely_equal_objects(one: &Object, other: &Object) -> bool {
    one.len() == other.len()
        && one
            .sorted()
            .into_iter()
            .zip(other.sorted())
            .all(|((name, value), (other_name, other))| name == other_name && loosely_equal(value, other))
}

/// One line for each constraint, in words.
impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

impl Conditions {
    /// One line for each constraint, in words. The values in them are a stranger's: to be made inert before they are shown.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Exact(arguments) => vec![format!("exactly {}", arguments.to_wire())],
            Self::Each(constraints) => constraints
                .iter()
                .map(|(pointer, constraint)| match constraint {
                    Constraint::Equals(value) => format!("{pointer} is {}", value.to_wire()),
                    Constraint::PathGlob(pattern) => format!("{pointer} is a path like {pattern}"),
                    Constraint::WordPrefix(words) => format!("{pointer} is one command that begins with {words}"),
                    Constraint::Any => format!("{pointer} is anything"),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
