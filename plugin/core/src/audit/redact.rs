//! What must not stand in a log, and how it is kept out (audit.md, "Redaction").
//!
//! Three nets, each for what the one before lets through: known secret values wherever they appear (plain, and in the
//! encodings in which they travel); keys that promise a secret and contents that are nobody's business; patterns that
//! look like a credential in any string. Everything that goes into a record passes here, and so do stderr tails and
//! protocol traces. What must never happen: a secret that is known surviving in what comes out.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};

use super::pattern;
use crate::model::json::{Object, Value, ascii_string};

/// What stands in place of what was taken out.
pub(super) const REDACTED: &str = "[redacted]";

/// Strings end here, in characters.
const LONGEST: usize = 20_000;

/// A string of arguments or results over this many characters is content.
const CONTENT: usize = 200;

/// A known value shorter than this is masked only where a string is that value: it would blank out half of every text.
const SHORTEST: usize = 4;

/// Which rules apply to a value beside those that apply to every string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Of a call.
    Arguments,
    /// Of a tool.
    Result,
    /// Our own fields: titles, error texts, URIs.
    Plain,
}

impl Part {
    /// Fields whose value is content, whatever its length.
    fn is_content(self, key: &str) -> bool {
        let fields: &[&str] = match self {
            Self::Arguments => &["command", "content", "new", "old", "body", "text", "prompt", "message"],
            Self::Result => &["content", "stderr", "stdout", "text"],
            Self::Plain => &[],
        };
        fields.iter().any(|field| key.eq_ignore_ascii_case(field))
    }
}

/// Keeps secrets out. Cheap to clone; clones share what they know.
#[derive(Clone)]
pub struct Redactor(Arc<Inner>);

struct Inner {
    /// `--audit-full`: contents are kept, secrets are not.
    full: bool,
    known: RwLock<Arc<Known>>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("full", &self.0.full).finish_non_exhaustive()
    }
}

/// The values that are known to be secret.
#[derive(Default)]
struct Known {
    /// Each with its encodings.
    needles: BTreeSet<String>,
    /// Those too short to be looked for inside a text.
    whole: BTreeSet<String>,
    /// Over `needles`.
    search: Option<AhoCorasick>,
}

impl Redactor {
    /// One that knows no value yet. `full`: contents are kept, at the person's risk.
    pub fn new(full: bool) -> Self {
        Self(Arc::new(Inner { full, known: RwLock::default() }))
    }

    /// From now on these values are masked: secrets of the store, tokens, values of environment and headers.
    pub fn learn<'a>(&self, values: impl IntoIterator<Item = &'a str>) {
        let mut guard = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut known = Known { needles: guard.needles.clone(), whole: guard.whole.clone(), search: None };
        for value in values.into_iter().filter(|value| !value.is_empty()) {
            if value.chars().count() < SHORTEST {
                known.whole.insert(value.to_owned());
            } else {
                known.needles.extend(encodings(value));
            }
        }
        if known.needles == guard.needles && known.whole == guard.whole {
            return;
        }
        // Leftmost-longest, so that a value that contains another is masked whole. Building fails only for a set far
        // larger than memory; then every text is masked whole (`search` is `None` with needles present).
        known.search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(known.needles.iter()).ok();
        *guard = Arc::new(known);
    }

    /// The text without what must not be shown: known values, what looks like a credential, and what is over 20,000
    /// characters.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.mask_known(&self.known(), text)
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.0.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn mask_known<'a>(&self, known: &Known, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        if known.hides_whole(text) {
            return Cow::Borrowed(REDACTED);
        }
        if let Some(search) = &known.search
            && search.is_match(text)
        {
            let mut out = String::with_capacity(text.len());
            search.replace_all_with(text, &mut out, |_, _, out| {
                out.push_str(REDACTED);
                true
            });
            masked = Cow::Owned(out);
        }
        if let Cow::Owned(text) = pattern::mask(&masked) {
            masked = Cow::Owned(text);
        }
        match masked.char_indices().nth(LONGEST) {
            Some((end, _)) => Cow::Owned(format!("{}[truncated]", masked.get(..end).unwrap_or_default())),
            None => masked,
        }
    }

    /// Writes a value in canonical form, without what must not be in it.
    pub(super) fn write(&self, value: &Value, part: Part, out: &mut String) {
        Writer { redactor: self, known: &self.known(), part }.value(value, false, out);
    }

    /// The same for an object.
    pub(super) fn write_object(&self, object: &Object, part: Part, out: &mut String) {
        Writer { redactor: self, known: &self.known(), part }.object(object, false, out);
    }

    /// Writes a string in canonical form, masked.
    pub(super) fn write_text(&self, text: &str, out: &mut String) {
        ascii_string(&self.mask(text), out);
    }
}

