//! Tool definitions as the person approved them: their hash, their text, and the difference to what the server says now.
//!
//! A hash is made of *whatever* a server sends. What makes it change is what a person would call a change: not the order
//! of keys, not white space, not how a number is spelled.

mod difference;
mod hash;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use difference::{Difference, Line, LineKind, Part, PartDifference, Piece};
pub use hash::definition_hash;

use super::rule::MadeBy;
use crate::{
    error::{Error, Result},
    model::{ServerId, ToolDefinition, admin::PinState},
};

/// The text of one definition is kept up to this size, in bytes; of a larger one only the hash.
const MAX_TEXT_BYTES: usize = 32 * 1024;

/// All texts together; beyond it only hashes are kept, so that a server cannot make the store unreadable.
const MAX_ALL_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// So many pins, in all.
const MAX_PINS: usize = 10_000;

/// A definition's text, as the server wrote it. Untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DefinitionText {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For models and people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON text.
    pub input_schema: String,
    /// JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<String>,
    /// JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<String>,
}

impl From<&ToolDefinition> for DefinitionText {
    fn from(tool: &ToolDefinition) -> Self {
        let text = |raw: &Option<crate::model::Raw>| raw.as_ref().map(|raw| raw.as_str().to_owned());
        Self {
            title: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.as_str().to_owned(),
            output_schema: text(&tool.output_schema),
            annotations: text(&tool.annotations),
        }
    }
}

impl DefinitionText {
    fn bytes(&self) -> usize {
        let optional = [&self.title, &self.description, &self.output_schema, &self.annotations];
        self.input_schema.len() + optional.into_iter().flatten().map(String::len).sum::<usize>()
    }

    /// What changes on the way to `new`, part by part, in lines and words.
    pub fn difference(&self, new: &Self) -> Difference {
        difference::between(self, new)
    }
}

/// One definition that the person approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// Its [`definition_hash`].
    pub hash: String,
    /// Its text, to compare with; absent where it was too large to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<DefinitionText>,
    /// When it was approved.
    pub pinned_at: Timestamp,
    /// By what act.
    pub by: MadeBy,
}

impl Pin {
    /// A pin for a definition that the person has been shown.
    pub fn of(tool: &ToolDefinition, pinned_at: Timestamp, by: MadeBy) -> Self {
        Self { hash: tool.hash.clone(), text: Some(DefinitionText::from(tool)), pinned_at, by }
    }
}

/// All pins: a store of its own, so that where it is damaged everything is unseen and nothing else is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pins {
    #[serde(default)]
    servers: BTreeMap<ServerId, BTreeMap<String, Pin>>,
}

impl Pins {
    /// Where a definition of that hash stands. Local tools are always pinned.
    pub fn state(&self, server: &ServerId, tool: &str, hash: &str) -> PinState {
        match self.get(server, tool) {
            _ if server.as_str() == ServerId::LOCAL => PinState::Pinned,
            None => PinState::Unseen,
            Some(pin) if pin.hash == hash => PinState::Pinned,
            Some(_) => PinState::Changed,
        }
    }

    /// What was approved under that name.
    pub fn get(&self, server: &ServerId, tool: &str) -> Option<&Pin> {
        self.servers.get(server)?.get(tool)
    }

    /// The names that were approved and that the server does not list any more.
    pub fn gone<'a>(&'a self, server: &ServerId, listed: &'a BTreeSet<&str>) -> impl Iterator<Item = &'a str> {
        self.servers
            .get(server)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(String::as_str)
            .filter(move |name| !listed.contains(name))
    }

    /// The names that were approved, with their pins.
    pub fn of_server(&self, server: &ServerId) -> impl Iterator<Item = (&str, &Pin)> {
        self.servers.get(server).into_iter().flatten().map(|(name, pin)| (name.as_str(), pin))
    }

    /// Pins a definition that the person approved.
    ///
    /// # Errors
    ///
    /// `invalid_input` where there are 10,000 already.
    pub fn pin(&mut self, server: &ServerId, tool: &str, mut pin: Pin) -> Result<()> {
        self.unpin(server, Some(&[tool.to_owned()]));
        let all = || self.servers.values().flat_map(BTreeMap::values);
        if all().count() >= MAX_PINS {
            let problem =
                format!("{MAX_PINS} definitions are approved already; revoke the trust in a server you no longer use");
            return Err(Error::invalid_input("/tool", problem));
        }
        let kept: usize = all().filter_map(|pin| pin.text.as_ref()).map(DefinitionText::bytes).sum();
        pin.text = pin.text.filter(|text| {
            let bytes = text.bytes();
            bytes <= MAX_TEXT_BYTES && kept + bytes <= MAX_ALL_TEXT_BYTES
        });
        self.servers.entry(server.clone()).or_default().insert(tool.to_owned(), pin);
        Ok(())
    }

