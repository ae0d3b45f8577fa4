//! The master key: 32 random bytes, one for each folder, made once and never again.
//!
//! The file `key` says where it is, in two lines: the key in hex, or `keychain:<id>`; then `id:<8 hex>`, the public name
//! of the key that logs and stores carry. Everything else is derived from it with HKDF-SHA256 (RFC 5869), so no two
//! uses share a key. What must never happen: a second key in a folder that already has stores.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{Folders, file, keychain};
use crate::{
    error::{Error, Result},
    model::hex,
};

/// Where the key is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In the system's keychain.
    Keychain,
    /// In the file itself, and why not in the keychain; to be shown as a warning.
    File {
        /// In words, for the person.
        why: String,
    },
}

impl KeyPlace {
    /// `keychain` or `file`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Keychain => "keychain",
            Self::File { .. } => "file",
        }
    }
}

/// The master key of one folder. Cheap to clone; wiped when the last clone is dropped.
#[derive(Clone)]
pub struct MasterKey(Arc<Inner>);

struct Inner {
    /// Of which all others are derived.
    bytes: Zeroizing<[u8; 32]>,
    /// Eight hex digits.
    id: String,
    place: KeyPlace,
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKey").field("id", &self.0.id).field("place", &self.0.place).finish_non_exhaustive()
    }
}

impl MasterKey {
    /// Makes the folders ready, and the folder's key where there is none. Blocks, at most for the lock and the keychain's five seconds.
    ///
    /// # Errors
    /// `config_invalid`: the keychain is locked, the file is damaged, or it is missing although there are stores.
    pub fn open(folders: &Folders) -> Result<Self> {
        folders.prepare()?;
        let path = folders.config().join("key");
        if let Some(key) = Self::read(&path)? {
            return Ok(key);
        }
        let _lock = file::Lock::acquire(&folders.config().join("key.lock"))?;
        // Another process may have made it while we waited.
        match Self::read(&path)? {
            Some(key) => Ok(key),
            None => Self::create(folders, &path),
        }
    }

    /// The folder's key, where there is one. Writes nothing.
    pub fn existing(folders: &Folders) -> Result<Option<Self>> {
        Self::read(&folders.config().join("key"))
    }

    fn create(folders: &Folders, path: &Path) -> Result<Self> {
        if let Some(orphan) = sealed_file(folders) {
            return Err(invalid(
                format!(
                    "the file `key` is missing, and `{}` was signed with it; put the key back, or move the stores and \
                     logs away to start over",
                    orphan.file_name().unwrap_or_default().to_string_lossy()
                ),
                path,
            ));
        }
        let mut bytes = Zeroizing::new([0_u8; 32]);
        getrandom::fill(bytes.as_mut_slice()).map_err(Error::internal)?;
        let mut id = [0_u8; 4];
        getrandom::fill(&mut id).map_err(Error::internal)?;
        let id = hex(&id);
        let place = if folders.is_chosen() {
            KeyPlace::File { why: "a folder given by --config-dir keeps its own key".to_owned() }
        } else {
            match keychain::put(&id, bytes.as_slice()) {
                Ok(()) => KeyPlace::Keychain,
                Err(why) => KeyPlace::File { why: format!("the keychain could not be used when it was made: {why}") },
            }
        };
        let text = match &place {
            KeyPlace::Keychain => Zeroizing::new(format!("keychain:{id}\nid:{id}\n")),
            KeyPlace::File { why } => {
                tracing::warn!("the master key is kept in a file: {why}");
                let key = Zeroizing::new(hex(bytes.as_slice()));
                Zeroizing::new(format!("{}\nid:{id}\n", key.as_str()))
            }
        };
        file::replace(path, text.as_bytes()).map_err(|error| file::cannot("write", path, &error))?;
        Ok(Self(Arc::new(Inner { bytes, id, place })))
    }

