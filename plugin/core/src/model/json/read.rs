//! The strict reader: RFC 8259, and nothing that two readers could understand differently.

use std::{
    collections::{HashSet, hash_map::RandomState},
    fmt,
    hash::BuildHasher,
};

use super::{Number, Object, Value, escape_segment};

/// How much nesting is accepted, and how exact numbers and strings must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The deepest nesting of arrays and objects; at most [`Limits::DEEPEST`].
    pub max_depth: usize,
    /// Whether numbers without a canonical form are kept as they are written, and half surrogate pairs (as JavaScript
    /// writes them when it cuts a string) read as U+FFFD, instead of being refused.
    pub lenient: bool,
}

impl Limits {
    /// No limit is greater: the readers and writers recurse.
    pub const DEEPEST: usize = 512;
    /// What is accepted as the arguments of a call.
    pub const ARGUMENTS: Self = Self { max_depth: 128, lenient: false };
    /// What a server may answer or define.
    pub const FOREIGN: Self = Self { max_depth: 128, lenient: true };
}

/// Why a text is not accepted, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} (line {line}, column {column})")]
pub struct SyntaxError {
    /// What is wrong.
    pub kind: SyntaxKind,
    /// The JSON pointer of the value that is wrong or was being read.
    pub pointer: String,
    /// Where, in bytes from the start.
    pub offset: usize,
    /// Where, counted from 1.
    pub line: usize,
    /// Where, in bytes, counted from 1.
    pub column: usize,
}

/// What can be wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "`Display` says what each means")]
pub enum SyntaxKind {
    InvalidUtf8,
    UnexpectedEnd,
    Unexpected { found: char, expected: &'static str },
    TrailingText,
    TooDeep { limit: usize },
    DuplicateKey(String),
    LoneSurrogate,
    ControlCharacter,
    InvalidEscape,
    InvalidNumber,
    NumberTooLong,
    NumberNotExact(String),
}

impl fmt::Display for SyntaxKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUtf8 => f.write_str("the text is not valid UTF-8"),
            Self::UnexpectedEnd => f.write_str("the text ends in the middle of a value"),
            Self::Unexpected { found, expected } => {
                write!(f, "found `{}` where {expected} was expected", found.escape_debug())
            }
            Self::TrailingText => f.write_str("there is more text after the value"),
            Self::TooDeep { limit } => write!(f, "arrays and objects are nested deeper than {limit} levels"),
            Self::DuplicateKey(key) => write!(f, "the key `{}` is there twice", key.escape_debug()),
            Self::LoneSurrogate => f.write_str("a `\\u` escape is half of a surrogate pair"),
            Self::ControlCharacter => f.write_str("a string contains a control character that is not escaped"),
            Self::InvalidEscape => f.write_str("a string contains an unknown escape"),
            Self::InvalidNumber => f.write_str("a number is not written as JSON writes numbers"),
            Self::NumberTooLong => write!(f, "a number has more than {} digits", Number::MAX_DIGITS),
            Self::NumberNotExact(number) => write!(
                f,
                "the number `{number}` would be sent as another number; write it with the digits that a double \
                 holds, or as a string"
            ),
        }
    }
}

/// Reads one value.
pub fn parse(text: &[u8], limits: Limits) -> Result<Value, SyntaxError> {
    Reader::read(text, limits)
}

/// Whether [`parse`] would accept the text, without building the value.
pub fn check(text: &[u8], limits: Limits) -> Result<(), SyntaxError> {
    Reader::read(text, limits)
}

/// What a reader makes of what it reads.
trait Build: Sized {
    fn null() -> Self;
    fn bool(bool: bool) -> Self;
    fn number(number: Number) -> Self;
    fn string(text: String) -> Self;
    fn array(items: Vec<Self>) -> Self;
    fn object(members: Vec<(String, Self)>) -> Self;
}

impl Build for Value {
    fn null() -> Self {
        Self::Null
    }
    fn bool(bool: bool) -> Self {
        Self::Bool(bool)
    }
    fn number(number: Number) -> Self {
        Self::Number(number)
    }
    fn string(text: String) -> Self {
        Self::String(text)
    }
    fn array(items: Vec<Self>) -> Self {
        Self::Array(items)
    }
    fn object(members: Vec<(String, Self)>) -> Self {
        Self::Object(Object(members))
    }
}

impl Build for () {
    fn null() {}
    fn bool(_: bool) {}
    fn number(_: Number) {}
    fn string(_: String) {}
    fn array(_: Vec<()>) {}
    fn object(_: Vec<(String, ())>) {}
}

