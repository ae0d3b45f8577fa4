//! Asking the person on the controlling terminal: the same sheet as the native dialog, as text.
//!
//! The words are the core's; here they are laid out and an answer is read. Whatever is shown was made inert, is wrapped
//! by us and stands behind a gutter, so that no text of a stranger begins a line. Enter, the end of input, Ctrl-C and
//! everything that is not understood allow nothing; what was typed before the question stood there is thrown away.

mod tty;

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _},
    time::{Duration, Instant},
};

use mcp_host_core::{
    approval::{Answer, Choice, ChoiceKind, Language, Prompter, Section, Sheet, Tone},
    clock::BoxFuture,
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{
    interrupt::{Interrupt, Question},
    text,
};
use tty::{Read, Tty};

/// What is typed this soon after the question stands there was not meant for it.
const GUARD: Duration = Duration::from_millis(600);
/// A section longer than this is folded until the person asks for it.
const FOLD: usize = 24;
/// No line is laid out wider or narrower.
const COLUMNS: std::ops::RangeInclusive<usize> = 40..=120;

/// Whether a person can be asked: stdin and stderr are terminals.
pub(crate) fn is_a_person_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on the controlling terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    interrupt: Interrupt,
    language: Language,
}

impl Terminal {
    /// In the person's language.
    pub(crate) fn new(interrupt: Interrupt) -> Self {
        let variables = ["LC_ALL", "LC_MESSAGES", "LANG"];
        let locale = variables.into_iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let language = match locale {
            Some(locale) if locale.starts_with("zh") => Language::SimplifiedChinese,
            _ => Language::English,
        };
        Self { interrupt, language }
    }
}

impl Prompter for Terminal {
    fn show(&self, sheet: Sheet, shown: oneshot::Sender<()>, closed: CancellationToken) -> BoxFuture<Answer> {
        let question = self.interrupt.question();
        Box::pin(async move {
            let asking = tokio::task::spawn_blocking(move || match Tty::open() {
                Ok(tty) => ask(tty, &sheet, shown, &closed, &question).unwrap_or(Answer::Unavailable),
                Err(_) => Answer::Unavailable,
            });
            asking.await.unwrap_or(Answer::Unavailable)
        })
    }

    fn is_present(&self) -> bool {
        Tty::open().is_ok_and(|tty| tty.is_ours())
    }

    fn language(&self) -> Language {
        self.language
    }
}

/// Our own few words; all others come with the sheet.
struct Words {
    choose: &'static str,
    enter_is_no: &'static str,
    unknown: &'static str,
    type_name: &'static str,
    not_the_name: &'static str,
    second: &'static str,
    not_confirmed: &'static str,
    folded: &'static str,
    seconds: &'static str,
    closed: &'static str,
}

fn words(language: Language) -> &'static Words {
    match language {
        Language::English => &Words {
            choose: "Your choice",
            enter_is_no: "Enter = no",
            unknown: "That is none of the choices; nothing was allowed.",
            type_name: "To confirm, type the name",
            not_the_name: "That is not the name; nothing was allowed.",
            second: "Type `yes` to confirm",
            not_confirmed: "Not confirmed; nothing was allowed.",
            folded: "more lines; type `v` to see everything",
            seconds: "s",
            closed: "The question is closed.",
        },
        Language::SimplifiedChinese => &Words {
            choose: "您的选择",
            enter_is_no: "回车 = 否",
            unknown: "没有这个选项；未允许任何操作。",
            type_name: "请输入名称以确认",
            not_the_name: "名称不符；未允许任何操作。",
            second: "输入 `yes` 以确认",
            not_confirmed: "未确认；未允许任何操作。",
            folded: "行未显示；输入 `v` 查看全部",
            seconds: "秒",
            closed: "此问题已关闭。",
        },
    }
}

/// One question on the terminal, from the first line to the answer.
struct Asking<'a> {
    tty: Tty,
    sheet: &'a Sheet,
    words: &'static Words,
    closed: &'a CancellationToken,
    question: &'a Question,
    ends: Instant,
}

