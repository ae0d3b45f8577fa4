//! stdin and stdout of a child of our own.

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::lines::{self, Line};
use crate::session::{
    event::{Closed, SessionEvent},
    exchange::Exchange,
    output::{Masks, Output},
    process::child::{Process, Spawned},
};

/// The longest line that is read as a message.
pub(in crate::session) const MESSAGE_LIMIT: usize = 32 * 1024 * 1024;

/// How long a child may take to read what is still to be told when we end the connection.
const FAREWELL: Duration = Duration::from_millis(250);
/// How long what a child wrote before it ended is read for; also how long a child that closed stdout has to end.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The longest piece of stderr that is kept as one line.
const STDERR_LINE: usize = 8 * 1024;

/// Starts to move messages. Cancelling `stop` ends the child and all that is in its group; `over` says when nothing is
/// left of it.
pub(in crate::session) fn carry(
    spawned: Spawned,
    exchange: Exchange,
    stop: CancellationToken,
) -> watch::Receiver<Option<Closed>> {
    let (over, ended) = watch::channel(None);
    let Spawned { stdin, stdout, stderr, process } = spawned;
    let tasks = Tasks {
        writer: tokio::spawn(write(stdin, exchange.clone())),
        reader: tokio::spawn(read(stdout, exchange.clone())),
        stderr: tokio::spawn(drain(stderr, exchange.output().clone(), exchange.mask().clone())),
    };
    tokio::spawn(supervise(process, tasks, exchange, stop, over));
    ended
}

/// Moves messages over any two streams, without a process; for tests of everything above.
#[cfg(test)]
pub(in crate::session) fn carry_streams(
    stdin: impl AsyncWrite + Send + Unpin + 'static,
    stdout: impl AsyncRead + Send + Unpin + 'static,
    exchange: Exchange,
    stop: CancellationToken,
) -> watch::Receiver<Option<Closed>> {
    let (over, ended) = watch::channel(None);
    let mut writer = tokio::spawn(write(stdin, exchange.clone()));
    let mut reader = tokio::spawn(read(stdout, exchange.clone()));
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            _ = &mut reader => {}
        }
        let closed = Closed { requested: stop.is_cancelled(), ..Closed::default() };
        if closed.requested {
            say_farewell(&exchange, &mut writer).await;
        }
        exchange.end(closed.clone());
        stop.cancel();
        close_stdin(writer).await;
        exchange.events().push(SessionEvent::Closed(closed.clone()));
        over.send_replace(Some(closed));
    });
    ended
}

struct Tasks {
    writer: JoinHandle<()>,
    reader: JoinHandle<()>,
    stderr: JoinHandle<()>,
}

/// Sees the connection to its end, whichever side ends it.
async fn supervise(
    mut process: Process,
    mut tasks: Tasks,
    exchange: Exchange,
    stop: CancellationToken,
    over: watch::Sender<Option<Closed>>,
) {
    let mut closed = Closed::default();
    let mut exited = false;
    let alone = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        _ = process.wait() => {
            exited = true;
            Some("its process ended")
        }
        _ = &mut tasks.reader => Some("it closed its stdout"),
        _ = &mut tasks.writer => Some("it closed its stdin"),
    };
    if let Some(what) = alone {
        // What it said before it ended is still in the pipes, and most that close one are about to end.
        if !exited {
            let _ = timeout(LAST_WORDS, process.wait()).await;
        }
        if !tasks.reader.is_finished() {
            let _ = timeout(LAST_WORDS, &mut tasks.reader).await;
        }
        let _ = timeout(LAST_WORDS, &mut tasks.stderr).await;
        closed.reason = Some(process.exit().map_or_else(|| what.to_owned(), |exit| exit.to_string()));
    } else {
        closed.requested = true;
        say_farewell(&exchange, &mut tasks.writer).await;
    }
    closed.exit = process.exit();
    // First the news to whoever waits for an answer, then the slow part.
    exchange.end(closed.clone());
    stop.cancel();
    close_stdin(tasks.writer).await;
    closed.exit = process.end().await;
    // Who left the group may hold the pipes for ever.
    tasks.reader.abort();
    tasks.stderr.abort();
    exchange.events().push(SessionEvent::Closed(closed.clone()));
    over.send_replace(Some(closed));
}

/// Writes what is still to be told; a child that does not read is not waited for.
async fn say_farewell(exchange: &Exchange, writer: &mut JoinHandle<()>) {
    exchange.wind_down();
    if !writer.is_finished() {
        let _ = timeout(FAREWELL, writer).await;
    }
}

/// Closes stdin by ending the task that holds it.
async fn close_stdin(writer: JoinHandle<()>) {
    if !writer.is_finished() {
        writer.abort();
        let _ = writer.await;
    }
}

/// Writes until the connection is over. A child that does not read holds up nothing but this task.
async fn write(mut stdin: impl AsyncWrite + Unpin, exchange: Exchange) {
    while let Some(outgoing) = exchange.next_outgoing().await {
        let written = async {
            stdin.write_all(&outgoing.bytes).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        if let Err(error) = written.await {
            // The reader notices the end; a child that only closed stdin may still have something to say.
            tracing::debug!(%error, "a server does not read any more");
            return;
        }
    }
}

/// Reads to the end of stdout, also after the connection is over: a child that cannot write does not end.
async fn read(stdout: impl AsyncRead + Unpin, exchange: Exchange) {
    let stdout = BufReader::with_capacity(64 * 1024, stdout);
    let done = lines::read(stdout, MESSAGE_LIMIT, |line| match line {
        Line::Whole(line) => exchange.accept(line),
        Line::TooLong { answered, head } => exchange.skipped(answered, head),
    });
    if let Err(error) = done.await {
        tracing::debug!(%error, "a server's stdout cannot be read any more");
    }
}

/// Reads stderr to its end, whether it has lines or not, and keeps its tail.
async fn drain(mut stderr: impl AsyncRead + Unpin, output: Output, mask: Masks) {
    let mut line = Vec::new();
    let mut chunk = vec![0_u8; 16 * 1024];
    loop {
        let size = match stderr.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(size) => size,
        };
        for piece in chunk.get(..size).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if line.last() == Some(&b'\n') {
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                output.add_stderr(&line, &mask);
                line.clear();
            }
            while line.len() > STDERR_LINE {
                // Between words where there is one, so that a secret is not cut in two.
                let cut = line.iter().take(STDERR_LINE).rposition(u8::is_ascii_whitespace).unwrap_or(STDERR_LINE - 1);
                let rest = line.split_off(cut + 1);
                output.add_stderr(&line, &mask);
                line = rest;
            }
        }
    }
    if !line.is_empty() {
        output.add_stderr(&line, &mask);
    }
}
