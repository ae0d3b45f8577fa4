//! The hash of a definition, as a tree of hashes: no depth, number or string that a server sends is beyond it.

use sha2::{Digest as _, Sha256};

use crate::model::{Raw, hex, json::Number};

type Hash = [u8; 32];

/// The hash of a tool's definition: lower-case hex SHA-256.
///
/// Each value is hashed by itself, with a letter for its kind: `n`, `t`, `f`; `d` and the number's canonical text; `s`
/// and the string; `a`, the number of items and their hashes; `o`, the number of members, and of each in the order of
/// its name the name's length, the name and the hash of the value. A definition is the object of its parts, those that
/// are absent left out. Linear in the text but for the sorting, and without recursion.
pub fn definition_hash(
    name: &str,
    title: Option<&str>,
    description: Option<&str>,
    input_schema: &Raw,
    output_schema: Option<&Raw>,
    annotations: Option<&Raw>,
) -> String {
    let text = |text: &str| leaf(b's', text.as_bytes());
    let parts = [
        ("annotations", annotations.map(json_hash)),
        ("description", description.map(text)),
        ("inputSchema", Some(json_hash(input_schema))),
        ("name", Some(text(name))),
        ("outputSchema", output_schema.map(json_hash)),
        ("title", title.map(text)),
    ];
    let members = parts.into_iter().filter_map(|(name, hash)| Some((name.as_bytes().to_vec(), hash?)));
    hex(&object(members.collect()))
}

fn leaf(kind: u8, bytes: &[u8]) -> Hash {
    Sha256::new().chain_update([kind]).chain_update(bytes).finalize().into()
}

fn array(items: &[Hash]) -> Hash {
    let mut hasher = Sha256::new().chain_update(b"a").chain_update((items.len() as u64).to_be_bytes());
    items.iter().for_each(|item| hasher.update(item));
    hasher.finalize().into()
}

/// Of equal names the order counts: readers take the first or the last of them.
fn object(mut members: Vec<(Vec<u8>, Hash)>) -> Hash {
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut hasher = Sha256::new().chain_update(b"o").chain_update((members.len() as u64).to_be_bytes());
    for (name, value) in members {
        hasher.update((name.len() as u64).to_be_bytes());
        hasher.update(name);
        hasher.update(value);
    }
    hasher.finalize().into()
}

/// An array or object whose end has not been read.
enum Open {
    Array(Vec<Hash>),
    Object(Vec<(Vec<u8>, Hash)>, Option<Vec<u8>>),
}

/// The hash of a JSON text. The text is well-formed, or it would not be a [`Raw`]; were it not, it would still have one.
fn json_hash(raw: &Raw) -> Hash {
    let mut open: Vec<Open> = Vec::new();
    let mut rest = raw.as_str().as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let value = match byte {
            b'[' => {
                open.push(Open::Array(Vec::new()));
                None
            }
            b'{' => {
                open.push(Open::Object(Vec::new(), None));
                None
            }
            b']' | b'}' => open.pop().map(|container| match container {
                Open::Array(items) => array(&items),
                Open::Object(members, _) => object(members),
            }),
            b'"' => {
                let (text, after) = string(after);
                rest = after;
                if let Some(Open::Object(_, name @ None)) = open.last_mut() {
                    *name = Some(text);
                    continue;
                }
                if let Some(hash) = put(&mut open, leaf(b's', &text)) {
                    return hash;
                }
                continue;
            }
            b'n' | b't' | b'f' => {
                let word = if byte == b'f' { "alse" } else { "rue" };
                rest = after.get(word.len()..).unwrap_or_default();
                if let Some(hash) = put(&mut open, leaf(byte, b"")) {
                    return hash;
                }
                continue;
            }
            b'-' | b'0'..=b'9' => {
                let in_number = |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let (number, after) = rest.split_at(rest.iter().take_while(in_number).count());
                rest = after;
                let number = Number::lenient(std::str::from_utf8(number).unwrap_or_default());
                if let Some(hash) = put(&mut open, leaf(b'd', number.as_str().as_bytes())) {
                    return hash;
                }
                continue;
            }
            _ => None,
        };
        rest = after;
        if let Some(hash) = value.and_then(|value| put(&mut open, value)) {
            return hash;
        }
    }
    leaf(b'?', raw.as_str().as_bytes())
}

/// Puts a finished value into what is open; gives it back if nothing is.
fn put(open: &mut [Open], value: Hash) -> Option<Hash> {
    match open.last_mut() {
        None => return Some(value),
        Some(Open::Array(items)) => items.push(value),
        Some(Open::Object(members, name)) => members.push((name.take().unwrap_or_default(), value)),
    }
    None
}

/// The content of a string, its escapes resolved, and what follows its closing quote. Half a surrogate pair becomes the
/// three bytes that UTF-8 would have for it, if it had.
fn string(mut rest: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut text = Vec::new();
    let mut high: Option<u32> = None;
    loop {
        let Some((&byte, after)) = rest.split_first() else {
            lone(&mut text, high.take());
            return (text, rest);
        };
        rest = after;
        let unit = match byte {
            b'\\' => {
                let (&escape, after) = rest.split_first().unwrap_or((&b'\\', rest));
                rest = after;
                match escape {
                    b'u' => {
                        let (digits, after) = rest.split_at(rest.len().min(4));
                        rest = after;
                        std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok())
                    }
                    b'b' => Some(8),
                    b'f' => Some(12),
                    b'n' => Some(10),
                    b'r' => Some(13),
                    b't' => Some(9),
                    other => Some(other.into()),
                }
            }
            _ => None,
        };
        match (unit, high) {
            (Some(low @ 0xDC00..=0xDFFF), Some(first)) => {
                high = None;
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00);
                push(&mut text, code);
            }
            (Some(first @ 0xD800..=0xDBFF), _) => {
                lone(&mut text, high.replace(first));
            }
            (Some(code), _) => {
                lone(&mut text, high.take());
                push(&mut text, code);
            }
            (None, _) => {
                lone(&mut text, high.take());
                if byte == b'"' {
                    return (text, rest);
                }
                text.push(byte);
            }
        }
    }
}

