//! One line of a log: how it is made, hashed, authenticated and read again (audit.md, "Line format").
//!
//! `hash` is the SHA-256 of the canonical JSON of six fields, so TeaAgent's verifier accepts our files and ours accepts
//! its. `chain_hmac` is what TeaAgent does not have: without the key, nobody can write a line that passes.

use std::{collections::BTreeMap, fmt::Write as _};

use hmac::Mac;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{
    error::{Error, Result},
    model::{
        hex,
        json::{self, Limits, Object, Value, ascii_string},
    },
    store::{MasterKey, hmac_under},
};

/// The `prev_hash` of a file's first line.
pub(super) const GENESIS: &str = "genesis";

/// Where a chain stands, and what the next line needs.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    /// The run the lines belong to.
    run_id: String,
    /// HKDF(master key, run id).
    key: Zeroizing<[u8; 32]>,
    /// The last line's hash, or [`GENESIS`].
    pub(super) head: String,
    /// Lines so far.
    pub(super) count: u64,
}

/// A line that is ready to be written.
#[derive(Debug)]
pub(super) struct Line {
    /// With its newline.
    pub(super) text: String,
    pub(super) event_id: String,
    hash: String,
}

impl Chain {
    /// The beginning of a file.
    pub(super) fn genesis(master: &MasterKey, run_id: &str) -> Self {
        Self::at(master, run_id, GENESIS.to_owned(), 0)
    }

    /// After `count` lines.
    pub(super) fn at(master: &MasterKey, run_id: &str, head: String, count: u64) -> Self {
        Self { run_id: run_id.to_owned(), key: master.derive(run_id), head, count }
    }

    /// The line that comes next; the chain stays where it is until [`Self::advance`]. `payload` is canonical JSON of an
    /// object; `event_type` and run id are plain ASCII of ours.
    pub(super) fn next(&self, now: Timestamp, event_type: &str, payload: &str) -> Result<Line> {
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).map_err(Error::internal)?;
        let event_id = hex(&random);
        let Self { run_id, head, .. } = self;
        let created_at = now.strftime("%Y-%m-%dT%H:%M:%S.%6f+00:00");
        // Both texts share their longest part, so it is written once.
        let mut hashed = String::with_capacity(payload.len() + 384);
        let written = write!(
            hashed,
            "{{\"created_at\":\"{created_at}\",\"event_id\":\"{event_id}\",\"event_type\":\"{event_type}\",\
             \"payload\":{payload},\"prev_hash\":\"{head}\",\"run_id\":\"{run_id}\"}}"
        );
        written.map_err(Error::internal)?;
        let hash = hex(&Sha256::digest(&hashed));
        let tag = tag(&self.key, &hash);
        let split = hashed.find(",\"payload\":").unwrap_or(hashed.len());
        let (before, after) = hashed.split_at(split);
        let before = before.strip_prefix('{').unwrap_or(before);
        let text = format!("{{\"chain_hmac\":\"{tag}\",{before},\"hash\":\"{hash}\"{after}\n");
        Ok(Line { text, event_id, hash })
    }

    /// The line has been written.
    pub(super) fn advance(&mut self, line: &Line) {
        self.head.clone_from(&line.hash);
        self.count += 1;
    }

    /// Whether `tag` is the one of a line of this run with this hash; in constant time.
    pub(super) fn authentic(&self, hash: &str, tag: &str) -> bool {
        let Some(tag) = crate::store::decode_hex(tag) else { return false };
        let mut mac = hmac_under(&self.key);
        mac.update(hash.as_bytes());
        mac.verify_slice(tag.as_slice()).is_ok()
    }
}

fn tag(key: &[u8; 32], hash: &str) -> String {
    let mut mac = hmac_under(key);
    mac.update(hash.as_bytes());
    hex(&mac.finalize().into_bytes())
}

/// The fields of a payload, each in canonical JSON.
#[derive(Debug, Clone, Default)]
pub(super) struct Payload(BTreeMap<&'static str, String>);

impl Payload {
    /// A field that is canonical JSON already.
    pub(super) fn json(&mut self, name: &'static str, canonical: String) -> &mut Self {
        self.0.insert(name, canonical);
        self
    }

    /// A text that holds nothing foreign.
    pub(super) fn text(&mut self, name: &'static str, text: &str) -> &mut Self {
        let mut out = String::with_capacity(text.len() + 2);
        ascii_string(text, &mut out);
        self.json(name, out)
    }

    /// A whole number.
    pub(super) fn number(&mut self, name: &'static str, number: u64) -> &mut Self {
        self.json(name, number.to_string())
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, name: &'static str, flag: bool) -> &mut Self {
        self.json(name, flag.to_string())
    }

    /// Leaves out the largest fields until the whole fits in `bytes`; what says which call it was and how it ended are
    /// short.
    pub(super) fn shorten(&mut self, bytes: usize) {
        while self.0.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>() > bytes {
            let largest = self.0.iter().max_by_key(|(_, value)| value.len()).map(|(name, _)| *name);
            let Some(largest) = largest else { return };
            self.0.remove(largest);
        }
    }

    /// The whole, in canonical JSON.
    pub(super) fn canonical(&self) -> String {
        let mut out = String::from("{");
        for (index, (name, value)) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push('"');
            out.push_str(name);
            out.push_str("\":");
            out.push_str(value);
        }
        out.push('}');
        out
    }
}