impl Known {
    fn hides_whole(&self, text: &str) -> bool {
        self.whole.contains(text) || (self.search.is_none() && !self.needles.is_empty())
    }

    fn hides_part(&self, text: &str) -> bool {
        self.hides_whole(text) || self.search.as_ref().is_some_and(|search| search.is_match(text))
    }
}

/// One value on its way into a record.
struct Writer<'a> {
    redactor: &'a Redactor,
    known: &'a Known,
    part: Part,
}

impl Writer<'_> {
    /// `token`: it stands under a key that says `token`, where a string of 8 characters or more is one.
    fn value(&self, value: &Value, token: bool, out: &mut String) {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(number) if self.known.hides_part(number.as_str()) => ascii_string(REDACTED, out),
            Value::Number(number) => out.push_str(number.as_str()),
            Value::String(text) => self.text(text, token, out),
            Value::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    self.value(item, token, out);
                }
                out.push(']');
            }
            Value::Object(object) => self.object(object, token, out),
        }
    }

    fn text(&self, text: &str, token: bool, out: &mut String) {
        if token && text.chars().nth(7).is_some() {
            ascii_string(REDACTED, out);
        } else if self.part != Part::Plain && !self.redactor.0.full && text.chars().nth(CONTENT).is_some() {
            content(text.len(), out);
        } else {
            ascii_string(&self.redactor.mask_known(self.known, text), out);
        }
    }

    fn object(&self, object: &Object, token: bool, out: &mut String) {
        let mut members: Vec<_> =
            object.iter().map(|(key, value)| (self.redactor.mask_known(self.known, key), key, value)).collect();
        // UTF-8 sorts as its code points do. Two keys that are the same once masked get a number.
        members.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
        let mut taken = 1_u32;
        let mut before = String::new();
        let mut numbered = false;
        for (key, _, _) in &mut members {
            if **key == *before {
                taken += 1;
                numbered = true;
                key.to_mut().push_str(&format!(" #{taken}"));
            } else {
                taken = 1;
                before = key.to_string();
            }
        }
        if numbered {
            members.sort_by(|one, other| one.0.cmp(&other.0));
        }
        out.push('{');
        for (index, (masked, key, value)) in members.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            ascii_string(&masked, out);
            out.push(':');
            self.member(key, value, token, out);
        }
        out.push('}');
    }

    fn member(&self, key: &str, value: &Value, token: bool, out: &mut String) {
        let promise = pattern::promise(key);
        match value {
            Value::Null | Value::Bool(_) => self.value(value, token, out),
            _ if promise == pattern::Promise::Secret => ascii_string(REDACTED, out),
            _ if promise == pattern::Promise::Token || token => self.value(value, true, out),
            Value::String(text) if self.is_content(key) => content(text.len(), out),
            Value::Number(number) if self.is_content(key) => content(number.as_str().len(), out),
            Value::Array(_) | Value::Object(_) if self.is_content(key) => content(value.to_wire().len(), out),
            _ => self.value(value, token, out),
        }
    }

    fn is_content(&self, key: &str) -> bool {
        !self.redactor.0.full && self.part.is_content(key)
    }
}

/// What stands in place of content: that it was there, and how much.
fn content(bytes: usize, out: &mut String) {
    out.push_str(&format!("\"{REDACTED} ({bytes} bytes)\""));
}

