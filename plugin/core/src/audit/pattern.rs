//! What looks like a credential: names that promise one, and texts that are one.
//!
//! Pure functions for `redact`; nothing is known here of particular secrets. Expressions run in linear time on any
//! input. Better one word too many masked than one key in a log.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex, RegexSet};

use super::redact::REDACTED;

/// What a field's name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// Nothing.
    Nothing,
    /// A token, if it is a string of 8 characters or more (`max_tokens` is a number).
    Token,
    /// A secret, whatever it is.
    Secret,
}

/// What the name promises, after splitting camelCase, `-`, `_` and the like into words.
pub(super) fn promise(name: &str) -> Promise {
    /// One word is enough.
    const WORDS: [&str; 14] = [
        "apikey",
        "authorization",
        "cookie",
        "credential",
        "passwd",
        "password",
        "passphrase",
        "privatekey",
        "secret",
        "secretkey",
        "clientsecret",
        "sessionid",
        "accesstoken",
        "refreshtoken",
    ];
    /// Two in a row.
    const PAIRS: [[&str; 2]; 7] = [
        ["api", "key"],
        ["private", "key"],
        ["session", "id"],
        ["access", "token"],
        ["refresh", "token"],
        ["auth", "token"],
        ["bearer", "token"],
    ];
    let words = words(name);
    let is = |word: &str, pattern: &str| word == pattern || word.strip_suffix('s') == Some(pattern);
    let alone = words.iter().any(|word| WORDS.iter().any(|pattern| is(word, pattern)));
    let paired = words.windows(2).any(|two| match two {
        [first, second] => PAIRS.iter().any(|[one, other]| first == one && is(second, other)),
        _ => false,
    });
    if alone || paired {
        Promise::Secret
    } else if words.iter().any(|word| is(word, "token")) {
        Promise::Token
    } else {
        Promise::Nothing
    }
}

/// Lower-case words: split at what is no letter or digit, before digits, at `aB`, and at `ABc` before the last.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut characters = name.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(character) = characters.next() {
        if !character.is_alphabetic() {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            before = None;
            continue;
        }
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let boundary = before.is_some_and(|before| {
            character.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_lower))
        });
        if boundary {
            words.push(std::mem::take(&mut word));
        }
        word.extend(character.to_lowercase());
        before = Some(character);
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// What is put in place of a match.
type Replace = fn(&Captures<'_>) -> String;

/// One kind of text that is a credential.
struct Pattern {
    expression: Regex,
    replace: Replace,
}

/// In the order in which they are applied: whole blocks first, then what has a shape, then what has a name.
const PATTERNS: &[(&str, Replace)] = &[
    (r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)", |_| whole()),
    (r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\x22?\s*[:=]\s*)[^\r\n]+", |found| {
        format!("{}{}{REDACTED}", group(found, 1), group(found, 2))
    }),
    (r"(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/=-]{8,}", |found| {
        format!("{}{}{REDACTED}", group(found, 1), group(found, 2))
    }),
    (r"\b[spr]k[-_][A-Za-z0-9_-]{8,}", |_| whole()),
    (r"\b(?:gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-)[A-Za-z0-9_-]{6,}", |_| whole()),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{12,}", |_| whole()),
    (r"\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*", |_| whole()),
    (r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#]*@", |found| format!("{}{REDACTED}@", group(found, 1))),
    (r"([?&;#])([^=&;#\s?]{1,128})=([^&#\s\x22'<>]+)", |found| {
        let name = group(found, 2);
        // A name may be written in percent-encoding; what it decodes to counts as well.
        let decoded = percent_decoded(name);
        let secret = match promise(name).max(promise(&decoded)) {
            Promise::Secret => true,
            Promise::Token => group(found, 3).len() >= 8,
            Promise::Nothing => ["key", "sig", "signature", "code", "auth", "pwd"].contains(&&*decoded.to_lowercase()),
        };
        if secret { format!("{}{name}={REDACTED}", group(found, 1)) } else { group(found, 0).to_owned() }
    }),
    (
        r#"(?i)((?:api[_-]?key|token|secret|passw(?:or)?d|pwd)\\?["']?\s*=\s*\\?)("[^"]*"?|'[^']*'?|[^\s"'&,;\\]+)"#,
        |found| format!("{}{REDACTED}", group(found, 1)),
    ),
    (
        r#"(?i)((?:api[_-]?key|token|secret|passw(?:or)?d|pwd)(?:\\?["'])?\s*:\s*\\?)("[^"]*"?|'[^']*'?|[^\s"'&,;\\]{8,})"#,
        |found| format!("{}{REDACTED}", group(found, 1)),
    ),
];

impl Promise {
    fn max(self, other: Self) -> Self {
        if self as u8 >= other as u8 { self } else { other }
    }
}

fn whole() -> String {
    REDACTED.to_owned()
}

