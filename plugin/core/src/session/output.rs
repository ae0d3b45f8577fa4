//! What a server writes beside the protocol: stderr, and whatever on stdout is not a message. Bounded, with time stamps,
//! secrets masked. For the person only.
//!
//! Filled by the carriers; read by the settings window, the command line and the errors that are told to a person.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;

use crate::{config::SecretValue, session::wire::view::cut};

/// Hides what must not be seen in a text, beside the secrets of the launch, which are hidden anyway.
pub type Mask = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// A line of stderr or noise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLine {
    /// When it was read.
    pub at: Timestamp,
    /// What it said, secrets masked, invalid UTF-8 replaced, without the line's end.
    pub text: String,
}

/// stderr (the last 256 KiB) and noise (the last 200 lines of stdout that were no messages, each cut at 4 KiB, and how
/// many there were). Cheap to clone; hand the same one to every connection of a server, and it outlives them.
#[derive(Clone, Default)]
pub struct Output(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    stderr: VecDeque<OutputLine>,
    stderr_bytes: usize,
    noise: VecDeque<OutputLine>,
    noise_count: u64,
}

impl Output {
    /// Bytes of stderr that are kept.
    const STDERR_BYTES: usize = 256 * 1024;
    /// What a line costs beside its text, so that a flood of empty lines is bounded too.
    const LINE_COST: usize = 64;
    /// Lines of noise that are kept.
    const NOISE_LINES: usize = 200;
    /// Bytes of one line of noise that are kept.
    const NOISE_LINE_BYTES: usize = 4096;

    /// The kept end of stderr, oldest first.
    pub fn stderr_tail(&self) -> Vec<OutputLine> {
        self.kept().stderr.iter().cloned().collect()
    }

    /// The texts of the last `lines` lines of stderr that are not blank.
    pub(super) fn last_words(&self, lines: usize) -> Vec<String> {
        let kept = self.kept();
        let said = kept.stderr.iter().rev().filter(|line| !line.text.trim().is_empty());
        let mut words: Vec<_> = said.take(lines).map(|line| line.text.clone()).collect();
        words.reverse();
        words
    }

    /// The kept noise, oldest first.
    pub fn noise(&self) -> Vec<OutputLine> {
        self.kept().noise.iter().cloned().collect()
    }

    /// How many lines were noise, kept or not.
    pub fn noise_count(&self) -> u64 {
        self.kept().noise_count
    }

    /// Forgets all of it; for the start of another connection.
    pub fn clear(&self) {
        *self.kept() = Kept::default();
    }

    /// Keeps a line of stderr.
    pub(super) fn add_stderr(&self, line: &[u8], mask: &Masks) {
        let text = mask.apply(&String::from_utf8_lossy(line));
        let mut kept = self.kept();
        kept.stderr_bytes += text.len() + Self::LINE_COST;
        kept.stderr.push_back(OutputLine { at: Timestamp::now(), text });
        while kept.stderr_bytes > Self::STDERR_BYTES
            && let Some(gone) = kept.stderr.pop_front()
        {
            kept.stderr_bytes -= gone.text.len() + Self::LINE_COST;
        }
    }

    /// Keeps a line of noise. `line` may be its beginning only.
    pub(super) fn add_noise(&self, line: &[u8], mask: &Masks) {
        // A secret that starts within what is kept is masked whole.
        let head = line.get(..Self::NOISE_LINE_BYTES * 2).unwrap_or(line);
        let text = cut(mask.apply(&String::from_utf8_lossy(head)), Self::NOISE_LINE_BYTES);
        let mut kept = self.kept();
        kept.noise_count += 1;
        if kept.noise.len() == Self::NOISE_LINES {
            kept.noise.pop_front();
        }
        kept.noise.push_back(OutputLine { at: Timestamp::now(), text });
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept();
        f.debug_struct("Output").field("stderr", &kept.stderr.len()).field("noise", &kept.noise_count).finish()
    }
}

/// Hides the secrets that a server was given, wherever it writes them.
#[derive(Clone, Default)]
pub(super) struct Masks {
    secrets: Arc<[SecretValue]>,
    hook: Option<Mask>,
}

impl Masks {
    const MARK: &str = "[secret]";

    pub(super) fn new(secrets: &[SecretValue], hook: Option<Mask>) -> Self {
        let mut secrets: Vec<_> = secrets.iter().filter(|secret| !secret.expose().trim().is_empty()).cloned().collect();
        // The longest first: one may be part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
        Self { secrets: secrets.into(), hook }
    }

    pub(super) fn apply(&self, text: &str) -> String {
        // The hook first: it may mark secrets by name, and must not find a mark of ours in the middle of one.
        let text = self.hook.as_ref().map_or_else(|| text.to_owned(), |hook| hook(text));
        self.secrets.iter().fold(text, |text, secret| {
            if text.contains(secret.expose()) { text.replace(secret.expose(), Self::MARK) } else { text }
        })
    }
}

impl fmt::Debug for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masks").field("secrets", &self.secrets.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_its_end() {
        let output = Output::default();
        let mask = Masks::default();
        for n in 0..100_000 {
            output.add_stderr(format!("line {n}").as_bytes(), &mask);
            output.add_noise(b"", &mask);
        }
        let tail = output.stderr_tail();
        assert_eq!(tail.last().unwrap().text, "line 99999");
        assert!(tail.iter().map(|line| line.text.len()).sum::<usize>() <= Output::STDERR_BYTES);
        assert!(tail.len() > 1000);
        assert_eq!((output.noise().len(), output.noise_count()), (200, 100_000));
    }

    #[test]
    fn secrets_are_hidden_the_longer_one_first() {
        let mask = Masks::new(
            &[
                SecretValue::new("abc".to_owned()),
                SecretValue::new("abcdef".to_owned()),
                SecretValue::new(String::new()),
            ],
            None,
        );
        assert_eq!(mask.apply("key abcdef, then abc."), "key [secret], then [secret].");
    }

    #[test]
    fn a_secret_at_the_cut_of_a_noise_line_is_hidden() {
        let output = Output::default();
        let secret = "s3cr3t".repeat(10);
        let line = format!("{}{secret}", "x".repeat(Output::NOISE_LINE_BYTES - 30));
        output.add_noise(line.as_bytes(), &Masks::new(&[SecretValue::new(secret)], None));
        assert!(!output.noise()[0].text.contains("s3cr3t"));
    }

    #[test]
    fn last_words_are_not_blank() {
        let output = Output::default();
        for line in ["a", "Error: API_KEY is required", "", "  "] {
            output.add_stderr(line.as_bytes(), &Masks::default());
        }
        assert_eq!(output.last_words(1), ["Error: API_KEY is required"]);
    }
}
