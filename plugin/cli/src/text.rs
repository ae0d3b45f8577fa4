//! Text for a terminal: inert, and as wide as it is. Knows nothing of commands.

use mcp_host_core::approval::inert;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// One inert line.
pub(crate) fn line(text: &str) -> String {
    inert::inert(text)
}

/// Inert lines: line ends and tabs stay, nothing else that could move the cursor.
pub(crate) fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        // A line end as Windows writes it is one line end; a lone `\r` would overwrite the line.
        let line = line.strip_suffix('\r').unwrap_or(line);
        for (index, part) in line.split('\t').enumerate() {
            if index > 0 {
                out.push('\t');
            }
            out.push_str(&inert::inert(part));
        }
    }
    out
}

/// How many columns `text` takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// `text` in at most `max` columns; a cut is marked with `…`.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if columns(text) <= max {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if used + width + 1 > max {
            break;
        }
        used += width;
        out.push(c);
    }
    out.push('…');
    out
}

/// The lines of `text`, none wider than `max` columns, so that the terminal never breaks one by itself: what it breaks
/// starts in the first column, where only our own lines may start.
pub(crate) fn wrap(text: &str, max: usize) -> Vec<String> {
    let max = max.max(2);
    let mut out = Vec::new();
    for line in text.split('\n') {
        let mut rest = String::new();
        let mut used = 0;
        for c in line.replace('\t', "    ").chars() {
            let width = c.width().unwrap_or(0);
            if used + width > max {
                // Break at the last blank where there is one in the second half of the line.
                let tail = match rest.rfind(' ') {
                    Some(at) if c != ' ' && at * 2 > rest.len() => rest.split_off(at + 1),
                    _ => String::new(),
                };
                out.push(rest.trim_end().to_owned());
                used = columns(&tail);
                rest = tail;
            }
            rest.push(c);
            used += width;
        }
        out.push(rest);
    }
    out
}

/// Bytes as a person reads them.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// A moment (RFC 3339, UTC) in the person's own time, to the second.
pub(crate) fn local(time: &str) -> String {
    match time.parse::<jiff::Timestamp>() {
        Ok(at) => at.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => time.to_owned(),
    }
}

/// The width of the terminal that stdout is; `None` where it is none.
pub(crate) fn columns_of_stdout() -> Option<usize> {
    columns_of(&std::io::stdout())
}

/// The width of the terminal that stderr is; `None` where it is none.
pub(crate) fn columns_of_stderr() -> Option<usize> {
    columns_of(&std::io::stderr())
}

#[cfg(unix)]
fn columns_of(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    // A terminal that does not know its width says 0.
    Some(if size.ws_col == 0 { 80 } else { usize::from(size.ws_col).max(20) })
}

#[cfg(not(unix))]
fn columns_of(stream: &impl std::io::IsTerminal) -> Option<usize> {
    stream.is_terminal().then_some(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_tabs_stay_and_nothing_else_moves_the_cursor() {
        assert_eq!(lines("a\tb\r\nc\rd\x1b[A"), "a\tb\nc\\rd\\u{1b}[A");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(cut("宽宽宽", 5), "宽宽…");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }

    #[test]
    fn no_line_is_wider_than_asked_and_nothing_is_lost() {
        let text = format!("{} {}\n{}", "word ".repeat(30), "x".repeat(90), "宽".repeat(50));
        let wrapped = wrap(&text, 20);
        assert!(wrapped.iter().all(|line| columns(line) <= 20), "{wrapped:?}");
        let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        assert_eq!(visible(&wrapped.concat()), visible(&text));
    }
}
