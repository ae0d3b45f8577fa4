//! One open file of a log: appended to, taken back where a line did not fit, with room kept for what must still come.
//!
//! `log` decides what is written and when it is synced; here it is written, or it is as if it had not been tried.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    sync::Arc,
    time::Instant,
};

use super::{
    Receipt,
    anchor::{Anchor, Head},
    record::Chain,
    run_list::log_name,
};
use crate::clock::Clock;

/// The room that is kept free for the outcome of each call in flight. An outcome that is larger is cut to what fits.
pub(super) const ROOM: u64 = 4096;

/// An open log.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) run_id: String,
    /// Which file of the run, from 1.
    pub(super) part: u64,
    pub(super) file: Arc<File>,
    pub(super) chain: Chain,
    /// Bytes in this file.
    pub(super) bytes: u64,
    /// Records of the whole run.
    pub(super) seq: u64,
    pub(super) anchor: Anchor,
    /// Kept locked while we live; filled with the room for outcomes.
    pub(super) marker: File,
    pub(super) room: u64,
    /// Since when there is something that is not synced.
    pub(super) dirty: Option<Instant>,
}

/// Why a record was not written.
pub(super) enum Failed {
    /// The file is as it was; another try may succeed.
    Once(String),
    /// The file is not what we left.
    ForGood(String),
}

impl Run {
    pub(super) fn head(&self) -> Head {
        Head {
            file: log_name(&self.run_id, self.part),
            part: self.part,
            count: self.chain.count,
            bytes: self.bytes,
            hash: self.chain.head.clone(),
        }
    }

    pub(super) fn write(&mut self, clock: &dyn Clock, event_type: &str, payload: &str) -> Result<Receipt, Failed> {
        let once = |error: &dyn std::fmt::Display| Failed::Once(error.to_string());
        let metadata = self.file.metadata().map_err(|error| once(&error))?;
        #[cfg(unix)]
        let removed = std::os::unix::fs::MetadataExt::nlink(&metadata) == 0;
        #[cfg(not(unix))]
        let removed = false;
        if removed || metadata.len() != self.bytes {
            return Err(Failed::ForGood(
                "its file was removed or changed by another program; restart the host".to_owned(),
            ));
        }
        let line = self.chain.next(clock.now(), event_type, payload).map_err(|error| once(&error))?;
        if let Err(error) = (&*self.file).write_all(line.text.as_bytes()) {
            return Err(match self.file.set_len(self.bytes) {
                Ok(()) => once(&error),
                Err(again) => Failed::ForGood(format!("{error}, and half a line cannot be taken back: {again}")),
            });
        }
        self.chain.advance(&line);
        self.bytes += line.text.len() as u64;
        self.seq += 1;
        self.dirty.get_or_insert_with(Instant::now);
        Ok(Receipt { run_id: self.run_id.clone(), seq: self.seq, event_id: line.event_id })
    }

    /// Keeps at least this many bytes free, by taking them up.
    pub(super) fn reserve(&mut self, wanted: u64) -> io::Result<()> {
        while self.room < wanted {
            // Random, so that a file system that compresses or leaves out zeros takes them up as well.
            let mut block = [0_u8; ROOM as usize];
            getrandom::fill(&mut block).map_err(io::Error::other)?;
            if let Err(error) = self.marker.write_all(&block) {
                self.marker.set_len(self.room)?;
                self.marker.seek(SeekFrom::Start(self.room))?;
                return Err(error);
            }
            self.room += ROOM;
        }
        Ok(())
    }

    /// Gives the kept room back to the disk.
    pub(super) fn release(&mut self) {
        if self.marker.set_len(0).and_then(|()| self.marker.rewind()).is_ok() {
            self.room = 0;
        }
    }
}