    fn read(path: &Path) -> Result<Option<Self>> {
        let text = match file::read(path, 4096) {
            Ok(Some((bytes, _))) => Zeroizing::new(bytes),
            Ok(None) => return Ok(None),
            Err(error) => return Err(file::cannot("read", path, &error)),
        };
        close_to_others(path)?;
        let damaged = |line: u32| {
            invalid(
                format!("the file `key` is damaged in line {line}; put back the one that the stores were signed with"),
                path,
            )
        };
        let text = std::str::from_utf8(&text).map_err(|_| damaged(1))?;
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let id = lines.next().and_then(|line| line.strip_prefix("id:")).unwrap_or_default();
        if id.len() != 8 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(damaged(2));
        }
        let (bytes, place) = match first.strip_prefix("keychain:") {
            Some(entry) => {
                let bytes = keychain::get(entry).map_err(|why| {
                    invalid(
                        format!(
                            "keychain locked: the key of our stores could not be read ({why}); unlock the keychain (a \
                             session without a desktop has none) and try again"
                        ),
                        path,
                    )
                })?;
                (decode_bytes(&bytes), KeyPlace::Keychain)
            }
            None => (
                decode_hex(first),
                KeyPlace::File {
                    why: "it was made without a keychain, or for a folder given by --config-dir".to_owned(),
                },
            ),
        };
        let bytes = bytes.ok_or_else(|| damaged(1))?;
        Ok(Some(Self(Arc::new(Inner { bytes, id: id.to_owned(), place }))))
    }

    /// The key's public name: eight hex digits.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Where it is kept.
    pub fn place(&self) -> &KeyPlace {
        &self.0.place
    }

    /// A key for one purpose. The same purpose always gives the same key; no key tells anything of another.
    pub fn derive(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0_u8; 32]);
        // 32 bytes are far below HKDF's limit of 255 blocks, its only failure.
        let done = Hkdf::<Sha256>::new(None, self.0.bytes.as_slice()).expand(purpose.as_bytes(), key.as_mut_slice());
        debug_assert!(done.is_ok());
        key
    }

    /// HMAC-SHA256 of `parts` under the key derived for `purpose`, in lower-case hex. Each part is framed by its length.
    pub fn authenticate(&self, purpose: &str, parts: &[&[u8]]) -> String {
        hex(&self.mac(purpose, parts).finalize().into_bytes())
    }

    /// Whether `tag` is what [`Self::authenticate`] gives; in constant time.
    pub fn verify(&self, purpose: &str, parts: &[&[u8]], tag: &str) -> bool {
        decode_hex(tag).is_some_and(|tag| self.mac(purpose, parts).verify_slice(tag.as_slice()).is_ok())
    }

    fn mac(&self, purpose: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = hmac_under(&self.derive(purpose));
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }

    #[cfg(test)]
    pub(crate) fn for_tests(byte: u8) -> Self {
        let place = KeyPlace::File { why: "a test".to_owned() };
        Self(Arc::new(Inner { bytes: Zeroizing::new([byte; 32]), id: hex(&[byte; 4]), place }))
    }
}

/// HMAC-SHA256 under a 32-byte key.
pub(crate) fn hmac_under(key: &[u8; 32]) -> Hmac<Sha256> {
    // Exactly the block-sized path of `KeyInit`: a 32-byte key is zero-padded to the block, as RFC 2104 says.
    let mut block = Zeroizing::new([0_u8; 64]);
    let (head, _) = block.split_at_mut(32);
    head.copy_from_slice(key);
    Hmac::<Sha256>::new((&*block).into())
}

fn decode_bytes(bytes: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    bytes.try_into().ok().map(Zeroizing::new)
}

/// 64 hex digits.
pub(crate) fn decode_hex(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != 32 || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
}

/// A store that some key has signed already.
fn sealed_file(folders: &Folders) -> Option<PathBuf> {
    let entries = fs::read_dir(folders.config()).ok()?;
    let sealed = |path: &PathBuf| path.to_str().is_some_and(|path| path.ends_with(super::sealed::SUFFIX));
    entries.flatten().map(|entry| entry.path()).find(sealed)
}