/// The forms in which a value travels: itself, inside JSON, inside a URL, inside base64 (at each of the three ways in
/// which it can lie across groups of three bytes, so also as a part of something longer), in hex.
fn encodings(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([value.to_owned()]);
    if let Ok(json) = serde_json::to_string(value) {
        forms.insert(json.trim_matches('"').replace('/', "\\/"));
        forms.insert(json.get(1..json.len() - 1).unwrap_or_default().to_owned());
    }
    let mut ascii = String::new();
    ascii_string(value, &mut ascii);
    forms.insert(ascii.get(1..ascii.len() - 1).unwrap_or_default().to_owned());

    for keep in ["-_.~", "-_.!~*'()", "-_.~!$&'()*+,;=:@", "-_.*", ""] {
        for space in ["%20", "+"] {
            for lower in [false, true] {
                forms.insert(percent_encoded(value, keep, space, lower));
            }
        }
    }
    for lead in 0..3_usize {
        let mut bytes = vec![0_u8; lead];
        bytes.extend_from_slice(value.as_bytes());
        // Characters at the seams also depend on the neighbours; those in between are the value's alone.
        let first = (lead * 8).div_ceil(6);
        let last = bytes.len() * 8 / 6;
        for text in [BASE64_STANDARD_NO_PAD.encode(&bytes), BASE64_URL_SAFE_NO_PAD.encode(&bytes)] {
            if let Some(inner) = text.get(first..last).filter(|inner| inner.len() >= SHORTEST) {
                forms.insert(inner.to_owned());
            }
        }
    }
    let hex = crate::model::hex(value.as_bytes());
    forms.insert(hex.to_uppercase());
    forms.insert(hex);
    forms.retain(|form| form.chars().count() >= SHORTEST);
    forms
}

