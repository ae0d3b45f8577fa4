//! Text of strangers, made harmless to look at: no character that moves, hides, reverses or piles up.
//!
//! Used by the dialog, the settings window and the terminal alike. It changes what is *shown*, never what is sent.

use std::fmt::Write as _;

use unicode_general_category::{GeneralCategory, get_general_category};

/// How many combining marks may follow each other before the rest is made visible.
const MAX_MARKS: usize = 4;
/// Blank characters in a row, from which on they are counted instead of shown.
const MAX_BLANKS: usize = 16;
/// Empty lines in a row, from which on they are counted instead of shown.
const MAX_BLANK_LINES: usize = 3;
/// Where long lines are broken.
const COLUMNS: usize = 200;

/// One line: everything that could leave it (newline, tab, control, bidirectional…) is escaped.
pub fn inert(text: &str) -> String {
    escape(text, false)
}

/// One line of at most `max` characters; a cut is marked with `…` and the number of characters left out.
pub fn line(text: &str, max: usize) -> String {
    let mut kept: String = text.chars().take(max).collect();
    let left_out = text.chars().skip(max).count();
    kept = inert(&kept);
    if left_out > 0 {
        let _ = write!(kept, "… ⟨{left_out} more characters⟩");
    }
    kept
}

/// Several lines: newlines and tabs stay, long lines are wrapped at 200 columns, floods of blanks are counted.
pub fn block(text: &str) -> String {
    let escaped = escape(text, true);
    let mut out = String::with_capacity(escaped.len());
    let mut blank_lines = 0_usize;
    for line in escaped.split('\n') {
        if line.trim().is_empty() {
            blank_lines += 1;
            continue;
        }
        flush_blank_lines(&mut out, &mut blank_lines);
        push_wrapped(&mut out, &collapse_blanks(line));
    }
    flush_blank_lines(&mut out, &mut blank_lines);
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// A name for a sentence: one line, quoted, and marked when it holds letters that can pass for ASCII ones.
pub fn name(text: &str) -> String {
    let shown = line(text, 128);
    if text.is_ascii() { format!("«{shown}»") } else { format!("«{shown}» ⟨not plain ASCII⟩") }
}

fn flush_blank_lines(out: &mut String, count: &mut usize) {
    if *count > MAX_BLANK_LINES {
        let _ = writeln!(out, "⟨{count} blank lines⟩");
    } else {
        out.extend(std::iter::repeat_n('\n', *count));
    }
    *count = 0;
}

fn collapse_blanks(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find([' ', '\t']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let run = from.len() - from.trim_start_matches([' ', '\t']).len();
        let (blanks, after) = from.split_at(run);
        // Indentation is meant; only absurd amounts of it are not.
        if run > MAX_BLANKS * if before.is_empty() && out.is_empty() { 8 } else { 1 } {
            let _ = write!(out, "⟨{run} blanks⟩");
        } else {
            out.push_str(blanks);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn push_wrapped(out: &mut String, line: &str) {
    for (index, c) in line.chars().enumerate() {
        if index > 0 && index % COLUMNS == 0 {
            out.push('\n');
        }
        out.push(c);
    }
    out.push('\n');
}

fn escape(text: &str, keep_lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut marks = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if is_mark(c) {
            marks += 1;
        } else {
            marks = 0;
        }
        match c {
            // A line end as Windows writes it is one line end; a lone `\r` would overwrite the line.
            '\r' if keep_lines && chars.peek() == Some(&'\n') => {}
            '\n' | '\t' if keep_lines => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if is_invisible(c) || marks > MAX_MARKS => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out
}

fn is_mark(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    !c.is_ascii() && matches!(get_general_category(c), NonspacingMark | SpacingMark | EnclosingMark)
}

/// Whether a reader cannot see `c` as what it is: control, format (bidirectional, zero-width, tags), private, unassigned,
/// line and paragraph separators, unusual spaces, and letters that draw nothing.
pub fn is_invisible(c: char) -> bool {
    use GeneralCategory::{
        Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator, Surrogate, Unassigned,
    };
    if c == ' ' || c.is_ascii_graphic() {
        return false;
    }
    match get_general_category(c) {
        Control | Format | PrivateUse | Surrogate | Unassigned | LineSeparator | ParagraphSeparator => true,
        // U+3000 is the usual space of Chinese and Japanese text.
        SpaceSeparator => c != '\u{3000}',
        _ => matches!(
            c,
            // Fillers, the blank Braille pattern and variation selectors: drawn as nothing.
            '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' | '\u{17b4}' | '\u{17b5}' | '\u{34f}'
                | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_reverses_hides_or_moves_is_written_out() {
        assert_eq!(inert("a\u{202e}b\u{200b}c\u{feff}"), "a\\u{202e}b\\u{200b}c\\u{feff}");
        assert_eq!(inert("\x1b[31mred\r\n"), "\\u{1b}[31mred\\r\\n");
        assert_eq!(inert("tag\u{e0041}"), "tag\\u{e0041}");
        assert_eq!(inert("plain 汉字 é 🙂"), "plain 汉字 é 🙂");
    }

    #[test]
    fn a_flood_of_marks_ends() {
        let flood = format!("a{}", "\u{301}".repeat(50));
        assert_eq!(inert(&flood).matches("\\u{301}").count(), 50 - MAX_MARKS);
    }

    #[test]
    fn floods_of_blanks_and_lines_are_counted() {
        assert_eq!(block(&format!("a{}b", "\n".repeat(313))), "a\n⟨312 blank lines⟩\nb");
        assert_eq!(block(&format!("a{}b", " ".repeat(40))), "a⟨40 blanks⟩b");
        assert_eq!(block("a\n\n  b\r\nc"), "a\n\n  b\nc");
    }

    #[test]
    fn long_lines_are_wrapped() {
        let wrapped = block(&"x".repeat(450));
        assert_eq!(wrapped.lines().map(str::len).collect::<Vec<_>>(), [200, 200, 50]);
    }

    #[test]
    fn a_cut_is_marked() {
        assert_eq!(line("abcdef", 3), "abc… ⟨3 more characters⟩");
    }

    #[test]
    fn a_name_outside_of_ascii_is_marked() {
        assert_eq!(name("read"), "«read»");
        assert!(name("re\u{0430}d").ends_with("⟨not plain ASCII⟩"));
    }

    proptest! {
        #[test]
        fn nothing_invisible_survives(text in any::<String>()) {
            prop_assert!(!inert(&text).chars().any(is_invisible));
            prop_assert!(!block(&text).chars().any(|c| is_invisible(c) && c != '\n' && c != '\t'));
        }
    }
}