fn group<'t>(found: &Captures<'t>, index: usize) -> &'t str {
    found.get(index).map_or("", |found| found.as_str())
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if text.contains('%') {
        let parsed = url::form_urlencoded::parse(text.as_bytes()).next();
        parsed.map_or(Cow::Borrowed(text), |(name, _)| Cow::Owned(name.into_owned()))
    } else {
        Cow::Borrowed(text)
    }
}

/// All of [`PATTERNS`], compiled; a test proves that every one compiles.
static COMPILED: LazyLock<(RegexSet, Vec<Pattern>)> = LazyLock::new(|| {
    let patterns: Vec<_> = PATTERNS
        .iter()
        .filter_map(|(text, replace)| Some(Pattern { expression: Regex::new(text).ok()?, replace: *replace }))
        .collect();
    let set = RegexSet::new(patterns.iter().map(|pattern| pattern.expression.as_str())).unwrap_or_default();
    (set, patterns)
});

/// The text with every credential masked; borrowed where there is none.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    let (set, patterns) = &*COMPILED;
    let mut masked = Cow::Borrowed(text);
    // One pass says which can match at all; replacing may only take away from what the others see.
    for index in set.matches(text) {
        let Some(pattern) = patterns.get(index) else { continue };
        if let Cow::Owned(text) = pattern.expression.replace_all(&masked, pattern.replace) {
            masked = Cow::Owned(text);
        }
    }
    masked
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        assert_eq!(COMPILED.1.len(), PATTERNS.len());
        assert_eq!(COMPILED.0.len(), PATTERNS.len());
    }

    #[test]
    fn names_are_read_in_every_spelling() {
        for name in [
            "api key",
            "apiKey",
            "APIKey",
            "api-key",
            "API_KEY",
            "apikey",
            "x-api-key2",
            "Authorization",
            "setCookie",
            "cookies",
            "credentials",
            "passwd",
            "userPassword",
            "PASSWORD1",
            "privateKey",
            "private_key_pem",
            "secret",
            "clientSecret",
            "client_secret",
            "sessionId",
            "SessionID",
            "session-id",
            "accessToken",
            "refresh_tokens",
            "authToken",
            "bearer-token",
            "db.password",
        ] {
            assert_eq!(promise(name), Promise::Secret, "{name}");
        }
        for name in ["token", "maxTokens", "max_tokens", "X-Token", "token_type"] {
            assert_eq!(promise(name), Promise::Token, "{name}");
        }
        for name in ["secretary", "tokenizer", "key", "session", "path", "", "---", "passport", "id"] {
            assert_eq!(promise(name), Promise::Nothing, "{name}");
        }
    }

    #[test]
    fn what_looks_like_a_credential_is_masked_in_any_text() {
        let cases = [
            ("Authorization: Basic dXNlcjpwYXNz x", "Authorization: [redacted]"),
            ("sent Bearer abc.def-123_456 to it", "sent Bearer [redacted] to it"),
            ("key sk-proj-abcdEFGH1234 leaked", "key [redacted] leaked"),
            ("ghp_abcDEF123456, github_pat_11ABCDEFG_xyz", "[redacted], [redacted]"),
            ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
            ("t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_123 end", "t=[redacted] end"),
            ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n[redacted]\nb"),
            ("-----BEGIN PRIVATE KEY-----\nMIIE cut", "[redacted]"),
            ("https://user:pa@ss@host/x", "https://[redacted]@host/x"),
            ("postgres://u:p@db:5432/x?sslmode=on", "postgres://[redacted]@db:5432/x?sslmode=on"),
            ("https://h/p?a=1&access_token=zz&sig=ab#x", "https://h/p?a=1&access_token=[redacted]&sig=[redacted]#x"),
            ("https://h/p?api%5Fkey=zz1&b=2", "https://h/p?api%5Fkey=[redacted]&b=2"),
            ("MY_API_KEY=abc def", "MY_API_KEY=[redacted] def"),
            ("--password='two words' -x", "--password=[redacted] -x"),
            (r#"{"password":"a b","n":1}"#, r#"{"password":[redacted],"n":1}"#),
            (r#"{\"secret\":\"a-b\",\"n\":1}"#, r#"{\"secret\":\[redacted],\"n\":1}"#),
            ("X-Api-Key: 0123456789abc", "X-Api-Key: [redacted]"),
        ];
        for (input, expected) in cases {
            assert_eq!(mask(input), expected);
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "Unexpected token < in JSON at position 0",
            "token: expired",
            "https://example.com/a@b?page=2&q=x#frag",
            "mail ann@example.com about the secret garden",
            "skipped; risk-based; task-12345678 of desk-abcdefgh",
            "bearer of news",
            "the password must have 8 letters",
            "/home/me/notes/today.md",
        ] {
            assert_eq!(mask(text), text);
            assert!(matches!(mask(text), Cow::Borrowed(_)) || text.contains('?'));
        }
    }
}
