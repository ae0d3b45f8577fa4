//! Which request a line answered, when the line itself cannot be used: too long to keep, or not valid JSON.
//!
//! Without this the request would wait for its time limit. The id may stand at the end (servers on the TypeScript SDK
//! write it last), so the line is looked through as it passes, and nothing of it is kept but the id.

use super::Id;

/// Looks for the id of an answer in a line that is given to it in pieces.
#[derive(Debug, Default)]
pub(in crate::session) struct IdFinder {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// At depth 1, before a colon.
    in_key: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    id: Option<Id>,
    is_answer: bool,
}

impl IdFinder {
    /// No key or id that matters is longer.
    const KEPT: usize = 256;

    /// Looks through the next piece.
    pub(in crate::session) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    /// The id, if the line was an answer (`result` or `error`) and had one.
    pub(in crate::session) fn found(self) -> Option<Id> {
        self.id.filter(|_| self.is_answer)
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 1 {
                    self.begin_member(byte == b'{');
                }
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => {
                self.end_member();
                self.begin_member(true);
            }
            b':' if self.depth == 1 => {
                self.in_key = false;
                self.value.clear();
                if matches!(self.key.as_slice(), br#""result""# | br#""error""#) {
                    self.is_answer = true;
                }
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn begin_member(&mut self, object: bool) {
        self.in_key = object;
        self.key.clear();
        self.value.clear();
    }

    fn end_member(&mut self) {
        if self.key == br#""id""# && self.id.is_none() {
            self.id = std::str::from_utf8(&self.value).ok().and_then(Id::read);
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth != 1 {
            return;
        }
        let kept = if self.in_key { &mut self.key } else { &mut self.value };
        if kept.len() < Self::KEPT {
            kept.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn find(line: &str) -> Option<Id> {
        let mut finder = IdFinder::default();
        finder.feed(line.as_bytes());
        finder.found()
    }

    #[test]
    fn the_id_is_found_first_last_and_in_between() {
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"id":8,"t":"\",\"id\":9"}}"#,
            r#"{"result":{"id":8,"t":["}",{"id":9}]},"jsonrpc":"2.0","id": 7 }"#,
            r#" {"error":{"code":1,"message":"id"},"id":7,"jsonrpc":"2.0"}"#,
            // Not JSON any more, but clear enough.
            r#"{"jsonrpc":"2.0","id":7,"result":{"x":NaN,"y":Infinity}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"text":"cut in the mid"#,
        ] {
            assert_eq!(find(line), Some(Id::Number(7)), "{line}");
        }
        assert_eq!(find(r#"{"id":"7","result":{}}"#), Some(Id::Text("7".to_owned())));
    }

    #[test]
    fn a_question_a_batch_and_a_log_line_answer_nothing() {
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"result":1}}"#,
            r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#,
            r#"{"id":{"id":7},"result":{}}"#,
            "id: 7, result: {",
            "",
        ] {
            assert_eq!(find(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(line in "[\\[\\]{}\",:idresult0-9\\\\ ]{0,80}", at in any::<prop::sample::Index>()) {
            let at = at.index(line.len() + 1);
            let mut pieces = IdFinder::default();
            pieces.feed(&line.as_bytes()[..at]);
            pieces.feed(&line.as_bytes()[at..]);
            prop_assert_eq!(pieces.found(), find(&line));
        }
    }
}
