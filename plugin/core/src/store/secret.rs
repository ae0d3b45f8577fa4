//! What `${secret:id}` in servers.json stands for. Encrypted; each secret belongs to the one entry it was made for, so
//! that a shared file cannot carry off another server's.
//!
//! `config` reads values to start a server, `audit` to mask them. Names may be listed; a value never leaves through an
//! error, a log, `Debug` or serde of anything but the encrypted file.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Folders, MasterKey, Sealed};
use crate::{
    error::{Error, Result},
    model::ServerId,
};

/// A value that must not be shown. Wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a value over.
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value itself. Give it to nothing that stores, shows or logs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// What may be told of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretName {
    /// As in `${secret:id}`.
    pub id: String,
    /// The only entry that may use it.
    pub server: ServerId,
    /// When it was set.
    pub created_at: Timestamp,
}

/// The inside of the encrypted file. Keeps what a newer version may add beside the secrets.
#[derive(Default, Serialize, Deserialize)]
struct Vault {
    #[serde(default)]
    secrets: BTreeMap<String, Entry>,
    #[serde(flatten)]
    other: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    server: ServerId,
    value: Value,
    created_at: Timestamp,
}

/// A secret as the vault writes it: the one place where serde sees the value.
#[derive(Clone)]
struct Value(Secret);

impl Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose())
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|value| Self(Secret::new(value)))
    }
}

/// The secrets of a folder. Cheap to clone.
#[derive(Clone)]
pub struct Secrets(Sealed<Vault>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.0.path()).finish()
    }
}

/// The longest secret; more is a file, not a secret.
const LONGEST: usize = 64 * 1024;

impl Secrets {
    /// Over the file `secrets.store.json`. Touches no file.
    pub fn new(folders: &Folders, key: &MasterKey) -> Self {
        Self(Sealed::encrypted(folders, "secrets", key))
    }

    /// Counts the changes.
    pub fn revision(&self) -> Result<u64> {
        Ok(self.0.current()?.revision)
    }

    /// What there is, by name.
    pub fn list(&self) -> Result<Vec<SecretName>> {
        let vault = self.0.current()?;
        let names = vault.value.secrets.iter().map(|(id, entry)| SecretName {
            id: id.clone(),
            server: entry.server.clone(),
            created_at: entry.created_at,
        });
        Ok(names.collect())
    }

    /// The value for the entry `server`. `None`: there is none of that name, or it is another entry's.
    pub fn get(&self, id: &str, server: &ServerId) -> Result<Option<Secret>> {
        let vault = self.0.current()?;
        let entry = vault.value.secrets.get(id).filter(|entry| entry.server == *server);
        Ok(entry.map(|entry| entry.value.0.clone()))
    }

    /// Sets a value. A name that another entry uses is refused: taking it over would hand it that entry's reference.
    pub fn put(&self, id: &str, server: &ServerId, value: Secret, now: Timestamp) -> Result<()> {
        let word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
        if id.is_empty() || id.len() > 64 || !id.chars().all(word) {
            return Err(Error::invalid_input("/id", "a secret's name is 1 to 64 letters, digits, `-`, `_` or `.`"));
        }
        if value.expose().is_empty() || value.expose().len() > LONGEST {
            return Err(Error::invalid_input("/value", "a secret has 1 to 65,536 bytes"));
        }
        self.0.update(|vault| match vault.secrets.get(id) {
            Some(entry) if entry.server != *server => Err(Error::invalid_input(
                "/id",
                format!("the secret `{id}` belongs to server `{}`; choose another name", entry.server),
            )),
            _ => {
                let entry = Entry { server: server.clone(), value: Value(value), created_at: now };
                vault.secrets.insert(id.to_owned(), entry);
                Ok(())
            }
        })
    }

    /// Removes one. Says whether it was there.
    pub fn remove(&self, id: &str) -> Result<bool> {
        self.0.update(|vault| Ok(vault.secrets.remove(id).is_some()))
    }

    /// Removes what belongs to an entry, and names it.
    pub fn remove_of(&self, server: &ServerId) -> Result<Vec<String>> {
        self.0.update(|vault| {
            let mut gone = Vec::new();
            vault.secrets.retain(|id, entry| {
                let keep = entry.server != *server;
                gone.extend((!keep).then(|| id.clone()));
                keep
            });
            Ok(gone)
        })
    }

    /// Every value, for masking them wherever they appear.
    pub fn values(&self) -> Result<Vec<Secret>> {
        let vault = self.0.current()?;
        Ok(vault.value.secrets.values().map(|entry| entry.value.0.clone()).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn id(text: &str) -> ServerId {
        ServerId::parse(text).unwrap()
    }

    #[test]
    fn a_secret_is_usable_only_by_the_entry_it_was_made_for() {
        let outer = tempfile::tempdir().unwrap();
        let folders = Folders::at(&outer.path().join("host")).unwrap();
        let secrets = Secrets::new(&folders, &MasterKey::open(&folders).unwrap());
        let put = |name: &str, server: &str, value: &str| {
            secrets.put(name, &id(server), Secret::new(value.to_owned()), Timestamp::UNIX_EPOCH)
        };
        put("token", "files", "hunter2hunter2").unwrap();
        assert_eq!(secrets.get("token", &id("files")).unwrap().unwrap().expose(), "hunter2hunter2");
        assert_eq!(secrets.get("token", &id("evil")).unwrap(), None);
        assert!(put("token", "evil", "x").is_err(), "taking a name over");
        assert!(put("to ken", "files", "x").is_err());
        assert!(put("empty", "files", "").is_err());
        put("token", "files", "second-value").unwrap();
        put("other", "web", "w").unwrap();

        let names: Vec<_> = secrets.list().unwrap().into_iter().map(|name| (name.id, name.server)).collect();
        assert_eq!(names, [("other".to_owned(), id("web")), ("token".to_owned(), id("files"))]);
        let file = std::fs::read_to_string(folders.config().join("secrets.store.json")).unwrap();
        assert!(!file.contains("second") && !file.contains("token"));
        assert!(!format!("{secrets:?}{:?}", secrets.values().unwrap()).contains("second"));

        assert_eq!(secrets.remove_of(&id("files")).unwrap(), ["token"]);
        assert!(!secrets.remove("token").unwrap());
        assert!(secrets.remove("other").unwrap());
        assert!(secrets.list().unwrap().is_empty());
    }
}