fn ask(
    tty: Tty,
    sheet: &Sheet,
    shown: oneshot::Sender<()>,
    closed: &CancellationToken,
    question: &Question,
) -> io::Result<Answer> {
    let ends = Instant::now().checked_add(sheet.time_to_answer).unwrap_or_else(Instant::now);
    let mut asking = Asking { tty, sheet, words: words(sheet.language), closed, question, ends };
    asking.write(&layout(sheet, asking.columns(), true))?;
    let _ = shown.send(());
    asking.settle()?;
    asking.answer()
}

impl Asking<'_> {
    fn columns(&self) -> usize {
        self.tty.columns().unwrap_or(80).clamp(*COLUMNS.start(), *COLUMNS.end())
    }

    fn write(&mut self, words: &str) -> io::Result<()> {
        self.tty.write(words.as_bytes())
    }

    /// Throws away what was typed before a person can have read the question.
    fn settle(&self) -> io::Result<()> {
        let until = Instant::now() + GUARD;
        while Instant::now() < until && !self.is_over() {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.tty.discard_input()
    }

    fn is_over(&self) -> bool {
        self.closed.is_cancelled() || self.question.refused().is_cancelled()
    }

    fn answer(&mut self) -> io::Result<Answer> {
        loop {
            let left = self.ends.saturating_duration_since(Instant::now()).as_secs();
            let prompt = format!(
                "{}: {left} {}. {} [{}]: ",
                text::line(&self.sheet.time_left_label),
                self.words.seconds,
                self.words.choose,
                self.words.enter_is_no
            );
            let typed = match self.read(&prompt)? {
                Ok(typed) => typed,
                Err(answer) => return Ok(answer),
            };
            match typed.as_str() {
                "" => return Ok(Answer::Chosen(ChoiceKind::Deny)),
                "v" | "V" => {
                    let whole = layout(self.sheet, self.columns(), false);
                    self.write(&whole)?;
                }
                number => match numbered(self.sheet, number) {
                    None => self.write(&format!("{}\n", self.words.unknown))?,
                    Some(choice) => {
                        if let Some(answer) = self.confirm(choice)? {
                            return Ok(answer);
                        }
                    }
                },
            }
        }
    }

    /// What a choice wants beyond its number. `None` = it was not given; the question stands again.
    fn confirm(&mut self, choice: &Choice) -> io::Result<Option<Answer>> {
        if let Some(name) = &choice.typed {
            let shown = text::line(name);
            let prompt = format!("{} {shown} [{}]: ", self.words.type_name, self.words.enter_is_no);
            match self.read(&prompt)? {
                Err(answer) => return Ok(Some(answer)),
                Ok(typed) if typed.is_empty() => return Ok(Some(Answer::Chosen(ChoiceKind::Deny))),
                // A name with characters that cannot be seen is typed as it is shown.
                Ok(typed) if typed == *name.trim() || typed == shown.trim() => {}
                Ok(_) => {
                    self.write(&format!("{}\n", self.words.not_the_name))?;
                    return Ok(None);
                }
            }
        }
        if let Some(second) = &choice.second_question {
            let mut lines = String::new();
            push_wrapped(&mut lines, "  ", &text::line(second), self.columns());
            self.write(&lines)?;
            match self.read(&format!("{} [{}]: ", self.words.second, self.words.enter_is_no))? {
                Err(answer) => return Ok(Some(answer)),
                Ok(typed) if typed.eq_ignore_ascii_case("yes") => {}
                Ok(_) => {
                    self.write(&format!("{}\n", self.words.not_confirmed))?;
                    return Ok(None);
                }
            }
        }
        Ok(Some(Answer::Chosen(choice.kind)))
    }

    /// Reads one line; the outer result is a broken terminal, the inner error the answer that ended the question.
    fn read(&mut self, prompt: &str) -> io::Result<Result<String, Answer>> {
        self.write(prompt)?;
        let (closed, refused) = (self.closed, self.question.refused());
        let read = self.tty.read_line(&|| closed.is_cancelled() || refused.is_cancelled())?;
        Ok(match read {
            Read::Line(line) => Ok(line.trim().to_owned()),
            Read::End => {
                self.write("\n")?;
                Err(Answer::Dismissed)
            }
            Read::Stopped if self.question.refused().is_cancelled() => {
                self.write("\n")?;
                Err(Answer::Chosen(ChoiceKind::Deny))
            }
            Read::Stopped => {
                self.write(&format!("\n{}\n", self.words.closed))?;
                Err(Answer::Dismissed)
            }
        })
    }
}

