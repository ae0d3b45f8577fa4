//! The only module that writes to stdout and stderr: one JSON document, or text that was made harmless before.
//!
//! Nothing but the result of a command goes to stdout. Nothing here panics when the reader is gone.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use serde::Serialize;

use crate::{failure::Result, text};

/// Writes `words` to stdout.
pub(crate) fn stdout(words: &str) -> io::Result<()> {
    bytes(words.as_bytes())
}

/// Writes `bytes` to stdout as they are.
pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Stdout, for what is too long to be held as a whole.
#[derive(Debug)]
pub(crate) struct Stdout;

impl io::Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// Writes `words` to stderr.
pub(crate) fn stderr(words: &str) -> io::Result<()> {
    io::stderr().lock().write_all(words.as_bytes())
}

/// How this run prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    json: bool,
    /// Columns of the terminal that stdout is; `None` = not a terminal.
    columns: Option<usize>,
}

impl Output {
    /// For stdout as it is.
    pub(crate) fn new(json: bool) -> Self {
        Self { json, columns: text::columns_of_stdout() }
    }

    /// Prints `value` as the document, or what `human` makes of it.
    pub(crate) fn show<T: Serialize + ?Sized>(&self, value: &T, human: impl FnOnce(&Self) -> String) -> Result<()> {
        if self.json {
            return self.document(value);
        }
        let mut words = human(self);
        if !words.is_empty() && !words.ends_with('\n') {
            words.push('\n');
        }
        Ok(stdout(&words)?)
    }

    /// Prints `value` as the one JSON document.
    pub(crate) fn document<T: Serialize + ?Sized>(&self, value: &T) -> Result<()> {
        let mut words = serde_json::to_string(value).map_err(mcp_host_core::Error::internal)?;
        words.push('\n');
        Ok(stdout(&words)?)
    }

    /// Whether a document is asked for.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Says something beside the result, on stderr; nothing under `--json`.
    pub(crate) fn note(&self, words: &str) {
        if !self.json {
            let _ = stderr(&format!("{}\n", words.trim_end()));
        }
    }
}

/// Rows of cells under a header. What goes in is made inert here and cut, with a mark, to what fits.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    header: [&'static str; N],
    rows: Vec<[String; N]>,
}

/// Space between two columns.
const GAP: usize = 2;
/// The last column never gets less than this.
const MIN_LAST: usize = 16;
/// In a terminal, a column that is not the last.
const MAX_COLUMN: usize = 44;
/// The same where the output is not a terminal, so that names stay whole.
const MAX_COLUMN_PIPED: usize = 256;
/// The last column where the output is not a terminal.
const MAX_LAST_PIPED: usize = 200;

impl<const N: usize> Table<N> {
    /// An empty table.
    pub(crate) fn new(header: [&'static str; N]) -> Self {
        Self { header, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(text::line));
    }

    /// The table as text, for the terminal of `output`.
    pub(crate) fn render(&self, output: &Output) -> String {
        let max = if output.columns.is_some() { MAX_COLUMN } else { MAX_COLUMN_PIPED };
        let mut widths = self.header.map(text::columns);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(text::columns(cell)).min(max.max(*width));
            }
        }
        if let Some((last, before)) = widths.split_last_mut() {
            let taken = before.iter().map(|width| width + GAP).sum::<usize>();
            *last = output.columns.map_or(MAX_LAST_PIPED, |columns| columns.saturating_sub(taken).max(MIN_LAST));
        }
        let mut words = String::new();
        push_row(&mut words, &widths, &self.header.map(str::to_owned));
        for row in &self.rows {
            push_row(&mut words, &widths, row);
        }
        words
    }
}

fn push_row<const N: usize>(words: &mut String, widths: &[usize; N], cells: &[String; N]) {
    let mut line = String::new();
    for (index, (width, cell)) in widths.iter().zip(cells).enumerate() {
        let cell = text::cut(cell, *width);
        line.push_str(&cell);
        if index + 1 < N {
            let pad = width.saturating_sub(text::columns(&cell)) + GAP;
            line.extend(std::iter::repeat_n(' ', pad));
        }
    }
    let _ = writeln!(words, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(columns: Option<usize>) -> Output {
        Output { json: false, columns }
    }

    #[test]
    fn a_row_is_one_line_whatever_a_server_writes() {
        let mut table = Table::new(["NAME", "SAYS"]);
        table.row(["a\nb\x1b[1A", "fine\r\nforged  row"]);
        table.row(["\u{202e}abc", "x"]);
        let words = table.render(&output(Some(80)));
        assert_eq!(words.lines().count(), 3, "{words}");
        assert!(words.contains("a\\nb\\u{1b}[1A"), "{words}");
        assert!(words.contains("\\u{202e}abc"), "{words}");
    }

    #[test]
    fn what_does_not_fit_is_cut_with_a_mark() {
        let mut table = Table::new(["NAME", "SAYS"]);
        table.row(["name", &"word ".repeat(100)]);
        table.row(["宽字符", &"宽".repeat(100)]);
        let words = table.render(&output(Some(40)));
        for line in words.lines() {
            assert!(text::columns(line) <= 40, "{line}");
        }
        assert_eq!(words.matches('…').count(), 2);
    }

    #[test]
    fn names_stay_whole_outside_of_a_terminal() {
        let name = "n".repeat(90);
        let mut table = Table::new(["NAME", "SAYS"]);
        table.row([&name, "x"]);
        assert!(table.render(&output(None)).contains(&name));
    }
}