/// An error on its way up: the pointer is put together backwards.
struct Failure {
    kind: SyntaxKind,
    offset: usize,
    segments: Vec<String>,
}

impl Failure {
    fn inside(mut self, segment: impl FnOnce() -> String) -> Self {
        self.segments.push(segment());
        self
    }
}

type Read<T> = Result<T, Failure>;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    limits: Limits,
}

impl<'a> Reader<'a> {
    fn read<B: Build>(bytes: &'a [u8], limits: Limits) -> Result<B, SyntaxError> {
        let read = || {
            let text = std::str::from_utf8(bytes).map_err(|error| Failure {
                kind: SyntaxKind::InvalidUtf8,
                offset: error.valid_up_to(),
                segments: Vec::new(),
            })?;
            let limits = Limits { max_depth: limits.max_depth.min(Limits::DEEPEST), ..limits };
            let mut reader = Self { text, at: 0, limits };
            reader.skip_blanks();
            let value = reader.value(0)?;
            reader.skip_blanks();
            if reader.peek().is_some() { Err(reader.fail(SyntaxKind::TrailingText)) } else { Ok(value) }
        };
        read().map_err(|failure: Failure| {
            let before = bytes.get(..failure.offset).unwrap_or(bytes);
            let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
            let mut pointer = String::new();
            for segment in failure.segments.iter().rev() {
                pointer.push('/');
                pointer.push_str(&escape_segment(segment));
            }
            SyntaxError {
                kind: failure.kind,
                pointer,
                offset: failure.offset,
                line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
                column: before.len() - line_start + 1,
            }
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fail(&self, kind: SyntaxKind) -> Failure {
        Failure { kind, offset: self.at, segments: Vec::new() }
    }

    /// The failure of finding something else, or nothing, here.
    fn unexpected(&self, expected: &'static str) -> Failure {
        let found = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        self.fail(found.map_or(SyntaxKind::UnexpectedEnd, |found| SyntaxKind::Unexpected { found, expected }))
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// A value of which nothing, blanks included, has been read.
    fn value<B: Build>(&mut self, depth: usize) -> Read<B> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(B::string),
            Some(b'-' | b'0'..=b'9') => self.number().map(B::number),
            Some(b't') => self.word("true", B::bool(true)),
            Some(b'f') => self.word("false", B::bool(false)),
            Some(b'n') => self.word("null", B::null()),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn word<B>(&mut self, word: &'static str, value: B) -> Read<B> {
        for byte in word.bytes() {
            if !self.eat(byte) {
                return Err(self.unexpected(word));
            }
        }
        Ok(value)
    }

    fn enter(&mut self, depth: usize) -> Read<usize> {
        if depth >= self.limits.max_depth {
            return Err(self.fail(SyntaxKind::TooDeep { limit: self.limits.max_depth }));
        }
        self.at += 1;
        self.skip_blanks();
        Ok(depth + 1)
    }

    fn array<B: Build>(&mut self, depth: usize) -> Read<B> {
        let depth = self.enter(depth)?;
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(B::array(items));
        }
        loop {
            items.push(self.value(depth).map_err(|failure| failure.inside(|| items.len().to_string()))?);
            self.skip_blanks();
            if self.eat(b']') {
                return Ok(B::array(items));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
            self.skip_blanks();
        }
    }

    fn object<B: Build>(&mut self, depth: usize) -> Read<B> {
        let depth = self.enter(depth)?;
        let mut members: Vec<(String, B)> = Vec::new();
        let mut names = Names::default();
        if self.eat(b'}') {
            return Ok(B::object(members));
        }
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key = self.string()?;
            if names.is_repeated(&key, &members) {
                let kind = SyntaxKind::DuplicateKey(key.chars().take(64).collect());
                return Err(Failure { kind, offset: start, segments: Vec::new() }.inside(|| key));
            }
            self.skip_blanks();
            if !self.eat(b':') {
                return Err(self.unexpected("`:`").inside(|| key));
            }
            self.skip_blanks();
            match self.value(depth) {
                Ok(value) => members.push((key, value)),
                Err(failure) => return Err(failure.inside(|| key)),
            }
            self.skip_blanks();
            if self.eat(b'}') {
                return Ok(B::object(members));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
            self.skip_blanks();
        }
    }

    fn number(&mut self) -> Read<Number> {
        let start = self.at;
        self.eat(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.fail(SyntaxKind::InvalidNumber)),
        }
        if self.eat(b'.') {
            self.at_least_one_digit()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.at_least_one_digit()?;
        }
        // `01`, `1.2.3`, `1x`: said of the number, not of what follows it.
        if matches!(self.peek(), Some(b'0'..=b'9' | b'.' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'+' | b'-')) {
            return Err(self.fail(SyntaxKind::InvalidNumber));
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if self.limits.lenient {
            return Ok(Number::lenient(text));
        }
        Number::canonical(text).map_err(|kind| Failure { kind, offset: start, segments: Vec::new() })
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn at_least_one_digit(&mut self) -> Read<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.fail(SyntaxKind::InvalidNumber));
        }
        self.digits();
        Ok(())
    }

    /// A string whose opening quote is here.
    fn string(&mut self) -> Read<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let plain = rest.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')).unwrap_or(rest.len());
            text.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.fail(SyntaxKind::ControlCharacter)),
                None => return Err(self.fail(SyntaxKind::UnexpectedEnd)),
            }
        }
    }

    /// An escape whose backslash is here.
    fn escape(&mut self) -> Read<char> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            Some(_) => return Err(self.fail(SyntaxKind::InvalidEscape)),
            None => return Err(self.fail(SyntaxKind::UnexpectedEnd)),
        };
        self.at += 1;
        Ok(plain)
    }

    /// A `\u` escape, or a pair of them, whose `u` is here.
    fn unicode(&mut self, start: usize) -> Read<char> {
        let lone = |reader: &Self| {
            if reader.limits.lenient {
                return Ok(char::REPLACEMENT_CHARACTER);
            }
            Err(Failure { kind: SyntaxKind::LoneSurrogate, offset: start, segments: Vec::new() })
        };
        let first = self.unit()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        if first >= 0xDC00 || !self.text.get(self.at..).unwrap_or_default().starts_with("\\u") {
            return lone(self);
        }
        let behind_first = self.at;
        self.at += 1;
        let second = self.unit()?;
        if !(0xDC00..0xE000).contains(&second) {
            // The second escape stands for itself: it is read again.
            self.at = behind_first;
            return lone(self);
        }
        let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        char::from_u32(code).map_or_else(|| lone(self), Ok)
    }

    /// Four hex digits behind the `u` that is here.
    fn unit(&mut self) -> Read<u32> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let Some(byte) = self.peek() else { return Err(self.fail(SyntaxKind::UnexpectedEnd)) };
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(self.fail(SyntaxKind::InvalidEscape));
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }
}

