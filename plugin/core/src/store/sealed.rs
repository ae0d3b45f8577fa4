//! A store: one JSON file that carries a revision and proves that this product wrote it.
//!
//! Two kinds, of the same form: *signed* (readable; HMAC-SHA256) for rules, pins, confirmations and modes, and
//! *encrypted* (XChaCha20-Poly1305) for secrets and tokens. Both are bound to the file's name, so that one cannot stand
//! in for another. A store that is unreadable, damaged or signed by another key gives `config_invalid` and is left as it
//! is; nothing is allowed by it until the person has dealt with it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::{
    Folders, MasterKey,
    file::{self, Lock, Stamp},
};
use crate::error::{Error, Result};

/// How the names of stores end.
pub(super) const SUFFIX: &str = ".store.json";

/// No store of ours comes near this; what is larger is not ours.
const LIMIT: u64 = 16 * 1024 * 1024;

/// What was in a store at one moment.
#[derive(Debug)]
pub struct Snapshot<T> {
    /// Counts the changes; 0 = there is no file yet.
    pub revision: u64,
    /// The data.
    pub value: Arc<T>,
}

impl<T> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Self { revision: self.revision, value: Arc::clone(&self.value) }
    }
}

/// One store file. Cheap to clone; clones share what they have read.
#[derive(Debug)]
pub struct Sealed<T>(Arc<Inner<T>>);

impl<T> Clone for Sealed<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
struct Inner<T> {
    /// The file.
    path: PathBuf,
    /// Beside it: keeps two writers apart.
    lock: PathBuf,
    /// What the keys are derived for.
    purpose: String,
    encrypted: bool,
    key: MasterKey,
    /// What was read last.
    cache: Mutex<Option<Seen<T>>>,
}

/// What was read, an error too, and what the file looked like then.
type Seen<T> = (Option<Stamp>, Result<Snapshot<T>>);

/// The file as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope<'a> {
    /// 1.
    version: u32,
    /// Of the master key.
    key_id: String,
    revision: u64,
    /// Of a signed store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hmac: Option<String>,
    /// Of an encrypted store; base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
    /// The data, or one base64 string.
    #[serde(borrow)]
    data: &'a RawValue,
}

impl<T: Serialize + DeserializeOwned + Default> Sealed<T> {
    /// A store that anybody may read and only we can write: `<name>.store.json`. Touches no file.
    pub fn signed(folders: &Folders, name: &str, key: &MasterKey) -> Self {
        Self::new(folders, name, key, false)
    }

    /// A store that only we can read.
    pub fn encrypted(folders: &Folders, name: &str, key: &MasterKey) -> Self {
        Self::new(folders, name, key, true)
    }

    fn new(folders: &Folders, name: &str, key: &MasterKey, encrypted: bool) -> Self {
        Self(Arc::new(Inner {
            path: folders.config().join(format!("{name}{SUFFIX}")),
            lock: folders.config().join(format!("{name}.lock")),
            purpose: format!("mcp-host/1/store/{}/{name}", if encrypted { "encrypted" } else { "signed" }),
            encrypted,
            key: key.clone(),
            cache: Mutex::new(None),
        }))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What is in the store now: one `stat` while nobody, in this process or another, has changed it.
    ///
    /// # Errors
    /// `config_invalid` naming the file, and the line where there is one, if it cannot be read or does not verify.
    pub fn current(&self) -> Result<Snapshot<T>> {
        let mut cache = self.0.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((stamp, result)) = cache.as_ref()
            && Stamp::still_holds(stamp.as_ref(), &self.0.path)
        {
            return result.clone();
        }
        let (stamp, mut result) = self.read();
        if let (Ok(new), Some((_, Ok(old)))) = (&result, cache.as_ref())
            && new.revision < old.revision
        {
            // Denials may be gone with it. Stays so until this process ends: what was seen cannot be unseen.
            return Err(
                self.invalid("it was removed, or replaced by an older copy, while the host ran; restart the host")
            );
        }
        if let (Ok(new), Some((_, Ok(old)))) = (&mut result, cache.as_ref())
            && new.revision == old.revision
        {
            *new = old.clone();
        }
        *cache = Some((stamp, result.clone()));
        result
    }

    /// Changes the store under the lock between processes: reads it again, applies `change`, writes it with the next
    /// revision. A change that changes nothing writes nothing. If `change` fails, or the file cannot be written, the
    /// old file stays.
    ///
    /// `change` must be quick and must not touch this store again.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let _lock = Lock::acquire(&self.0.lock)?;
        let before = self.current()?;
        let old = Zeroizing::new(self.encode(&before.value)?);
        // A copy of our own to work on, in place of a `Clone` bound.
        let mut value: T = serde_json::from_str(&old).map_err(Error::internal)?;
        let outcome = change(&mut value)?;
        let new = Zeroizing::new(self.encode(&value)?);
        if *old == *new {
            return Ok(outcome);
        }
        let revision = before.revision + 1;
        let bytes = self.seal(revision, &new)?;
        file::replace(&self.0.path, bytes.as_bytes()).map_err(|error| file::cannot("write", &self.0.path, &error))?;
        let stamp = file::read(&self.0.path, LIMIT).ok().flatten().map(|(_, stamp)| stamp);
        let mut cache = self.0.cache.lock().unwrap_or_else(PoisonError::into_inner);
        *cache = Some((stamp, Ok(Snapshot { revision, value: Arc::new(value) })));
        Ok(outcome)
    }

