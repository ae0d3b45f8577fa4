//! One pass over a message: is it JSON, has it a key twice, is it too deep, and where are the members of its envelope.

use std::collections::HashSet;

use super::{Fault, MAX_DEPTH, view};

/// The members of a message that mean something to JSON-RPC, as JSON text.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::session) struct Envelope<'a> {
    pub(super) jsonrpc: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) method: Option<&'a str>,
    pub(super) params: Option<&'a str>,
    pub(super) result: Option<&'a str>,
    pub(super) error: Option<&'a str>,
}

/// Scans one message.
pub(super) fn envelope(text: &str) -> Result<Envelope<'_>, Fault> {
    let mut scan = Scan { text, at: 0 };
    let mut envelope = Envelope::default();
    scan.space();
    if scan.peek() != Some(b'{') {
        scan.value(0)?;
        scan.end()?;
        return Err(Fault::NotAMessage);
    }
    scan.object(|scan, key| {
        let from = scan.at;
        scan.value(0)?;
        let value = scan.text.get(from..scan.at);
        match key {
            "jsonrpc" => envelope.jsonrpc = value,
            "id" => envelope.id = value,
            "method" => envelope.method = value,
            "params" => envelope.params = value,
            "result" => envelope.result = value,
            "error" => envelope.error = value,
            _ => {}
        }
        Ok(())
    })?;
    scan.end()?;
    Ok(envelope)
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn fault<T>(&self) -> Result<T, Fault> {
        Err(Fault::Syntax(self.at))
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return self.fault();
        }
        self.at += 1;
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.space();
        if self.at == self.text.len() { Ok(()) } else { self.fault() }
    }

    /// A value inside `depth` containers.
    fn value(&mut self, depth: usize) -> Result<(), Fault> {
        match self.peek() {
            Some(b'{') => {
                let inside = deeper(depth)?;
                self.object(|scan, _| scan.value(inside))
            }
            Some(b'[') => {
                let inside = deeper(depth)?;
                self.array(inside)
            }
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.fault(),
        }
    }

    fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut keys = Keys::default();
        self.expect(b'{')?;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = view::key(self.string()?);
            keys.add(&key)?;
            self.space();
            self.expect(b':')?;
            self.space();
            member(self, &key)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.fault(),
            }
            self.space();
        }
    }

    fn array(&mut self, inside: usize) -> Result<(), Fault> {
        self.expect(b'[')?;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(inside)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.fault(),
            }
            self.space();
        }
    }

    /// A string with its quotes.
    fn string(&mut self) -> Result<&'a str, Fault> {
        let from = self.at;
        self.expect(b'"')?;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return self.text.get(from..self.at).ok_or(Fault::Syntax(from));
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                                    return self.fault();
                                }
                                self.at += 1;
                            }
                        }
                        _ => return self.fault(),
                    }
                }
                Some(0x20..) => self.at += 1,
                _ => return self.fault(),
            }
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == from { self.fault() } else { Ok(()) }
    }

    fn word(&mut self, word: &str) -> Result<(), Fault> {
        if self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            Ok(())
        } else {
            self.fault()
        }
    }
}

fn deeper(depth: usize) -> Result<usize, Fault> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(Fault::TooDeep) }
}

/// The keys of one object. Most have a handful, for which a set costs more than looking.
#[derive(Default)]
struct Keys {
    few: Vec<String>,
    many: HashSet<String>,
}

impl Keys {
    const FEW: usize = 12;

    fn add(&mut self, key: &str) -> Result<(), Fault> {
        let new = if self.few.len() < Self::FEW {
            let new = !self.few.iter().any(|have| have == key);
            self.few.push(key.to_string());
            new
        } else {
            if self.many.is_empty() {
                self.many.extend(self.few.iter().cloned());
            }
            self.many.insert(key.to_string())
        };
        if new { Ok(()) } else { Err(Fault::DuplicateKey(view::cut(key.to_string(), 64))) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    /// What a value is nested in, so that the scanner sees it as a result.
    fn scan(value: &str) -> Result<String, Fault> {
        envelope(&format!(r#"{{"result":{value}}}"#)).map(|envelope| envelope.result.unwrap_or("").to_owned())
    }

    #[test]
    fn a_key_written_twice_is_found_wherever_and_however_it_is_written() {
        let many: String = (0..40).map(|n| format!("\"k{n}\":0,")).collect();
        for value in [
            r#"{"a":1,"a":2}"#.to_owned(),
            r#"[{"b":{"a":1,"c":0,"a":1}}]"#.to_owned(),
            r#"{"a":1,"\u0061":2}"#.to_owned(),
            format!(r#"{{{many}"k3":1}}"#),
            format!(r#"{{{many}"k39":1}}"#),
        ] {
            assert!(matches!(scan(&value), Err(Fault::DuplicateKey(_))), "{value}");
        }
        assert!(matches!(envelope(r#"{"id":1,"id":2}"#), Err(Fault::DuplicateKey(key)) if key == "id"));
        assert!(scan(&format!(r#"{{{many}"k40":{{"k1":1}}}}"#)).is_ok());
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            any::<bool>().prop_map(|b| b.to_string()),
            any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| f.to_string()),
            any::<i64>().prop_map(|n| n.to_string()),
            any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(" , "))),
                prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|members| {
                    let members = members.iter().map(|(k, v)| format!("{}:{v}", serde_json::to_string(k).unwrap()));
                    format!("{{ {} }}", members.collect::<Vec<_>>().join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_json_is_taken_as_it_is(value in json()) {
            let seen = scan(&value);
            prop_assert_eq!(seen, Ok(value));
        }

        #[test]
        fn what_the_scanner_takes_and_what_serde_takes_is_the_same(
            value in json(), at in any::<prop::sample::Index>(), with in "[ \\[\\]{}\",:\\\\u0-9eE.+a-z\\x00-\\x1f-]?"
        ) {
            // One character replaced: most are broken, some are not.
            let mut chars: Vec<String> = value.chars().map(String::from).collect();
            let index = at.index(chars.len());
            chars[index] = with;
            let broken = chars.concat();
            let theirs = serde_json::from_str::<&RawValue>(&broken).is_ok();
            match scan(&broken) {
                // `1,"x":2` is fine where it is put in, and no value by itself.
                Ok(seen) => prop_assert!(theirs || seen != broken.trim(), "{}", broken),
                Err(Fault::DuplicateKey(_) | Fault::TooDeep) => {}
                Err(_) => prop_assert!(!theirs, "{}", broken),
            }
        }

        #[test]
        fn no_bytes_upset_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = super::super::read(&bytes);
        }
    }
}
