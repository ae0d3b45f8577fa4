//! The controlling terminal: written to, and read line by line until somebody says stop.

use std::io;

/// How often a wait looks whether it is to stop.
#[cfg(unix)]
const TICK: std::time::Duration = std::time::Duration::from_millis(100);
/// No answer is longer; the rest of such a line is dropped.
const MAX_LINE: usize = 4096;

/// What came of reading.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A line, without its end.
    Line(String),
    /// The end of input.
    End,
    /// It was to stop.
    Stopped,
}

#[cfg(unix)]
pub(super) use unix::Tty;
#[cfg(not(unix))]
pub(super) use windows::Tty;

#[cfg(unix)]
mod unix {
    use std::{
        fs::{File, OpenOptions},
        io::{Read as _, Write as _},
    };

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        termios::{QueueSelector, tcflush, tcgetpgrp, tcgetwinsize},
    };

    use super::{MAX_LINE, Read, TICK, io};

    /// `/dev/tty`, whatever stdin and stdout are.
    #[derive(Debug)]
    pub(in crate::terminal) struct Tty(File);

    impl Tty {
        /// Opens it; fails where there is none.
        pub(in crate::terminal) fn open() -> io::Result<Self> {
            OpenOptions::new().read(true).write(true).open("/dev/tty").map(Self)
        }

        /// Whether this process is in its foreground: one in the background would be stopped by reading.
        pub(in crate::terminal) fn is_ours(&self) -> bool {
            tcgetpgrp(&self.0).is_ok_and(|group| group == rustix::process::getpgrp())
        }

        pub(in crate::terminal) fn columns(&self) -> Option<usize> {
            tcgetwinsize(&self.0).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
        }

        pub(in crate::terminal) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.write_all(bytes)
        }

        /// Drops what was typed and not read.
        pub(in crate::terminal) fn discard_input(&self) -> io::Result<()> {
            Ok(tcflush(&self.0, QueueSelector::IFlush)?)
        }

        /// Waits for a line. The terminal edits it; one `read` gives at most one.
        pub(in crate::terminal) fn read_line(&mut self, stop: &dyn Fn() -> bool) -> io::Result<Read> {
            let mut line = Vec::new();
            let tick = Timespec::try_from(TICK).map_err(io::Error::other)?;
            loop {
                if stop() {
                    return Ok(Read::Stopped);
                }
                let ready = match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&tick)) {
                    Ok(ready) => ready > 0,
                    Err(rustix::io::Errno::INTR) => false,
                    Err(error) => return Err(error.into()),
                };
                if !ready {
                    continue;
                }
                let mut bytes = [0; 512];
                let count = match self.0.read(&mut bytes) {
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                if count == 0 {
                    return Ok(Read::End);
                }
                let bytes = bytes.get(..count).unwrap_or_default();
                let room = MAX_LINE.saturating_sub(line.len()).min(bytes.len());
                line.extend_from_slice(bytes.get(..room).unwrap_or_default());
                if bytes.ends_with(b"\n") {
                    let text = String::from_utf8_lossy(&line);
                    return Ok(Read::Line(text.trim_end_matches(['\r', '\n']).to_owned()));
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod windows {
    use std::{
        fs::{File, OpenOptions},
        io::{BufRead as _, BufReader, Read as _, Write as _},
        sync::mpsc::{Receiver, RecvTimeoutError, channel},
        time::{Duration, Instant},
    };

    use super::{MAX_LINE, Read, io};

    /// The console, whatever stdin and stdout are. A thread reads it: there is nothing to poll.
    #[derive(Debug)]
    pub(in crate::terminal) struct Tty {
        output: File,
        lines: Receiver<String>,
    }

    impl Tty {
        pub(in crate::terminal) fn open() -> io::Result<Self> {
            let input = OpenOptions::new().read(true).write(true).open("CONIN$")?;
            let output = OpenOptions::new().read(true).write(true).open("CONOUT$")?;
            let (sender, lines) = channel();
            std::thread::spawn(move || {
                let mut input = BufReader::new(input);
                loop {
                    let mut line = Vec::new();
                    match (&mut input).take(MAX_LINE as u64).read_until(b'\n', &mut line) {
                        Ok(1..) if sender.send(String::from_utf8_lossy(&line).into_owned()).is_ok() => {}
                        _ => return,
                    }
                }
            });
            Ok(Self { output, lines })
        }

        pub(in crate::terminal) fn is_ours(&self) -> bool {
            true
        }

        pub(in crate::terminal) fn columns(&self) -> Option<usize> {
            None
        }

        pub(in crate::terminal) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.output.write_all(bytes)
        }

        pub(in crate::terminal) fn discard_input(&self) -> io::Result<()> {
            let until = Instant::now() + Duration::from_millis(10);
            while self.lines.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
            Ok(())
        }

        pub(in crate::terminal) fn read_line(&mut self, stop: &dyn Fn() -> bool) -> io::Result<Read> {
            loop {
                if stop() {
                    return Ok(Read::Stopped);
                }
                match self.lines.recv_timeout(Duration::from_millis(100)) {
                    Ok(line) => return Ok(Read::Line(line.trim_end_matches(['\r', '\n']).to_owned())),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(Read::End),
                }
            }
        }
    }
}