/// A key that others may read is closed to them; it may have been copied already, which only a warning can say.
fn close_to_others(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let cannot = |error: io::Error| file::cannot("look at", path, &error);
        if fs::metadata(path).map_err(cannot)?.permissions().mode() & 0o077 != 0 {
            tracing::warn!("the file `key` was open to other users of this machine; it has been closed to them");
            match fs::set_permissions(path, fs::Permissions::from_mode(0o600)) {
                Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
                result => result.map_err(|error| file::cannot("close", path, &error))?,
            }
        }
    }
    #[cfg(not(unix))]
    let _ = (path, io::ErrorKind::Other);
    Ok(())
}

fn invalid(message: String, path: &Path) -> Error {
    Error::ConfigInvalid {
        message,
        path: None,
        key: None,
        allowed: Vec::new(),
        private: Some(path.display().to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn folders() -> (tempfile::TempDir, Folders) {
        let outer = tempfile::tempdir().unwrap();
        let folders = Folders::at(&outer.path().join("host")).unwrap();
        (outer, folders)
    }

    #[test]
    fn a_folder_gets_one_key_whoever_comes_first() {
        let (_outer, folders) = folders();
        let ids: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| MasterKey::open(&folders).unwrap().derive("x").to_vec())).collect();
            threads.into_iter().map(|thread| hex(&thread.join().unwrap())).collect()
        });
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]));
        let text = fs::read_to_string(folders.config().join("key")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0].len()), (2, 64));
        assert_eq!(lines[1], format!("id:{}", MasterKey::open(&folders).unwrap().id()));
    }

    #[test]
    fn a_damaged_key_is_named_by_line_and_left_alone() {
        let (_outer, folders) = folders();
        MasterKey::open(&folders).unwrap();
        let path = folders.config().join("key");
        for (text, line) in [("", 2), ("zz\nid:00000000\n", 1), (&*format!("{}\n", "0".repeat(64)), 2)] {
            fs::write(&path, text).unwrap();
            let error = MasterKey::open(&folders).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}")), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_missing_key_beside_signed_stores_is_not_replaced() {
        let (_outer, folders) = folders();
        let key = MasterKey::open(&folders).unwrap();
        let store = super::super::Sealed::<Vec<u32>>::signed(&folders, "policy", &key);
        store
            .update(|data| {
                data.push(1);
                Ok(())
            })
            .unwrap();
        fs::remove_file(folders.config().join("key")).unwrap();
        assert!(MasterKey::open(&folders).unwrap_err().to_string().contains("missing"));
        assert!(!folders.config().join("key").exists());
    }

    #[test]
    fn a_key_in_an_unreachable_keychain_is_an_error_and_stays_where_it_is() {
        let (_outer, folders) = folders();
        folders.prepare().unwrap();
        let path = folders.config().join("key");
        fs::write(&path, "keychain:ffffffff\nid:ffffffff\n").unwrap();
        let error = MasterKey::open(&folders).unwrap_err();
        assert_eq!(error.code(), crate::ErrorCode::ConfigInvalid);
        assert!(error.to_string().starts_with("keychain locked"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "keychain:ffffffff\nid:ffffffff\n");
    }

    #[test]
    fn purposes_and_parts_are_kept_apart() {
        let key = MasterKey::for_tests(1);
        assert_ne!(*key.derive("a"), *key.derive("b"));
        let tag = key.authenticate("a", &[b"ab", b"c"]);
        assert!(key.verify("a", &[b"ab", b"c"], &tag));
        assert!(!key.verify("a", &[b"a", b"bc"], &tag));
        assert!(!key.verify("b", &[b"ab", b"c"], &tag));
        assert!(!MasterKey::for_tests(2).verify("a", &[b"ab", b"c"], &tag));
        assert!(!key.verify("a", &[b"ab", b"c"], ""));
    }

    #[test]
    fn the_key_and_its_text_never_show_in_debug_output() {
        let shown = format!("{:?}", MasterKey::for_tests(7));
        assert!(!shown.contains("7, 7"), "{shown}");
        assert!(!shown.contains(&"07".repeat(32)), "{shown}");
    }
}