/// Finds a repeated key without looking at all the others each time and without a copy of them.
#[derive(Default)]
struct Names {
    state: RandomState,
    hashes: HashSet<u64>,
}

impl Names {
    /// Up to here, looking is cheaper than hashing.
    const FEW: usize = 8;

    /// Whether `key` is among `members`, the keys given before.
    fn is_repeated<B>(&mut self, key: &str, members: &[(String, B)]) -> bool {
        let look = || members.iter().any(|(name, _)| name == key);
        if members.len() < Self::FEW {
            return look();
        }
        if self.hashes.is_empty() {
            self.hashes.extend(members.iter().map(|(name, _)| self.state.hash_one(name.as_str())));
        }
        // The hash is keyed at random: two different keys do not share one by design, and if by chance, it is looked at.
        !self.hashes.insert(self.state.hash_one(key)) && look()
    }
}

/// Takes over a value that `serde_json` has read.
pub(super) fn from_serde(value: &serde_json::Value, depth_left: usize) -> Result<Value, SyntaxError> {
    let fail = |kind| SyntaxError { kind, pointer: String::new(), offset: 0, line: 1, column: 1 };
    let inside = |segment: &str, mut error: SyntaxError| {
        error.pointer.insert_str(0, &format!("/{}", escape_segment(segment)));
        error
    };
    let deeper =
        || depth_left.checked_sub(1).ok_or_else(|| fail(SyntaxKind::TooDeep { limit: Limits::ARGUMENTS.max_depth }));
    Ok(match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(bool) => Value::Bool(*bool),
        serde_json::Value::Number(number) => Value::Number(Number::canonical(&number.to_string()).map_err(fail)?),
        serde_json::Value::String(text) => Value::String(text.clone()),
        serde_json::Value::Array(items) => {
            let depth = deeper()?;
            let items = items.iter().enumerate();
            Value::Array(
                items
                    .map(|(index, item)| from_serde(item, depth).map_err(|error| inside(&index.to_string(), error)))
                    .collect::<Result<_, _>>()?,
            )
        }
        serde_json::Value::Object(members) => {
            let depth = deeper()?;
            let read = |(key, member): (&String, &serde_json::Value)| match from_serde(member, depth) {
                Ok(member) => Ok((key.clone(), member)),
                Err(error) => Err(inside(key, error)),
            };
            Value::Object(Object(members.iter().map(read).collect::<Result<_, _>>()?))
        }
    })
}