    fn encode(&self, value: &T) -> Result<String> {
        // Signed text is for a person to read, and the signature is over exactly this text.
        let text = if self.0.encrypted { serde_json::to_string(value) } else { serde_json::to_string_pretty(value) };
        text.map_err(Error::internal)
    }

    fn read(&self) -> (Option<Stamp>, Result<Snapshot<T>>) {
        match file::read(&self.0.path, LIMIT) {
            Ok(Some((bytes, stamp))) => (Some(stamp), self.open(&Zeroizing::new(bytes))),
            Ok(None) => (None, Ok(Snapshot { revision: 0, value: Arc::new(T::default()) })),
            // No stamp, so that the next look tries again.
            Err(error) => (None, Err(file::cannot("read", &self.0.path, &error))),
        }
    }

    fn open(&self, bytes: &[u8]) -> Result<Snapshot<T>> {
        let damaged = |line: usize, problem: &dyn std::fmt::Display| {
            self.invalid(&format!("line {line}: {problem}; put back a good copy, or move it away to start over"))
        };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            damaged(1 + good.iter().filter(|byte| **byte == b'\n').count(), &"it is not UTF-8 text")
        })?;
        let envelope: Envelope<'_> =
            serde_json::from_str(text).map_err(|error| damaged(error.line(), &Plain(&error)))?;
        if envelope.version != 1 {
            return Err(self.invalid("a newer version of the host wrote it; use that one"));
        }
        if envelope.key_id != self.0.key.id() {
            return Err(self.invalid(&format!(
                "it was signed with another key (`{}`, this folder has `{}`); confirm your settings anew, or put back \
                 the key",
                envelope.key_id.chars().filter(char::is_ascii_hexdigit).take(8).collect::<String>(),
                self.0.key.id()
            )));
        }
        let raw = envelope.data.get();
        let changed =
            || self.invalid("it was changed by something else than the host; put back a good copy, or move it away");
        let plain;
        let (data, first_line) = if self.0.encrypted {
            plain = self.decrypt(&envelope).ok_or_else(changed)?;
            (std::str::from_utf8(&plain).map_err(|_| changed())?, 1)
        } else {
            let revision = envelope.revision.to_be_bytes();
            let tag = envelope.hmac.as_deref().unwrap_or_default();
            if !self.0.key.verify(&self.0.purpose, &[&revision, raw.as_bytes()], tag) {
                return Err(changed());
            }
            let offset = raw.as_ptr() as usize - text.as_ptr() as usize;
            let before = text.as_bytes().get(..offset).unwrap_or_default();
            (raw, 1 + before.iter().filter(|byte| **byte == b'\n').count())
        };
        let value = serde_json::from_str(data).map_err(|error| {
            // What serde says of a decrypted value could quote it.
            let problem: &dyn std::fmt::Display =
                if self.0.encrypted { &"a field has an unexpected form" } else { &Plain(&error) };
            damaged(first_line + error.line().saturating_sub(1), problem)
        })?;
        Ok(Snapshot { revision: envelope.revision, value: Arc::new(value) })
    }

    fn seal(&self, revision: u64, data: &str) -> Result<String> {
        let (hmac, nonce, data) = if self.0.encrypted {
            let mut nonce = [0_u8; 24];
            getrandom::fill(&mut nonce).map_err(Error::internal)?;
            let payload = Payload { msg: data.as_bytes(), aad: &revision.to_be_bytes() };
            let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload).map_err(Error::internal)?;
            let data = format!("\"{}\"", BASE64_STANDARD.encode(sealed));
            (None, Some(BASE64_STANDARD.encode(nonce)), data)
        } else {
            let tag = self.0.key.authenticate(&self.0.purpose, &[&revision.to_be_bytes(), data.as_bytes()]);
            (Some(tag), None, data.to_owned())
        };
        let raw: &RawValue = serde_json::from_str(&data).map_err(Error::internal)?;
        let key_id = self.0.key.id().to_owned();
        let envelope = Envelope { version: 1, key_id, revision, hmac, nonce, data: raw };
        serde_json::to_string_pretty(&envelope).map(|text| text + "\n").map_err(Error::internal)
    }

    fn decrypt(&self, envelope: &Envelope<'_>) -> Option<Zeroizing<Vec<u8>>> {
        let nonce: [u8; 24] = BASE64_STANDARD.decode(envelope.nonce.as_deref()?).ok()?.try_into().ok()?;
        let sealed = BASE64_STANDARD.decode(envelope.data.get().trim_matches('"')).ok()?;
        let payload = Payload { msg: &sealed, aad: &envelope.revision.to_be_bytes() };
        self.cipher().decrypt(&XNonce::from(nonce), payload).ok().map(Zeroizing::new)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        let key = self.0.key.derive(&self.0.purpose);
        XChaCha20Poly1305::new((&*key).into())
    }

    fn invalid(&self, problem: &str) -> Error {
        let name = self.0.path.file_name().unwrap_or_default().to_string_lossy();
        Error::ConfigInvalid {
            message: format!("the store `{name}` cannot be used, so nothing is allowed by it: {problem}"),
            path: None,
            key: None,
            allowed: Vec::new(),
            private: Some(self.0.path.display().to_string()),
        }
    }
}

