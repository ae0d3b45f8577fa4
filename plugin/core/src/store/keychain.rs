//! The system's keychain, asked with a limit: it may be locked, absent, or wait for a person who is not there.
//!
//! Only `key` talks to it, once a process.

use std::{sync::mpsc, time::Duration};

use zeroize::Zeroizing;

/// How long the keychain may take. A locked one asks the person and does not answer before.
const LIMIT: Duration = Duration::from_secs(5);

/// The key of `id`. The error is for a person.
pub(super) fn get(id: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    let id = id.to_owned();
    within(LIMIT, move || backend::get(&id))
}

/// Keeps a new key under `id`, and proves that it can be read back.
pub(super) fn put(id: &str, key: &[u8]) -> Result<(), String> {
    let (id, key) = (id.to_owned(), Zeroizing::new(key.to_vec()));
    within(LIMIT, move || {
        backend::put(&id, &key)?;
        if *backend::get(&id)? == *key {
            Ok(())
        } else {
            Err("it gave back another value than it was given".to_owned())
        }
    })
}

/// Runs `work` on a thread of its own and stops waiting after `limit`. The thread of a keychain that never answers is
/// left behind, at most one a process.
fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("mcp-host-keychain".to_owned())
        .spawn(move || {
            // Nobody listens any more after the limit.
            let _ = sender.send(work());
        })
        .map_err(|error| error.to_string())?;
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(format!("it did not answer within {} s", limit.as_secs())),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err("it failed while it was asked".to_owned()),
    }
}

#[cfg(feature = "keychain")]
mod backend {
    use keyring::v1::Entry;
    use zeroize::Zeroizing;

    /// What our entries are filed under.
    const SERVICE: &str = "mcp-host";

    fn entry(id: &str) -> Result<Entry, String> {
        if let Err(error) = Entry::store_status() {
            return Err(error.to_string());
        }
        Entry::new(SERVICE, id).map_err(|error| error.to_string())
    }

    pub(super) fn get(id: &str) -> Result<Zeroizing<Vec<u8>>, String> {
        entry(id)?.get_secret().map(Zeroizing::new).map_err(|error| error.to_string())
    }

    pub(super) fn put(id: &str, key: &[u8]) -> Result<(), String> {
        entry(id)?.set_secret(key).map_err(|error| error.to_string())
    }
}

#[cfg(not(feature = "keychain"))]
mod backend {
    use zeroize::Zeroizing;

    const NONE: &str = "this build has no keychain support";

    pub(super) fn get(_id: &str) -> Result<Zeroizing<Vec<u8>>, String> {
        Err(NONE.to_owned())
    }

    pub(super) fn put(_id: &str, _key: &[u8]) -> Result<(), String> {
        Err(NONE.to_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_keychain_that_never_answers_is_an_error() {
        let (hold, held) = mpsc::channel::<()>();
        let result: Result<(), _> = within(Duration::from_millis(20), move || {
            let _ = held.recv();
            Ok(())
        });
        assert!(result.unwrap_err().contains("did not answer"));
        drop(hold);
    }
}
