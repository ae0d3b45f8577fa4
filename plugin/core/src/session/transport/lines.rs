//! Lines out of a stream of bytes, each of bounded length.
//!
//! A line over the limit is passed over to its end; which request it answered is found on the way. A last line without
//! an end counts.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use crate::session::wire::{Id, find::IdFinder};

/// What is found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A line without its end.
    Whole(&'a [u8]),
    /// A line over the limit: which request it answered, and how it began.
    TooLong { answered: Option<Id>, head: &'a [u8] },
}

/// Bytes of a line over the limit that are shown.
const HEAD: usize = 4096;

/// Reads to the end of the stream and hands over each line.
pub(super) async fn read(
    mut stream: impl AsyncBufRead + Unpin,
    limit: usize,
    mut found: impl FnMut(Line<'_>),
) -> io::Result<()> {
    let mut line: Vec<u8> = Vec::new();
    let mut passing: Option<IdFinder> = None;
    loop {
        let chunk = stream.fill_buf().await?;
        if chunk.is_empty() {
            break;
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let piece = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
        match &mut passing {
            Some(finder) => finder.feed(piece),
            None if line.len() + piece.len() > limit => {
                let mut finder = IdFinder::default();
                finder.feed(&line);
                finder.feed(piece);
                line.extend_from_slice(piece.get(..HEAD).unwrap_or(piece));
                line.truncate(HEAD);
                line.shrink_to_fit();
                passing = Some(finder);
            }
            // Most lines are in the buffer as a whole.
            None if line.is_empty() && end.is_some() => found(Line::Whole(piece)),
            None => line.extend_from_slice(piece),
        }
        let used = end.map_or(chunk.len(), |end| end + 1);
        let was_whole = end.is_some() && passing.is_none() && line.is_empty();
        stream.consume(used);
        if end.is_some() && !was_whole {
            hand_over(&mut line, &mut passing, &mut found);
        }
    }
    if !line.is_empty() || passing.is_some() {
        hand_over(&mut line, &mut passing, &mut found);
    }
    Ok(())
}

fn hand_over(line: &mut Vec<u8>, passing: &mut Option<IdFinder>, found: &mut impl FnMut(Line<'_>)) {
    match passing.take() {
        Some(finder) => found(Line::TooLong { answered: finder.found(), head: line }),
        None => found(Line::Whole(line)),
    }
    // The memory of one huge line is not kept for the next.
    *line = Vec::new();
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    use proptest::prelude::*;
    use tokio::io::{AsyncRead, BufReader, ReadBuf};

    use super::*;

    /// Gives its bytes in pieces of the given sizes.
    struct Pieces<'a>(&'a [u8], std::iter::Cycle<std::vec::IntoIter<usize>>);

    impl AsyncRead for Pieces<'_> {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let size = self.1.next().unwrap_or(1).min(self.0.len()).min(buf.remaining());
            let (now, later) = self.0.split_at(size);
            buf.put_slice(now);
            self.0 = later;
            Poll::Ready(Ok(()))
        }
    }

    fn lines(bytes: &[u8], pieces: Vec<usize>, limit: usize) -> Vec<Result<Vec<u8>, Option<Id>>> {
        let mut seen = Vec::new();
        let stream = BufReader::with_capacity(64, Pieces(bytes, pieces.into_iter().cycle()));
        let read = read(stream, limit, |line| {
            seen.push(match line {
                Line::Whole(line) => Ok(line.to_vec()),
                Line::TooLong { answered, .. } => Err(answered),
            });
        });
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(read).unwrap();
        seen
    }

    proptest! {
        #[test]
        fn lines_are_what_stands_between_the_ends(
            bytes in "[a-c\n]{0,300}", pieces in prop::collection::vec(1_usize..90, 1..9)
        ) {
            let mut expected: Vec<_> = bytes.split('\n').map(|line| Ok(line.as_bytes().to_vec())).collect();
            if expected.last() == Some(&Ok(Vec::new())) {
                expected.pop();
            }
            prop_assert_eq!(lines(bytes.as_bytes(), pieces, 1000), expected);
        }

        #[test]
        fn a_line_over_the_limit_names_its_request_and_spoils_no_other(
            pieces in prop::collection::vec(1_usize..90, 1..9), size in 50_usize..300, last in any::<bool>()
        ) {
            let text = "x".repeat(size);
            let long = if last { format!(r#"{{"result":"{text}","id":7}}"#) } else { format!(r#"{{"id":7,"result":"{text}"}}"#) };
            let bytes = format!("before\n{long}\nafter\n{long}");
            let expected = [Ok(b"before".to_vec()), Err(Some(Id::Number(7))), Ok(b"after".to_vec()), Err(Some(Id::Number(7)))];
            prop_assert_eq!(lines(bytes.as_bytes(), pieces, 60), expected);
        }
    }
}