/// A line as it was read: whatever is there, however wrong.
#[derive(Debug)]
pub(super) struct Record(Object);

/// The fields that are hashed, in canonical order.
const HASHED: [&str; 6] = ["created_at", "event_id", "event_type", "payload", "prev_hash", "run_id"];

/// Payloads may hold arguments of the greatest depth, inside two objects of ours.
const DEPTH: Limits = Limits { max_depth: 160, lenient: false };

impl Record {
    /// Reads a line. `None`: it is not a JSON object, or two readers could read it differently.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        match json::parse(line, DEPTH) {
            Ok(Value::Object(object)) => Some(Self(object)),
            _ => None,
        }
    }

    /// A field that is a string; `""` where it is not.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether there is such a field at all.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The payload, where it is an object.
    pub(super) fn payload(&self) -> Option<&Object> {
        self.0.get("payload").and_then(Value::as_object)
    }

    /// A text of the payload.
    pub(super) fn detail(&self, name: &str) -> Option<&str> {
        self.payload()?.get(name)?.as_str()
    }

    /// A whole number of the payload.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        match self.payload()?.get(name)? {
            Value::Number(number) => number.as_str().parse().ok(),
            _ => None,
        }
    }

    /// Whether every field of the format is there, with its type.
    pub(super) fn is_complete(&self, keyed: bool) -> bool {
        let texts =
            HASHED.iter().filter(|name| **name != "payload").chain(&["hash"]).chain(keyed.then_some(&"chain_hmac"));
        self.payload().is_some()
            && texts.into_iter().all(|name| self.0.get(name).is_some_and(|value| value.as_str().is_some()))
            && self.time().is_some()
    }

    /// Whether there is a field that the format does not know.
    pub(super) fn has_unexpected(&self) -> bool {
        self.0.iter().any(|(name, _)| !HASHED.contains(&name) && name != "hash" && name != "chain_hmac")
    }

    /// When it was made.
    pub(super) fn time(&self) -> Option<Timestamp> {
        self.text("created_at").parse().ok()
    }

    /// The hash that the fields have.
    pub(super) fn computed_hash(&self) -> String {
        let mut text = String::from("{");
        for name in HASHED {
            let Some(value) = self.0.get(name) else { continue };
            if text.len() > 1 {
                text.push(',');
            }
            text.push('"');
            text.push_str(name);
            text.push_str("\":");
            text.push_str(&value.canonical());
        }
        text.push('}');
        hex(&Sha256::digest(&text))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_canonical_complete_and_hashed_as_it_is_read() {
        let mut chain = Chain::genesis(&MasterKey::for_tests(1), "host-0123");
        let mut payload = Payload::default();
        payload.text("z", "é\n").number("a", 7).flag("m", true);
        let line = chain.next(Timestamp::UNIX_EPOCH, "run_started", &payload.canonical()).unwrap();
        let text = line.text.strip_suffix('\n').unwrap();
        let record = Record::parse(text.as_bytes()).unwrap();
        assert_eq!(Value::Object(record.0.clone()).canonical(), text);
        assert!(record.is_complete(true) && !record.has_unexpected());
        assert_eq!(record.text("prev_hash"), GENESIS);
        assert_eq!(record.text("created_at"), "1970-01-01T00:00:00.000000+00:00");
        assert_eq!(record.text("hash"), record.computed_hash());
        assert!(chain.authentic(record.text("hash"), record.text("chain_hmac")));
        assert!(
            !Chain::genesis(&MasterKey::for_tests(1), "host-0124")
                .authentic(record.text("hash"), record.text("chain_hmac"))
        );
        assert_eq!(record.detail("z"), Some("é\n"));

        chain.advance(&line);
        let next = chain.next(Timestamp::UNIX_EPOCH, "run_completed", "{}").unwrap();
        let next = Record::parse(next.text.trim_end().as_bytes()).unwrap();
        assert_eq!(next.text("prev_hash"), record.text("hash"));
    }

    #[test]
    fn the_hash_depends_on_values_not_on_how_they_are_written() {
        let line = br#"{"run_id": "mcp-0123", "prev_hash": "genesis", "hash":"", "payload": {"transport": "stdio", "origin": "mcp"},
            "event_type": "run_started", "event_id": "00000000000000000000000000000001", "created_at": "2026-11-30T00:00:00+00:00"}"#;
        let hash = Record::parse(line).unwrap().computed_hash();
        assert_eq!(hash, "e417d8bfaec0bf61be9f7b24c5ddc41109794c937dacfebdd7987e85411d5686");
    }

    proptest! {
        #[test]
        fn any_payload_is_read_back_with_its_hash(text in "\\PC{0,30}", number: u64, head in "[0-9a-f]{64}") {
            let chain = Chain::at(&MasterKey::for_tests(1), "mcp-1", head, 3);
            let mut payload = Payload::default();
            payload.text("text", &text).number("number", number);
            let line = chain.next(Timestamp::UNIX_EPOCH, "x", &payload.canonical()).unwrap();
            let record = Record::parse(line.text.trim_end().as_bytes()).unwrap();
            prop_assert_eq!(record.computed_hash(), record.text("hash"));
            prop_assert_eq!(record.detail("text"), Some(&*text));
            prop_assert_eq!(record.number("number"), Some(number));
        }
    }
}
