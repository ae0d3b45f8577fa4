//! Ids: which server, which call.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Lower-case hex of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A server's id: `[a-z0-9][a-z0-9_-]{0,31}`, without `__`, so that `mcp.<server>.<tool>` splits at its first two dots.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, specta::Type)]
#[serde(try_from = "String", into = "String")]
#[specta(type = String)]
pub struct ServerId(Arc<str>);

impl ServerId {
    /// The id of the tools that the application itself registers; never a configured server's.
    pub const LOCAL: &'static str = "local";

    /// Reads an id as it was configured or sent.
    pub fn parse(text: &str) -> Result<Self> {
        let bytes = text.as_bytes();
        let word = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let valid = bytes.len() <= 32
            && bytes.first().is_some_and(word)
            && bytes.iter().all(|byte| word(byte) || matches!(byte, b'_' | b'-'))
            && !text.contains("__");
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(Error::ServerNotFound { server: text.chars().take(64).collect() })
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ServerId {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<ServerId> for String {
    fn from(id: ServerId) -> Self {
        id.as_str().to_owned()
    }
}

/// One request of a caller, from `requested` to its outcome: 128 random bits in hex.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(transparent)]
pub struct CallId(String);

impl CallId {
    /// A new one. Fails only where the operating system gives no randomness.
    pub fn random() -> Result<Self> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(Error::internal)?;
        Ok(Self(hex(&bytes)))
    }

    /// One that the caller made, for example the document's own id of a call that it may cancel.
    pub fn from_caller(text: &str) -> Result<Self> {
        let valid =
            (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::invalid_input("/callId", "`callId` must be 1 to 64 letters, digits or `-`"))
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