    /// Takes approvals back: of these tools, or of all of a server's. Gives the names that had one.
    pub fn unpin(&mut self, server: &ServerId, tools: Option<&[String]>) -> Vec<String> {
        let Some(pins) = self.servers.get_mut(server) else { return Vec::new() };
        let names: Vec<String> = match tools {
            Some(tools) => tools.iter().filter(|tool| pins.remove(*tool).is_some()).cloned().collect(),
            None => std::mem::take(pins).into_keys().collect(),
        };
        if pins.is_empty() {
            self.servers.remove(server);
        }
        names
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn id(text: &str) -> ServerId {
        ServerId::parse(text).unwrap()
    }

    fn pin(hash: &str, description_bytes: usize) -> Pin {
        Pin {
            hash: hash.to_owned(),
            text: Some(DefinitionText {
                description: Some("x".repeat(description_bytes)),
                ..DefinitionText::default()
            }),
            pinned_at: Timestamp::UNIX_EPOCH,
            by: MadeBy::Dialog,
        }
    }

    #[test]
    fn a_definition_is_unseen_then_pinned_then_changed() {
        let mut pins = Pins::default();
        assert_eq!(pins.state(&id("files"), "read", "a"), PinState::Unseen);
        pins.pin(&id("files"), "read", pin("a", 3)).unwrap();
        assert_eq!(pins.state(&id("files"), "read", "a"), PinState::Pinned);
        assert_eq!(pins.state(&id("files"), "read", "b"), PinState::Changed);
        // A rename is gone and unseen, another server's tool is another tool.
        assert_eq!(pins.state(&id("files"), "read_file", "a"), PinState::Unseen);
        assert_eq!(pins.state(&id("other"), "read", "a"), PinState::Unseen);
        assert_eq!(pins.gone(&id("files"), &["read_file"].into()).collect::<Vec<_>>(), ["read"]);
        assert_eq!(pins.gone(&id("files"), &["read"].into()).count(), 0);
        pins.pin(&id("files"), "read", pin("b", 3)).unwrap();
        assert_eq!(pins.state(&id("files"), "read", "a"), PinState::Changed);
    }

    #[test]
    fn the_applications_own_tools_are_never_unseen_or_changed() {
        assert_eq!(Pins::default().state(&id("local"), "read", "a"), PinState::Pinned);
    }

    #[test]
    fn approvals_can_be_taken_back() {
        let mut pins = Pins::default();
        for tool in ["a", "b", "c"] {
            pins.pin(&id("files"), tool, pin("x", 1)).unwrap();
        }
        assert_eq!(pins.unpin(&id("files"), Some(&["b".to_owned(), "nothing".to_owned()])), ["b"]);
        assert_eq!(pins.unpin(&id("files"), None), ["a", "c"]);
        assert_eq!(pins, Pins::default());
        assert_eq!(pins.unpin(&id("files"), None), [""; 0]);
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_compared_is_not() {
        let mut pins = Pins::default();
        pins.pin(&id("files"), "large", pin("a", MAX_TEXT_BYTES + 1)).unwrap();
        assert_eq!(pins.get(&id("files"), "large").unwrap().text, None);
        assert_eq!(pins.state(&id("files"), "large", "b"), PinState::Changed);
        for tool in 0..200 {
            pins.pin(&id("files"), &format!("t{tool}"), pin("a", MAX_TEXT_BYTES)).unwrap();
        }
        let kept = pins.of_server(&id("files")).filter(|(_, pin)| pin.text.is_some()).count();
        assert_eq!(kept, MAX_ALL_TEXT_BYTES / MAX_TEXT_BYTES);
        assert_eq!(pins.state(&id("files"), "t199", "a"), PinState::Pinned);
        // Pinning the same again does not use up more.
        pins.pin(&id("files"), "t0", pin("b", MAX_TEXT_BYTES)).unwrap();
        assert!(pins.get(&id("files"), "t0").unwrap().text.is_some());
        let text = serde_json::to_string(&pins).unwrap();
        assert_eq!(serde_json::from_str::<Pins>(&text).unwrap(), pins);
    }
}