fn push(text: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(character) => text.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        None => lone(text, Some(code)),
    }
}

fn lone(text: &mut Vec<u8>, surrogate: Option<u32>) {
    if let Some(code) = surrogate {
        let low_bits = |shift: u32| 0x80 | (code >> shift & 0x3F) as u8;
        text.extend([0xE0 | (code >> 12) as u8, low_bits(6), low_bits(0)]);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::json::Value;

    fn hash(text: &str) -> Hash {
        json_hash(&Raw::from_text(text.to_owned()).unwrap())
    }

    fn definition(description: Option<&str>, schema: &str) -> String {
        definition_hash("read", None, description, &Raw::from_text(schema.to_owned()).unwrap(), None, None)
    }

    #[test]
    fn the_order_of_keys_and_white_space_do_not_count() {
        let one = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":[1,2]}}}"#;
        let other = r#"{ "properties": {"b": {"enum": [1, 2]}, "a": {"type": "str\u0069ng"}},
                         "type": "object" }"#;
        assert_eq!(definition(Some("x"), one), definition(Some("x"), other));
    }

    #[test]
    fn every_part_counts() {
        let raw = |text: &str| Raw::from_text(text.to_owned()).unwrap();
        let (schema, other) = (raw("{}"), raw(r#"{"a":1}"#));
        let all = [
            definition_hash("n", None, None, &schema, None, None),
            definition_hash("m", None, None, &schema, None, None),
            definition_hash("n", Some("t"), None, &schema, None, None),
            definition_hash("n", Some(""), None, &schema, None, None),
            definition_hash("n", None, Some("t"), &schema, None, None),
            definition_hash("n", None, None, &other, None, None),
            definition_hash("n", None, None, &schema, Some(&other), None),
            definition_hash("n", None, None, &schema, None, Some(&other)),
        ];
        let different: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert!(all.iter().all(|hash| hash.len() == 64));
    }

    #[test]
    fn a_change_anywhere_changes_the_hash() {
        let texts = [
            "null",
            "true",
            "false",
            "0",
            "1",
            "-1",
            "1.5",
            "\"1\"",
            "\"\"",
            "[]",
            "{}",
            "[[]]",
            "[{}]",
            "[null]",
            "[1,2]",
            "[2,1]",
            "[12]",
            "[\"1,2\"]",
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"b":1}"#,
            r#"{"":1}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":1,"b":{}}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":2,"a":1}"#,
            r#"["\ud800"]"#,
            r#"["\ud801"]"#,
            r#"["\ufffd"]"#,
            "1e400",
            "1e401",
        ];
        let different: std::collections::HashSet<_> = texts.iter().map(|text| hash(text)).collect();
        assert_eq!(different.len(), texts.len());
    }

    #[test]
    fn spelling_does_not_change_the_hash() {
        for (one, other) in [
            ("1.0", "1.00e0"),
            (r#""é/😀""#, r#""\u00e9\/\ud83d\ude00""#),
            (r#""\b\f\n\r\t\"\\""#, r#""\u0008\u000c\u000a\u000d\u0009\u0022\u005c""#),
            ("[ 1 , true ]", "[1,true]"),
        ] {
            assert_eq!(hash(one), hash(other), "{one}");
        }
    }

    #[test]
    fn whatever_a_server_sends_has_a_hash() {
        let deep = format!("{}{}", "[{\"a\":".repeat(100_000), "1".to_owned() + &"}]".repeat(100_000));
        let number = "9".repeat(200_000);
        for text in [deep.as_str(), number.as_str(), r#"{"minimum":-1e999999999,"\ud800":"\udc00\ud83d"}"#] {
            assert_ne!(definition(None, text), definition(None, "{}"));
        }
    }

    /// The hash as the documentation of [`definition_hash`] words it.
    fn by_the_book(value: &Value) -> Hash {
        match value {
            Value::Null => leaf(b'n', b""),
            Value::Bool(bool) => leaf(if *bool { b't' } else { b'f' }, b""),
            Value::Number(number) => leaf(b'd', number.as_str().as_bytes()),
            Value::String(text) => leaf(b's', text.as_bytes()),
            Value::Array(items) => array(&items.iter().map(by_the_book).collect::<Vec<_>>()),
            Value::Object(members) => {
                object(members.iter().map(|(name, value)| (name.as_bytes().to_vec(), by_the_book(value))).collect())
            }
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            (-1e9..1e9).prop_map(Into::into),
            "\\PC{0,6}".prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::btree_map("[a-cé\"\\\\]{0,3}", inner, 0..5)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_reader_of_text_and_the_book_agree(value in any_json()) {
            let text = value.to_string();
            let read = Raw::from_text(text.clone()).unwrap().value(crate::model::json::Limits::FOREIGN).unwrap();
            prop_assert_eq!(hash(&text), by_the_book(&read));
            prop_assert_eq!(hash(&read.pretty()), by_the_book(&read));
            prop_assert_eq!(hash(&read.canonical()), by_the_book(&read));
        }
    }
}