fn numbered<'a>(sheet: &'a Sheet, typed: &str) -> Option<&'a Choice> {
    let number: usize = typed.parse().ok()?;
    sheet.choices.get(number.checked_sub(1)?)
}

/// The sheet as lines: facts, arguments, what is long, the choices last, where the eye is when it stops.
fn layout(sheet: &Sheet, columns: usize, fold: bool) -> String {
    let mut out = String::from("\n");
    let rule: String = std::iter::repeat_n('─', columns.saturating_sub(text::columns(&sheet.title) + 4)).collect();
    let _ = writeln!(out, "── {} {rule}", text::cut(&text::line(&sheet.title), columns.saturating_sub(4)));
    push_wrapped(&mut out, "  ", &text::line(&sheet.heading), columns);
    out.push('\n');
    for fact in &sheet.facts {
        // A stranger's words are quoted by a bar of their own in front of each line.
        let mark = match fact.tone {
            Tone::Plain => "  ",
            Tone::Caution => "! ",
            Tone::Untrusted => "| ",
        };
        let label = text::line(&fact.label);
        push_wrapped(&mut out, mark, &format!("{label}: {}", fact.text), columns);
    }
    if !sheet.arguments.is_empty() {
        out.push('\n');
        for row in &sheet.arguments {
            let size = if row.size.is_empty() { String::new() } else { format!(", {}", row.size) };
            let line = format!("{} ({}{size}): {}", row.name, row.kind, row.preview);
            push_wrapped(&mut out, "| ", &text::line(&line), columns);
        }
    }
    for section in &sheet.sections {
        push_section(&mut out, section, sheet.language, columns, fold);
    }
    out.push('\n');
    for (index, choice) in sheet.choices.iter().enumerate() {
        let mut line = format!("{}) {}", index + 1, text::line(&choice.label));
        if !choice.explanation.is_empty() {
            let _ = write!(line, " – {}", text::line(&choice.explanation));
        }
        // Only a choice begins in the first column.
        let mut lines = String::new();
        push_wrapped(&mut lines, "   ", &line, columns);
        out.push_str(lines.trim_start());
    }
    out.push('\n');
    out
}

fn push_section(out: &mut String, section: &Section, language: Language, columns: usize, fold: bool) {
    out.push('\n');
    push_wrapped(out, "  ", &format!("{}:", text::line(&section.label)), columns);
    let lines = text::wrap(&text::lines(&section.text), columns.saturating_sub(2));
    let kept = if fold && lines.len() > FOLD + 4 { FOLD } else { lines.len() };
    for line in lines.iter().take(kept) {
        let _ = writeln!(out, "| {line}");
    }
    if kept < lines.len() {
        let _ = writeln!(out, "  … {} {}", lines.len() - kept, words(language).folded);
    }
}

/// Each line of `text` behind `gutter`, none wider than the terminal.
fn push_wrapped(out: &mut String, gutter: &str, text: &str, columns: usize) {
    for line in text::wrap(&text::lines(text), columns.saturating_sub(text::columns(gutter) + 1)) {
        let _ = writeln!(out, "{gutter}{line}");
    }
}

#[cfg(test)]
mod tests;
