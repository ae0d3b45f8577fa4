//! Values that must not be seen: the port they come from, and which names promise one.

use crate::{error::Result, model::ServerId, store};

pub use crate::store::Secret as SecretValue;

/// Where `${secret:id}` and `${input:id}` come from.
///
/// A secret is usable only by the entry it was created for: an implementation answers `None` for anybody else's.
pub trait SecretSource: Send + Sync {
    /// The secret `id` of that server; `None` if there is none.
    fn secret(&self, server: &ServerId, id: &str) -> Result<Option<SecretValue>>;

    /// What the person answered for `${input:id}` of that server, if they did.
    fn input(&self, server: &ServerId, id: &str) -> Result<Option<SecretValue>> {
        let _ = (server, id);
        Ok(None)
    }
}

impl SecretSource for store::Secrets {
    fn secret(&self, server: &ServerId, id: &str) -> Result<Option<SecretValue>> {
        self.get(id, server)
    }
}

/// Knows no secret.
#[derive(Clone, Copy, Debug)]
pub struct NoSecrets;

impl SecretSource for NoSecrets {
    fn secret(&self, _: &ServerId, _: &str) -> Result<Option<SecretValue>> {
        Ok(None)
    }
}

/// Whether a field of that name usually holds a secret: an environment variable, a header, a query parameter.
///
/// The name is split into words at `-`, `_`, `.`, spaces and changes from lower to upper case.
pub fn name_promises_secret(name: &str) -> bool {
    let words = words(name);
    let has = |word: &str| words.iter().any(|have| have == word);
    let pair =
        |first: &str, second: &str| words.windows(2).any(|two| matches!(two, [a, b] if a == first && b == second));
    const ALONE: [&str; 14] = [
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "credential",
        "credentials",
        "authorization",
        "cookie",
        "apikey",
        "pat",
        "bearer",
        "secrets",
        "tokens",
    ];
    ALONE.iter().any(|word| has(word))
        || pair("api", "key")
        || pair("access", "key")
        || pair("private", "key")
        || pair("session", "id")
        || pair("auth", "key")
        || pair("account", "key")
        || pair("encryption", "key")
        || pair("signing", "key")
        || pair("service", "key")
        || pair("subscription", "key")
}

fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    for char in name.chars() {
        let boundary = before.is_some_and(|before| before.is_lowercase() && char.is_uppercase());
        if (boundary || !char.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if char.is_alphanumeric() {
            word.extend(char.to_lowercase());
        }
        before = Some(char);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_promise_a_secret_are_recognised_in_every_spelling() {
        for name in [
            "API_KEY",
            "OPENAI_API_KEY",
            "apiKey",
            "x-api-key",
            "Authorization",
            "Proxy-Authorization",
            "GITHUB_PERSONAL_ACCESS_TOKEN",
            "githubToken",
            "DB_PASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "Cookie",
            "session-id",
        ] {
            assert!(name_promises_secret(name), "{name}");
        }
        for name in
            ["PATH", "NODE_OPTIONS", "MONKEY", "KEYBOARD", "TOKENIZERS_PARALLELISM", "HOME", "Accept", "PATTERN"]
        {
            assert!(!name_promises_secret(name), "{name}");
        }
    }
}
