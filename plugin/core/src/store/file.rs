//! Files: read with a limit, replaced in one step, locked across processes.
//!
//! Knows nothing about what is in them. Never leaves half a file, never waits for ever, never makes a dot-file (a `**`
//! in a host application's scope does not match those, so forbidding our folders would miss them).

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use crate::error::{Error, Result};

/// How long a lock of another process is waited for. Ours are held for one read and one write of a small file.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// A stamp younger than this does not prove that a file is unchanged: clocks of file systems are coarse.
const RACY: Duration = Duration::from_millis(250);

/// An exclusive lock between threads and processes, given back when dropped.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "closing it gives the lock back")] File);

impl Lock {
    /// Waits up to ten seconds for the lock file at `path`, which is made where it is missing.
    pub fn acquire(path: &Path) -> Result<Self> {
        let file = open_private(OpenOptions::new().create(true).truncate(false).write(true), path)
            .map_err(|error| cannot("lock", path, &error))?;
        let deadline = Instant::now() + LOCK_WAIT;
        let mut pause = Duration::from_millis(1);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::Error(error)) => return Err(cannot("lock", path, &error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(Error::ConfigInvalid {
                        message: "another process of the host has kept our files locked for ten seconds; end it, or \
                                  wait, and try again"
                            .to_owned(),
                        path: None,
                        key: None,
                        allowed: Vec::new(),
                        private: Some(path.display().to_string()),
                    });
                }
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
            }
        }
    }
}

/// What a file looked like from outside when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
    inode: u64,
    /// It was read so soon after being written that a second write could look the same.
    racy: bool,
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let inode = 0;
        let modified = metadata.modified().ok();
        let racy = modified.is_none_or(|at| at.elapsed().map_or(true, |age| age < RACY));
        Self { modified, size: metadata.len(), inode, racy }
    }

    /// Whether the file at `path` is certainly still the one that was read. One `stat`.
    pub fn still_holds(stamp: Option<&Self>, path: &Path) -> bool {
        match (stamp, fs::metadata(path)) {
            (Some(stamp), Ok(now)) => {
                let now = Self::of(&now);
                !stamp.racy && (stamp.modified, stamp.size, stamp.inode) == (now.modified, now.size, now.inode)
            }
            (None, Err(error)) => error.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }
}

/// Reads a whole file of at most `limit` bytes. `None` where there is none.
pub fn read(path: &Path, limit: u64) -> io::Result<Option<(Vec<u8>, Stamp)>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        // A FIFO here would hang us, a folder would give an error that names nothing.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let stamp = Stamp::of(&metadata);
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(Some((bytes, stamp)))
}

/// Replaces (or makes) a file in one step: a reader sees the old bytes or the new ones, also after a power loss.
///
/// The new file is 0600. A symbolic link stays one: what it points to is replaced.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => fs::canonicalize(path)?,
        _ => path.to_path_buf(),
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new().prefix(NEW_PREFIX).suffix(NEW_SUFFIX).tempfile_in(folder)?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    new.persist(&target).map_err(|error| error.error)?;
    sync_folder(folder)
}

const NEW_PREFIX: &str = "mcp-host-new-";
const NEW_SUFFIX: &str = ".tmp";

/// Removes what a killed process left half-written in `folder` more than an hour ago.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(NEW_PREFIX) && name.ends_with(NEW_SUFFIX));
        let old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > Duration::from_secs(3600))
        };
        if ours && old() {
            // It is litter; if it cannot be removed, the next start tries again.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Makes a name in a folder survive a power loss, where the platform has such a thing.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Opens with mode 0600 for what is newly made.
pub fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// The error for a file of ours that the operating system would not let us `verb`; the path is for the person only.
pub fn cannot(verb: &str, path: &Path, error: &io::Error) -> Error {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let advice = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space and try again",
        io::ErrorKind::ReadOnlyFilesystem => "; the file system is read-only",
        io::ErrorKind::PermissionDenied => "; check who owns the folder and its mode",
        _ => "",
    };
    Error::ConfigInvalid {
        message: format!("cannot {verb} `{name}`: {error}{advice}"),
        path: None,
        key: None,
        allowed: Vec::new(),
        private: Some(PathBuf::from(path).display().to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_private_whole_and_leaves_no_litter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_file_elsewhere_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
    }

    #[test]
    fn a_lock_keeps_everybody_else_out_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let counter = folder.path().join("counter");
        fs::write(&counter, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _lock = Lock::acquire(&path).unwrap();
                        let count: u32 = fs::read_to_string(&counter).unwrap().parse().unwrap();
                        fs::write(&counter, (count + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&counter).unwrap(), "160");
    }

    #[test]
    fn what_is_too_large_or_no_file_is_an_error_not_a_hang() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big");
        fs::write(&path, vec![b'x'; 100]).unwrap();
        assert_eq!(read(&path, 99).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(&path, 100).unwrap().unwrap().0.len(), 100);
        assert!(read(folder.path(), 100).is_err());
        assert!(read(&folder.path().join("absent"), 100).unwrap().is_none());
    }

    #[test]
    fn a_fresh_stamp_is_not_trusted_and_an_old_one_sees_every_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "a").unwrap();
        let (_, fresh) = read(&path, 10).unwrap().unwrap();
        assert!(!Stamp::still_holds(Some(&fresh), &path), "a second write could look the same");

        let age = |seconds| {
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
        };
        age(60);
        let (_, old) = read(&path, 10).unwrap().unwrap();
        assert!(Stamp::still_holds(Some(&old), &path));
        age(50);
        assert!(!Stamp::still_holds(Some(&old), &path));
        fs::remove_file(&path).unwrap();
        assert!(!Stamp::still_holds(Some(&old), &path));
        assert!(Stamp::still_holds(None, &path));
    }
}
