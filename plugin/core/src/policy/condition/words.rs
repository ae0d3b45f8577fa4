//! Command lines in arguments: whether one begins with the words that a rule names, and is one command and no more.

/// The signs that make more of a line than one command, or something else of a word than it says.
const SHELL_SIGNS: [char; 9] = [';', '|', '&', '<', '>', '(', ')', '$', '`'];

/// The words of a line that a shell reads as one plain command; `None` where it might do more.
pub fn plain_words(line: &str) -> Option<Vec<String>> {
    let more = |character: char| {
        SHELL_SIGNS.contains(&character)
            || (character != '\t' && character.is_control())
            || matches!(character, '\u{2028}' | '\u{2029}')
            || (cfg!(windows) && matches!(character, '%' | '^'))
    };
    if line.contains(more) {
        return None;
    }
    let trailing = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
    // The next line would go on here; an open quote is an error of the splitter's.
    if trailing % 2 == 1 { None } else { shell_words::split(line).ok() }
}

/// A rule's words.
#[derive(Clone, Debug)]
pub struct WordPrefix(Vec<String>);

impl WordPrefix {
    /// Takes one or more plain words. The error says what is wrong, in words.
    pub fn new(words: &str) -> Result<Self, &'static str> {
        match plain_words(words) {
            Some(words) if words.iter().any(|word| !word.is_empty()) => Ok(Self(words)),
            Some(_) => Err("it has no word"),
            None => Err("it has an open quote or a sign that a shell acts on (; | & < > ( ) $ ` or a newline)"),
        }
    }

    /// Whether an allow that names these words covers the line.
    pub fn permits(&self, line: &str) -> bool {
        plain_words(line).is_some_and(|words| words.starts_with(&self.0))
    }

    /// Whether a deny that names these words stops the line: also behind `NAME=value`, and by the program's path.
    pub fn forbids(&self, line: &str) -> bool {
        let Some(words) = plain_words(line) else { return true };
        let mut words = words.iter().map(String::as_str).skip_while(|word| is_assignment(word));
        let mut prefix = self.0.iter().map(String::as_str);
        let (Some(program), Some(named)) = (words.next(), prefix.next()) else { return false };
        let by_path = program.rsplit(['/', '\\']).next() == Some(named);
        (program == named || by_path) && prefix.all(|word| words.next() == Some(word))
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_compared() {
        let status = WordPrefix::new("git status").unwrap();
        for line in ["git status", "git  status -s", " git\tstatus", "'git' \"status\" x", "g\\it status"] {
            assert!(status.permits(line), "{line}");
        }
        for line in
            ["git", "git statusx", "git push", "gitstatus", "git -c a=b status", "X=1 git status", "'git status'", ""]
        {
            assert!(!status.permits(line), "{line}");
        }
    }

    #[test]
    fn what_is_more_than_one_command_is_never_allowed_and_always_denied() {
        let status = WordPrefix::new("git status").unwrap();
        let other = WordPrefix::new("rm").unwrap();
        for line in [
            "git status; rm -rf /",
            "git status && rm x",
            "git status | sh",
            "git status > /etc/passwd",
            "git status < x",
            "git status $(rm x)",
            "git status ${IFS}x",
            "git status `rm x`",
            "git status\nrm x",
            "git status\rrm x",
            "git status & rm x",
            "git status (x)",
            "git status 'open",
            "git status \"open",
            "git status \\",
            "git status \0",
            "git status \u{1b}[2J",
            "git status \u{2028}rm",
            "git status \"$HOME\"",
        ] {
            assert!(!status.permits(line), "{line:?}");
            assert!(other.forbids(line), "{line:?}");
        }
    }

    #[test]
    fn a_denied_program_is_found_behind_its_path_and_assignments() {
        let rm = WordPrefix::new("rm -rf").unwrap();
        for line in ["rm -rf /", "/bin/rm -rf x", "A=1 B='x y' rm -rf x", "\\rm -rf x", "'r'm -rf x", "..\\\\rm -rf x"]
        {
            assert!(rm.forbids(line), "{line}");
        }
        for line in ["rm x", "ls -la", "echo rm -rf", "rmdir -rf x", "1=2 rm -rf", ""] {
            assert!(!rm.forbids(line), "{line}");
        }
    }

    #[test]
    fn a_rule_names_plain_words() {
        for words in ["", "  ", "''", "git; rm", "git 'x", "$X"] {
            assert!(WordPrefix::new(words).is_err(), "{words}");
        }
    }
}
