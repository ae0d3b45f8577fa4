//! The head anchor: a small file beside a log that says, under the key, how far the log had come.
//!
//! Written after each group sync, so the log may be ahead of it (a crash), never behind (somebody cut it). Two slots of
//! a fixed size are written in turn and in place: no room is needed on a full disk, and a torn write leaves the other.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use crate::{
    model::json::{self, Limits, Value},
    store::{MasterKey, file},
};

/// The size of a slot, in bytes; the longest content is under 400.
const SLOT: usize = 512;

/// What its key is derived for.
const PURPOSE: &str = "mcp-host/1/audit/anchor";

/// How far a file had come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The log's file name.
    pub(super) file: String,
    /// Which file of its run, from 1.
    pub(super) part: u64,
    /// Lines in it.
    pub(super) count: u64,
    /// Bytes in it.
    pub(super) bytes: u64,
    /// The hash of its last line.
    pub(super) hash: String,
}

impl Head {
    fn tag(&self, key: &MasterKey) -> String {
        key.authenticate(PURPOSE, &[self.file.as_bytes(), &self.numbers(), self.hash.as_bytes()])
    }

    fn verify(&self, key: &MasterKey, tag: &str) -> bool {
        key.verify(PURPOSE, &[self.file.as_bytes(), &self.numbers(), self.hash.as_bytes()], tag)
    }

    fn numbers(&self) -> Vec<u8> {
        [self.part.to_be_bytes(), self.count.to_be_bytes(), self.bytes.to_be_bytes()].concat()
    }

    fn line(&self, key: &MasterKey) -> Vec<u8> {
        let Self { file, part, count, bytes, hash } = self;
        let tag = self.tag(key);
        let mut line = format!(
            "{{\"bytes\":{bytes},\"count\":{count},\"file\":\"{file}\",\"hash\":\"{hash}\",\"hmac\":\"{tag}\",\"part\":{part}}}"
        )
        .into_bytes();
        line.resize(SLOT - 1, b' ');
        line.push(b'\n');
        line
    }

    fn parse(slot: &[u8], key: &MasterKey) -> Option<Self> {
        let value = json::parse(slot, Limits::ARGUMENTS).ok()?;
        let object = value.as_object()?;
        let number = |name| match object.get(name) {
            Some(Value::Number(number)) => number.as_str().parse().ok(),
            _ => None,
        };
        let text = |name| object.get(name).and_then(Value::as_str).map(str::to_owned);
        let head = Self {
            file: text("file")?,
            part: number("part")?,
            count: number("count")?,
            bytes: number("bytes")?,
            hash: text("hash")?,
        };
        let tag = text("hmac")?;
        head.verify(key, &tag).then_some(head)
    }
}

/// What an anchor file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// There is none.
    Absent,
    /// There is one, and no slot of it is ours.
    Foreign,
    /// The newest slot.
    Head(Head),
}

/// An anchor file that is being written.
#[derive(Debug)]
pub(super) struct Anchor {
    file: File,
    /// Which slot comes next.
    second: bool,
}

impl Anchor {
    /// Makes a new one.
    pub(super) fn create(path: &Path, key: &MasterKey, head: &Head) -> io::Result<Self> {
        let file = file::open_private(OpenOptions::new().write(true).create_new(true), path)?;
        let mut anchor = Self { file, second: false };
        // Both slots from the start: what is written later is written in place.
        anchor.write(key, head)?;
        anchor.write(key, head)?;
        Ok(anchor)
    }

    /// Goes on with one, whatever is in it: the older slot is written next.
    pub(super) fn open(path: &Path, key: &MasterKey) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = file::open_private(options.read(true).write(true).create(true).truncate(false), path)?;
        let mut bytes = Vec::new();
        (&mut file).take(2 * SLOT as u64).read_to_end(&mut bytes)?;
        let mut ages = bytes.chunks(SLOT).map(|slot| Head::parse(slot, key).map(|head| (head.part, head.count)));
        let (first, second) = (ages.next().flatten(), ages.next().flatten());
        Ok(Self { file, second: first > second })
    }

    /// Says that the log has come this far. Not synced: an anchor that a power loss takes back is behind, and that is
    /// allowed.
    pub(super) fn write(&mut self, key: &MasterKey, head: &Head) -> io::Result<()> {
        let offset = if self.second { SLOT as u64 } else { 0 };
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.write_all(&head.line(key))?;
        self.second = !self.second;
        Ok(())
    }

    /// For the list of runs, whose anchor must not fall far behind.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Reads what an anchor says.
    pub(super) fn read(path: &Path, key: &MasterKey) -> io::Result<Found> {
        let mut bytes = Vec::new();
        match File::open(path) {
            Ok(file) => file.take(2 * SLOT as u64).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
            Err(error) => return Err(error),
        };
        let newest =
            bytes.chunks(SLOT).filter_map(|slot| Head::parse(slot, key)).max_by_key(|head| (head.part, head.count));
        Ok(newest.map_or(Found::Foreign, Found::Head))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn head(count: u64) -> Head {
        Head { file: "host-1.jsonl".to_owned(), part: 1, count, bytes: count * 400, hash: "a".repeat(64) }
    }

    #[test]
    fn the_newest_whole_slot_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.head");
        let key = MasterKey::for_tests(1);
        assert_eq!(Anchor::read(&path, &key).unwrap(), Found::Absent);
        let mut anchor = Anchor::create(&path, &key, &head(0)).unwrap();
        for count in 1..=5 {
            anchor.write(&key, &head(count)).unwrap();
            assert_eq!(Anchor::read(&path, &key).unwrap(), Found::Head(head(count)));
        }
        // A torn write of the sixth, in the slot of the fourth.
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[SLOT + 10..SLOT + 60].fill(b'#');
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(Anchor::read(&path, &key).unwrap(), Found::Head(head(5)));
    }

    #[test]
    fn a_changed_or_foreign_anchor_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.head");
        Anchor::create(&path, &MasterKey::for_tests(1), &head(7)).unwrap();
        assert_eq!(Anchor::read(&path, &MasterKey::for_tests(2)).unwrap(), Found::Foreign);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"count\":7", "\"count\":6")).unwrap();
        assert_eq!(Anchor::read(&path, &MasterKey::for_tests(1)).unwrap(), Found::Foreign);
    }
}