/// A serde error without its own "at line … column …": ours counts from the start of the file.
struct Plain<'a>(&'a serde_json::Error);

impl std::fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.0.to_string();
        f.write_str(text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use proptest::prelude::*;

    use super::*;

    type Store = Sealed<BTreeMap<String, u32>>;

    struct Place {
        _outer: tempfile::TempDir,
        folders: Folders,
        key: MasterKey,
    }

    fn place() -> Place {
        let outer = tempfile::tempdir().unwrap();
        let folders = Folders::at(&outer.path().join("host")).unwrap();
        let key = MasterKey::open(&folders).unwrap();
        Place { _outer: outer, folders, key }
    }

    fn set(store: &Store, name: &str, value: u32) -> Result<()> {
        store.update(|data| {
            data.insert(name.to_owned(), value);
            Ok(())
        })
    }

    #[test]
    fn another_process_sees_a_change_at_its_next_look() {
        let at = place();
        let (one, two) = (Store::signed(&at.folders, "policy", &at.key), Store::signed(&at.folders, "policy", &at.key));
        assert_eq!(two.current().unwrap().revision, 0);
        set(&one, "a", 1).unwrap();
        assert_eq!(two.current().unwrap().value.get("a"), Some(&1));
        set(&two, "a", 2).unwrap();
        let seen = one.current().unwrap();
        assert_eq!((seen.revision, seen.value.get("a")), (2, Some(&2)));
    }

    #[test]
    fn concurrent_changes_all_arrive() {
        let at = place();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let store = Store::signed(&at.folders, "policy", &at.key);
                scope.spawn(move || (0..10).for_each(|step| set(&store, &format!("{thread}-{step}"), 1).unwrap()));
            }
        });
        let end = Store::signed(&at.folders, "policy", &at.key).current().unwrap();
        assert_eq!((end.revision, end.value.len()), (40, 40));
    }

    #[test]
    fn a_change_that_fails_or_changes_nothing_writes_nothing() {
        let at = place();
        let store = Store::signed(&at.folders, "policy", &at.key);
        set(&store, "a", 1).unwrap();
        let before = fs::read(store.path()).unwrap();
        set(&store, "a", 1).unwrap();
        let failed: Result<()> = store.update(|data| {
            data.clear();
            Err(Error::invalid_input("", "no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(store.path()).unwrap(), before);
        assert_eq!(store.current().unwrap().revision, 1);
    }

    #[test]
    fn an_edited_store_is_refused_and_left_as_it_is() {
        let at = place();
        for store in [Store::signed(&at.folders, "policy", &at.key), Store::encrypted(&at.folders, "secrets", &at.key)]
        {
            set(&store, "a", 1).unwrap();
            let good = fs::read_to_string(store.path()).unwrap();
            let edits = [
                good.replace("\"revision\": 1", "\"revision\": 2"),
                good.replace("\"a\": 1", "\"a\": 2"),
                good.replace("\"a\": 1", "\"a\":  1"),
                good.replace("\"version\": 1", "\"version\": 9"),
                good.replace(at.key.id(), "00000000"),
                good[..good.len() / 2].to_owned(),
                String::new(),
                format!("{good}x"),
            ];
            for edit in edits.into_iter().filter(|edit| *edit != good) {
                fs::write(store.path(), &edit).unwrap();
                for fresh in [&store.clone(), &Sealed(Arc::new(clone_of(&store)))] {
                    let error = fresh.current().unwrap_err();
                    assert_eq!(error.code(), crate::ErrorCode::ConfigInvalid, "{edit}");
                    assert!(error.to_string().contains(".store.json"), "{error}");
                    assert!(set(fresh, "b", 1).is_err());
                }
                assert_eq!(fs::read_to_string(store.path()).unwrap(), edit);
            }
            fs::write(store.path(), &good).unwrap();
            assert_eq!(store.current().unwrap().value.get("a"), Some(&1), "a good copy works again");
        }
    }

    fn clone_of(store: &Store) -> Inner<BTreeMap<String, u32>> {
        let old = &store.0;
        Inner {
            path: old.path.clone(),
            lock: old.lock.clone(),
            purpose: old.purpose.clone(),
            encrypted: old.encrypted,
            key: old.key.clone(),
            cache: Mutex::new(None),
        }
    }

    #[test]
    fn an_error_names_the_line() {
        let at = place();
        let store = Store::signed(&at.folders, "policy", &at.key);
        set(&store, "a", 1).unwrap();
        let good = fs::read_to_string(store.path()).unwrap();
        let line = 1 + good.lines().position(|line| line.contains("\"a\"")).unwrap();
        fs::write(store.path(), good.replace("\"a\": 1", "\"a\": oops")).unwrap();
        let message = store.current().unwrap_err().to_string();
        assert!(message.contains(&format!("line {line}:")), "{message}");

        // Signed, well-formed, and not what this store holds: the line is the file's, not the data's.
        fs::remove_file(store.path()).unwrap();
        let text = Sealed::<serde_json::Value>::signed(&at.folders, "policy", &at.key);
        text.update(|data| {
            *data = serde_json::json!({ "a": "text" });
            Ok(())
        })
        .unwrap();
        let line = 1 + fs::read_to_string(text.path()).unwrap().lines().position(|line| line.contains("text")).unwrap();
        let message = Store::signed(&at.folders, "policy", &at.key).current().unwrap_err().to_string();
        assert!(message.contains(&format!("line {line}:")), "{message}");
    }

    #[test]
    fn a_store_that_vanishes_or_goes_back_while_we_run_is_not_an_empty_one() {
        let at = place();
        let store = Store::signed(&at.folders, "policy", &at.key);
        set(&store, "deny", 1).unwrap();
        let first = fs::read(store.path()).unwrap();
        set(&store, "deny", 2).unwrap();
        fs::write(store.path(), first).unwrap();
        assert!(store.current().unwrap_err().to_string().contains("older copy"));
        fs::remove_file(store.path()).unwrap();
        assert!(store.current().is_err());
        assert!(set(&store, "deny", 3).is_err());
    }

    #[test]
    fn one_store_cannot_stand_in_for_another() {
        let at = place();
        let (pins, policy) =
            (Store::signed(&at.folders, "pins", &at.key), Store::signed(&at.folders, "policy", &at.key));
        set(&pins, "a", 1).unwrap();
        fs::copy(pins.path(), policy.path()).unwrap();
        assert!(policy.current().is_err());
    }

    #[test]
    fn an_encrypted_store_shows_nothing_of_its_data() {
        let at = place();
        let store = Store::encrypted(&at.folders, "secrets", &at.key);
        set(&store, "visible-name", 424_242).unwrap();
        let text = fs::read_to_string(store.path()).unwrap();
        assert!(!text.contains("visible") && !text.contains("424242"));
        let foreign = Store::encrypted(&at.folders, "secrets", &MasterKey::for_tests(3));
        assert!(foreign.current().unwrap_err().to_string().contains("another key"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn what_was_stored_is_read_back(data: BTreeMap<String, u32>, encrypted: bool) {
            let at = place();
            let store = Store::new(&at.folders, "any", &at.key, encrypted);
            store.update(|held| { held.clone_from(&data); Ok(()) }).unwrap();
            let fresh = Store::new(&at.folders, "any", &at.key, encrypted);
            prop_assert_eq!(&*fresh.current().unwrap().value, &data);
        }

        #[test]
        fn one_flipped_byte_never_passes_for_other_data(position: prop::sample::Index, flip in 1_u8..=255, encrypted: bool) {
            let at = place();
            let store = Store::new(&at.folders, "any", &at.key, encrypted);
            set(&store, "a", 77).unwrap();
            let mut bytes = fs::read(store.path()).unwrap();
            let position = position.index(bytes.len());
            bytes[position] ^= flip;
            fs::write(store.path(), bytes).unwrap();
            if let Ok(seen) = Store::new(&at.folders, "any", &at.key, encrypted).current() {
                // White space between the fields may differ; what is said may not.
                prop_assert_eq!((seen.revision, seen.value.get("a")), (1, Some(&77)));
            }
        }
    }
}
