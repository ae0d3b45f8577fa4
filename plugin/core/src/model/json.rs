//! JSON as it was written: numbers keep their digits, objects their order, and a value read twice is the same value.
//!
//! `serde_json::Value` rounds numbers and keeps the last of two equal keys; neither may happen between what a person
//! is shown and what is sent. Do not turn on serde_json's `arbitrary_precision` instead: Cargo unifies features, and a
//! host application with a tagged or flattened `f64` then fails to decode.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// A piece of JSON text that is known to be well-formed, cheap to clone, serialised as it is.
#[derive(Clone)]
pub struct Raw(Arc<RawValue>);

impl Raw {
    /// Takes over JSON text after checking that it is well-formed.
    pub fn from_text(text: String) -> serde_json::Result<Self> {
        RawValue::from_string(text).map(|raw| Self(raw.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Decodes the text into `T`.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_str(self.as_str())
    }
}

impl From<Box<RawValue>> for Raw {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// A JSON value with canonical numbers.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "JSON's own names")]
pub enum Value {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    Object(Object),
}

/// A number in its canonical text: integers exact, floats as Python's `repr` writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(Box<str>);

impl Number {
    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An object in the order in which it was written; keys are unique.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(Vec<(String, Value)>);