fn percent_encoded(value: &str, keep: &str, space: &str, lower: bool) -> String {
    value.bytes().fold(String::with_capacity(value.len()), |mut text, byte| {
        let character = char::from(byte);
        if character.is_ascii_alphanumeric() || (byte.is_ascii() && keep.contains(character)) {
            text.push(character);
        } else if byte == b' ' {
            text.push_str(space);
        } else if lower {
            text.push_str(&format!("%{byte:02x}"));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
        text
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
    use proptest::prelude::*;

    use super::*;
    use crate::model::json::{Limits, parse};

    fn redacted(redactor: &Redactor, part: Part, json: &str) -> String {
        let mut out = String::new();
        redactor.write(&parse(json.as_bytes(), Limits::ARGUMENTS).unwrap(), part, &mut out);
        out
    }

    #[test]
    fn keys_that_promise_a_secret_lose_their_value() {
        let redactor = Redactor::new(true);
        let cases = [
            (r#"{"apiKey":"a"}"#, r#"{"apiKey":"[redacted]"}"#),
            (r#"{"X-API-Key":5}"#, r#"{"X-API-Key":"[redacted]"}"#),
            (r#"{"db_password":["a"]}"#, r#"{"db_password":"[redacted]"}"#),
            (r#"{"credentials":{"user":"a"}}"#, r#"{"credentials":"[redacted]"}"#),
            (r#"{"max_tokens":4096,"token":"short"}"#, r#"{"max_tokens":4096,"token":"short"}"#),
            (r#"{"token":"12345678"}"#, r#"{"token":"[redacted]"}"#),
            (
                r#"{"tokens":[{"value":"12345678","n":12345678}]}"#,
                r#"{"tokens":[{"n":12345678,"value":"[redacted]"}]}"#,
            ),
            (r#"{"secret":null,"cookie":true}"#, r#"{"cookie":true,"secret":null}"#),
            (r#"{"secretary":"Ann","tokenizer":"bpe-large"}"#, r#"{"secretary":"Ann","tokenizer":"bpe-large"}"#),
        ];
        for (input, expected) in cases {
            assert_eq!(redacted(&redactor, Part::Arguments, input), expected);
        }
    }

    #[test]
    fn contents_are_told_by_length_only_unless_the_person_wants_them() {
        let long = "é".repeat(201);
        let input = format!(r#"{{"path":"é.txt","content":"x\u00e9","Body":{{"a":1}},"text":7,"note":"{long}"}}"#);
        assert_eq!(
            redacted(&Redactor::new(false), Part::Arguments, &input),
            r#"{"Body":"[redacted] (7 bytes)","content":"[redacted] (3 bytes)","note":"[redacted] (402 bytes)","path":"\u00e9.txt","text":"[redacted] (1 bytes)"}"#
        );
        assert!(redacted(&Redactor::new(true), Part::Arguments, &input).contains(r#""content":"x\u00e9""#));
        let result = redacted(&Redactor::new(false), Part::Result, r#"{"stdout":"x","command":"ls"}"#);
        assert_eq!(result, r#"{"command":"ls","stdout":"[redacted] (1 bytes)"}"#);
    }

    #[test]
    fn keys_that_are_the_same_once_masked_stay_apart_and_sorted() {
        let redactor = Redactor::new(false);
        redactor.learn(["hunter22", "hunter33"]);
        let out = redacted(&redactor, Part::Arguments, r#"{"hunter22":1,"hunter33":2,"[redacted] !":3}"#);
        let value = parse(out.as_bytes(), Limits::ARGUMENTS).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 3);
        assert_eq!(value.canonical(), out);
    }

    #[test]
    fn a_number_that_is_a_known_secret_is_masked() {
        let redactor = Redactor::new(false);
        redactor.learn(["83719204"]);
        assert_eq!(redacted(&redactor, Part::Arguments, r#"{"pin":83719204,"n":1}"#), r#"{"n":1,"pin":"[redacted]"}"#);
    }

    #[test]
    fn a_short_secret_is_masked_where_it_is_all_there_is() {
        let redactor = Redactor::new(false);
        redactor.learn(["ab"]);
        assert_eq!(redacted(&redactor, Part::Arguments, r#"["ab","table"]"#), r#"["[redacted]","table"]"#);
    }

    #[test]
    fn long_texts_end_with_a_mark() {
        let text = "é".repeat(LONGEST + 1);
        let masked = Redactor::new(true).mask(&text).into_owned();
        assert!(masked.ends_with("é[truncated]"));
        assert_eq!(masked.chars().count(), LONGEST + "[truncated]".len());
        assert!(matches!(Redactor::new(true).mask("short"), Cow::Borrowed("short")));
    }

    /// Values such as people have for passwords and keys.
    fn secret() -> impl Strategy<Value = String> {
        prop_oneof!["[ -~]{6,40}", "[a-zA-Z0-9+/=_-]{8,64}", "\\PC{6,20}"].prop_filter("its own mask", |secret| {
            // What the mask and our own texts are made of cannot be told from the mask.
            secret.trim().len() >= 6 && !"[redacted] #(0123456789 bytes)".contains(secret.as_str())
        })
    }

    fn disguise(secret: &str, before: &str, which: usize) -> String {
        let url = |keep: &str| percent_encoded(secret, keep, "%20", false);
        match which % 8 {
            0 => secret.to_owned(),
            1 => BASE64_STANDARD.encode(secret),
            2 => BASE64_URL_SAFE_NO_PAD.encode(format!("{before}{secret}:tail")),
            3 => BASE64_URL_SAFE.encode(format!("{before}{secret}")),
            4 => url("-_.~"),
            5 => url(""),
            6 => url::form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
            _ => serde_json::to_string(&[secret]).unwrap(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(160))]
        #[test]
        fn a_planted_secret_never_survives(
            secret in secret(),
            before in "[a-z ]{0,7}",
            after in "\\PC{0,10}",
            which in 0_usize..8,
            full: bool,
            place in 0_usize..5,
        ) {
            let redactor = Redactor::new(full);
            redactor.learn([secret.as_str()]);
            let planted = disguise(&secret, &before, which);
            let text = Value::String(format!("{before} {planted}{after}"));
            let mut object = Object::new();
            match place {
                0 => object.insert("path", text),
                1 => object.insert(text.as_str().unwrap(), text.clone()),
                2 => object.insert("list", Value::Array(vec![Value::Null, text])),
                3 => { object.insert("content", text.clone()); object.insert("a", Value::Object(object.clone())) }
                _ => object.insert("deep", Value::Array(vec![Value::Array(vec![Value::Object({
                    let mut inner = Object::new();
                    inner.insert("k", text);
                    inner
                })])])),
            };
            for part in [Part::Arguments, Part::Result, Part::Plain] {
                let mut out = String::new();
                redactor.write_object(&object, part, &mut out);
                let read = parse(out.as_bytes(), Limits::ARGUMENTS).unwrap();
                prop_assert_eq!(read.canonical(), out.clone(), "what is written is canonical");
                let shown = read.to_wire();
                // For base64 the seams may stay: they depend on the neighbours and tell at most two bytes.
                let inner = match which % 8 {
                    1..=3 => planted.get(4..planted.len().saturating_sub(6)).filter(|inner| inner.len() > 6),
                    _ => Some(planted.as_str()),
                };
                for needle in [Some(secret.as_str()), inner].into_iter().flatten() {
                    let mut escaped = String::new();
                    ascii_string(needle, &mut escaped);
                    prop_assert!(!out.contains(escaped.trim_matches('"')) && !shown.contains(needle), "{} in {}", needle, out);
                }
            }
        }

        #[test]
        fn what_is_not_secret_survives(words in prop::collection::vec("[a-z]{1,8}", 1..6)) {
            let text = words.join(" ");
            prop_assert_eq!(Redactor::new(false).mask(&text), text.as_str());
        }
    }
}
