//! JSON as it was written: numbers keep their digits, objects their order, and a value read twice is the same value.
//!
//! `serde_json::Value` rounds numbers and keeps the last of two equal keys; neither may happen between what a person
//! is shown and what is sent. Do not turn on serde_json's `arbitrary_precision` instead: Cargo unifies features, and a
//! host application with a tagged or flattened `f64` then fails to decode.
//!
//! [`parse`] is the one strict reader of what is decided upon (arguments); [`Raw`] carries text that is only passed on.
//! Reading and writing take time linear in the text and recurse at most [`Limits::DEEPEST`] levels.

mod number;
mod pointer;
mod read;
mod write;

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::value::RawValue;

pub use number::Number;
pub use pointer::{escape_segment, pointer_segments};
pub use read::{Limits, SyntaxError, SyntaxKind, check, parse};
pub(crate) use write::ascii_string;

/// Serialises a whole number without `.0`, as everybody else writes it.
pub(super) fn plain_number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    // Up to 2^53 every whole `f64` is the number that it shows.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match *number {
        #[allow(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
        Some(number) if number.fract() == 0.0 && number.abs() <= EXACT => serializer.serialize_i64(number as i64),
        Some(number) => serializer.serialize_f64(number),
        None => serializer.serialize_none(),
    }
}

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

    /// Reads the text into a [`Value`].
    pub fn value(&self, limits: Limits) -> Result<Value, SyntaxError> {
        parse(self.as_str().as_bytes(), limits)
    }

    /// Whether `JSON.parse` would give back a number of this text as another number: an integer beyond 2^53, a
    /// fraction with more digits than a double holds, a magnitude that becomes `Infinity` or 0.
    pub fn javascript_rounds(&self) -> bool {
        number::javascript_rounds(self.as_str())
    }
}

impl From<Box<RawValue>> for Raw {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl From<&Value> for Raw {
    fn from(value: &Value) -> Self {
        // What `to_wire` writes is well-formed, so the fallback is never taken.
        let raw = RawValue::from_string(value.to_wire()).unwrap_or_else(|_| RawValue::NULL.to_owned());
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

/// A JSON value with canonical numbers. Two are equal if they denote the same: the order of keys does not count, `1` and
/// `1.0` differ (as their digests do).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "JSON's own names")]
pub enum Value {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    Object(Object),
}

impl Value {
    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The items, if it is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// What an RFC 6901 pointer points at; `""` is the value itself.
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        pointer_segments(pointer)?.iter().try_fold(self, |value, segment| match value {
            Self::Object(object) => object.get(segment),
            Self::Array(items) => pointer::index(segment).and_then(|index| items.get(index)),
            _ => None,
        })
    }

    /// Compact, in the order of the keys, canonical numbers, non-ASCII as it is: what goes on the wire.
    pub fn to_wire(&self) -> String {
        let mut text = String::new();
        write::wire(self, &mut text);
        text
    }

    /// As Python's `json.dumps(sort_keys=True, separators=(",", ":"), ensure_ascii=True)` writes it: what is hashed.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        write::canonical(self, &mut text);
        text
    }

    /// Indented by two spaces, in the order of the keys: what a person reads.
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        write::pretty(self, false, 0, &mut text);
        text
    }

    /// The same with the keys of every object sorted: what is compared line by line.
    pub fn pretty_sorted(&self) -> String {
        let mut text = String::new();
        write::pretty(self, true, 0, &mut text);
        text
    }

    /// The nearest `serde_json` value: integers beyond 64 bits become doubles.
    pub fn to_serde(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(bool) => (*bool).into(),
            Self::Number(number) => number.to_serde(),
            Self::String(text) => text.as_str().into(),
            Self::Array(items) => items.iter().map(Self::to_serde).collect(),
            Self::Object(object) => object.iter().map(|(key, value)| (key.to_owned(), value.to_serde())).collect(),
        }
    }

    /// Takes over a `serde_json` value: integers exact, doubles as they are held. Refuses more than
    /// [`Limits::ARGUMENTS`] levels.
    ///
    /// Whatever `serde_json` rounded while it read the text is lost already: where the text is at hand, [`parse`] it.
    pub fn from_serde(value: &serde_json::Value) -> Result<Self, SyntaxError> {
        read::from_serde(value, Limits::ARGUMENTS.max_depth)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_wire()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// Reads strictly, from `serde_json` only. (In a type that serde buffers, an untagged or internally tagged enum or a
/// flattened struct, this fails: use an externally tagged one.)
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        parse(raw.get().as_bytes(), Limits::ARGUMENTS).map_err(D::Error::custom)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

/// An object in the order in which it was written; keys are unique.
#[derive(Clone, Debug, Default)]
pub struct Object(Vec<(String, Value)>);

impl Object {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many members it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is `{}`.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The member of that name; looks at each in turn.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Whether there is a member of that name.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets a member: in place if the name is there already, else at the end. Gives back what was there.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        if let Some((_, old)) = self.0.iter_mut().find(|(name, _)| *name == key) {
            return Some(std::mem::replace(old, value));
        }
        self.0.push((key, value));
        None
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> + Clone {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// What an RFC 6901 pointer points at; never the object itself.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        let segments = pointer_segments(pointer)?;
        let (first, rest) = segments.split_first()?;
        rest.iter().try_fold(self.get(first)?, |value, segment| match value {
            Value::Object(object) => object.get(segment),
            Value::Array(items) => pointer::index(segment).and_then(|index| items.get(index)),
            _ => None,
        })
    }

    /// See [`Value::to_wire`].
    pub fn to_wire(&self) -> String {
        let mut text = String::new();
        write::wire_object(self, &mut text);
        text
    }

    /// See [`Value::canonical`].
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        write::canonical_object(self, &mut text);
        text
    }

    /// See [`Value::pretty`].
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        write::pretty_object(self, false, 0, &mut text);
        text
    }

    /// The members by the code points of their names.
    pub(crate) fn sorted(&self) -> Vec<&(String, Value)> {
        let mut members: Vec<_> = self.0.iter().collect();
        // UTF-8 sorts as its code points do.
        members.sort_unstable_by(|(one, _), (other, _)| one.as_str().cmp(other));
        members
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.sorted().into_iter().zip(other.sorted()).all(|(one, other)| one == other)
    }
}

impl Eq for Object {}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_wire()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(object) => Ok(object),
            _ => Err(D::Error::custom("an object was expected")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
