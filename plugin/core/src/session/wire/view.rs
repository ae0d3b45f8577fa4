//! Reading JSON text that has been scanned: members, items, scalars, one level at a time, without building a tree.
//!
//! Everything here answers `None` or nothing where a value has another type. Lone surrogates (a text that was cut in the
//! middle of an emoji) become U+FFFD instead of spoiling the value.

use std::borrow::Cow;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "JSON's own names")]
pub(in crate::session) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// The type of a value, by its first character.
pub(in crate::session) fn kind(raw: &str) -> Kind {
    match raw.trim_start().as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'-' | b'0'..=b'9') => Kind::Number,
        _ => Kind::Null,
    }
}

/// The members of an object, in order; none for another type.
pub(in crate::session) fn entries(raw: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    let mut cursor = Cursor::inside(raw, b'{');
    std::iter::from_fn(move || {
        let key = key(cursor.value()?);
        let value = cursor.value()?;
        Some((key, value))
    })
}

/// One member of an object.
pub(in crate::session) fn member<'a>(raw: &'a str, name: &str) -> Option<&'a str> {
    entries(raw).find(|(key, _)| key == name).map(|(_, value)| value)
}

/// The items of an array, in order; none for another type.
pub(in crate::session) fn items(raw: &str) -> impl Iterator<Item = &str> {
    let mut cursor = Cursor::inside(raw, b'[');
    std::iter::from_fn(move || cursor.value())
}

/// A string's text.
pub(in crate::session) fn text(raw: &str) -> Option<String> {
    (kind(raw) == Kind::String).then(|| key(raw.trim()).into_owned())
}

/// A boolean.
pub(in crate::session) fn boolean(raw: &str) -> Option<bool> {
    match raw.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// A finite number, rounded as a double is.
pub(in crate::session) fn number(raw: &str) -> Option<f64> {
    (kind(raw) == Kind::Number).then(|| raw.trim().parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}

/// An integer, also one that is written as `5.0`.
pub(in crate::session) fn integer(raw: &str) -> Option<i64> {
    /// Above this a double does not tell neighbours apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let exact = || number(raw).filter(|number| number.fract() == 0.0 && number.abs() <= EXACT).map(|n| n as i64);
    raw.trim().parse().ok().or_else(exact)
}

/// The text between the quotes of a string, escapes resolved.
pub(super) fn key(quoted: &str) -> Cow<'_, str> {
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (character, length) = unescape(escape);
        out.push(character);
        rest = escape.get(length..).unwrap_or("");
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character that an escape at the start of `text` stands for, and how many bytes it takes.
fn unescape(text: &str) -> (char, usize) {
    let unit = |from: usize| text.get(from..from + 4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    match text.as_bytes().get(1) {
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'n') => ('\n', 2),
        Some(b'r') => ('\r', 2),
        Some(b't') => ('\t', 2),
        Some(b'u') => {
            let first = unit(2).unwrap_or(0xFFFD);
            if (0xD800..0xDC00).contains(&first)
                && text.get(6..8) == Some("\\u")
                && let Some(second @ 0xDC00..0xE000) = unit(8)
            {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
            }
            (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
        }
        Some(&byte) => (char::from(byte), 2),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

/// `text`, at most `limit` bytes of it, cut between characters.
pub(in crate::session) fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let end = (0..=limit).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

/// Walks over the values inside one container, keys being values too.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn inside(raw: &'a str, open: u8) -> Self {
        let text = raw.trim();
        let at = if text.as_bytes().first() == Some(&open) { 1 } else { text.len() };
        Self { text, at }
    }

    /// The next value, whatever punctuation stands before it.
    fn value(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b':')) {
            self.at += 1;
        }
        let from = self.at;
        match bytes.get(from)? {
            b'}' | b']' => return None,
            b'"' => self.skip_string(),
            b'{' | b'[' => {
                let mut depth = 0_usize;
                loop {
                    match bytes.get(self.at)? {
                        b'"' => {
                            self.skip_string();
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
            }
            _ => {
                while !matches!(
                    bytes.get(self.at),
                    None | Some(b',' | b':' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n')
                ) {
                    self.at += 1;
                }
            }
        }
        self.text.get(from..self.at)
    }

    fn skip_string(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => self.at += 1,
                _ => {}
            }
        }
        self.at = self.at.min(bytes.len());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_and_items_are_seen_as_written() {
        let raw = r#" { "a" : [1, {"x":"]}"} , "\"" ] ,"b":{},"\u0063":-1.50e3 , "d":"\\" } "#;
        let seen: Vec<_> = entries(raw).map(|(key, value)| (key.into_owned(), value)).collect();
        let expected = [("a", r#"[1, {"x":"]}"} , "\"" ]"#), ("b", "{}"), ("c", "-1.50e3"), ("d", r#""\\""#)];
        assert_eq!(seen, expected.map(|(key, value)| (key.to_owned(), value)));
        let array = member(raw, "a").unwrap();
        assert_eq!(items(array).collect::<Vec<_>>(), ["1", r#"{"x":"]}"}"#, r#""\"""#]);
        assert_eq!(entries("[1]").count() + items("{}").count() + items("7").count() + entries("\"{\"").count(), 0);
    }

    #[test]
    fn a_lone_surrogate_is_replaced_and_a_pair_is_a_character() {
        assert_eq!(text(r#""a\ud83d\ude00b""#).unwrap(), "a😀b");
        assert_eq!(text(r#""cut \ud83d""#).unwrap(), "cut \u{fffd}");
        assert_eq!(text(r#""\ud83d\u0041""#).unwrap(), "\u{fffd}A");
        assert_eq!(text(r#""\ude00x""#).unwrap(), "\u{fffd}x");
    }

    #[test]
    fn integers_are_integers_however_they_are_written() {
        assert_eq!(integer("5"), Some(5));
        assert_eq!(integer("-5.0"), Some(-5));
        assert_eq!(integer("5e2"), Some(500));
        assert_eq!(integer("5.5"), None);
        assert_eq!(integer("1e300"), None);
        assert_eq!(integer("\"5\""), None);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("a😀".to_owned(), 3), "a");
        assert_eq!(cut("abc".to_owned(), 3), "abc");
    }

    proptest! {
        #[test]
        fn a_string_is_read_as_serde_writes_it(value in any::<String>()) {
            let raw = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(text(&raw), Some(value));
        }

        #[test]
        fn no_text_upsets_it(raw in any::<String>()) {
            let _ = (entries(&raw).count(), items(&raw).count(), text(&raw), number(&raw), integer(&raw), kind(&raw));
        }

        #[test]
        fn no_broken_json_upsets_it(raw in "[\\[\\]{}\",:\\\\u0-9 a-z]{0,60}") {
            let _ = (entries(&raw).count(), items(&raw).count(), text(&raw));
        }
    }
}
