//! Sheets on the screen: the product's face. Lays out what `approval` worded, and gives back one answer.
//!
//! | part | its one job |
//! | --- | --- |
//! | [`guard`] | when keys and buttons count at all |
//! | [`plan`] | which choice is a button, which stands in the second step |
//! | [`gtk`] | the dialog on Linux: ours, with every guard of policy.md §8 |
//! | [`steps`] | everywhere else: the system's message dialogs, one question after the other |
//! | [`words`] | the few words that are the dialog's own |
//!
//! What must never happen here: an answer that allows which nobody gave (Enter, Space, Escape, closing, the end of the
//! application, a click before the dialog could be read), text that is interpreted, text that is hidden.

#[cfg(gtk_dialog)]
pub(crate) mod gtk;
#[cfg_attr(not(gtk_dialog), allow(dead_code, reason = "dialogs in steps need less"))]
pub(crate) mod guard;
pub(crate) mod plan;
pub(crate) mod steps;
#[cfg_attr(not(gtk_dialog), allow(dead_code, reason = "dialogs in steps need less"))]
pub(crate) mod words;

use std::fmt::Write as _;

use mcp_host_core::approval::inert::is_invisible;

/// The last line of defence: sheets arrive inert, and nothing that would not be is shown as it is.
///
/// `lines`: newlines and tabs are kept (text of ours, and long sections).
pub(crate) fn defused(text: &str, lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' if lines => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if is_invisible(c) => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_live_is_shown_dead() {
        assert_eq!(defused("a\u{202e}b\u{0}c\r", true), "a\\u{202e}b\\u{0}c\\u{d}");
        assert_eq!(defused("one\ntwo\t3", true), "one\ntwo\t3");
        assert_eq!(defused("one\ntwo\t3", false), "one\\ntwo\\t3");
        assert_eq!(defused("<b>&amp;</b> 文件 é", false), "<b>&amp;</b> 文件 é");
    }
}
