//! A sheet as a chain of the system's message dialogs, for where we have no dialog of our own.
//!
//! Such a dialog has at most three buttons, and what Escape gives differs by system: it may be the last one. So in each
//! step the first button denies and the last leads nowhere (cancel, or on to the next step); only the middle one ever
//! allows. What came sooner than a person can read counts as not pressed: the step comes again. What these dialogs
//! cannot do (close by themselves, notice that they are covered) is said in them.

use mcp_host_core::approval::{Answer, ChoiceKind, Sheet, Tone};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{defused, guard::STILL, plan::Plan, words::Words};

/// Lines of one step: a stock dialog with more grows off a small screen.
const LINES: usize = 22;
/// Characters of a line before it counts as several.
const COLUMNS: usize = 90;
/// Steps of text. A longer question cannot be read like this, and is not allowed like this.
const MAX_PARTS: usize = 40;
/// How often a step comes again because it was pressed too early, before the question counts as closed.
const MAX_HASTE: usize = 20;

/// One message dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) title: String,
    pub(crate) text: String,
    /// Denies, acts, leads nowhere.
    pub(crate) buttons: [String; 3],
}

/// Which of a step's buttons was pressed. Whatever is none of the first two is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pressed {
    First,
    Middle,
    Last,
}

/// Shows one message dialog. The system behind it, and a test's person.
pub(crate) trait Screen {
    fn show(&mut self, step: Step) -> impl Future<Output = Pressed> + Send;
}

/// What the middle button of a step does.
enum Act {
    /// On to the next.
    Next,
    /// This choice; `Some`: asked once more before it counts.
    Choose(ChoiceKind, Option<String>),
}

/// Asks, step by step. `shown` is called before the first.
pub(crate) async fn ask(
    sheet: &Sheet,
    screen: &mut impl Screen,
    closed: &CancellationToken,
    shown: impl FnOnce(),
) -> Answer {
    let words = Words::of(sheet.language);
    let plan = Plan::of(sheet);
    let title = defused(&sheet.title, false);
    let deny = distinct(&plan.deny.label, &[]);
    shown();
    let parts = parts(sheet, words);
    if parts.len() > MAX_PARTS {
        let step = Step {
            title,
            text: format!("{}\n\n{}", defused(&sheet.heading, true), words.too_long),
            buttons: [deny.clone(), distinct(words.next, &[&deny]), distinct(words.cancel, &[&deny, words.next])],
        };
        return match press(screen, step, closed).await {
            Some(Pressed::First) => Answer::Chosen(plan.deny.kind),
            _ => Answer::Dismissed,
        };
    }

    // The text first, all of it; then the choices, smallest first.
    let count = parts.len();
    let mut steps: Vec<(String, String, Act)> = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let number = if count > 1 { format!("{} {}/{count}\n\n", words.part, at + 1) } else { String::new() };
        steps.push((format!("{number}{part}"), words.next.to_owned(), Act::Next));
    }
    for choice in plan.yes.iter().chain(&plan.more) {
        let text = format!(
            "{}\n\n{}\n{}\n\n{}",
            defused(&sheet.heading, true),
            defused(&choice.label, false),
            defused(&choice.explanation, true),
            words.limits
        );
        steps.push((text, choice.label.clone(), Act::Choose(choice.kind, choice.second_question.clone())));
    }

    let last = steps.len().saturating_sub(1);
    for (at, (text, label, act)) in steps.into_iter().enumerate() {
        let middle = distinct(&label, &[&deny]);
        // In a step of text the last button closes; from the first choice on it goes to the next choice.
        let onwards = matches!(act, Act::Choose(..)) && at < last;
        let end = distinct(if onwards { words.other } else { words.cancel }, &[&deny, &middle]);
        let step = Step { title: title.clone(), text, buttons: [deny.clone(), middle, end] };
        match (press(screen, step, closed).await, act) {
            (Some(Pressed::First), _) => return Answer::Chosen(plan.deny.kind),
            (Some(Pressed::Middle), Act::Next) => {}
            (Some(Pressed::Middle), Act::Choose(kind, None)) => return Answer::Chosen(kind),
            (Some(Pressed::Middle), Act::Choose(kind, Some(question))) => {
                let yes = distinct(&format!("{}{label}", words.yes), &[&deny]);
                let cancel = distinct(words.cancel, &[&deny, &yes]);
                let text = format!("{}\n\n{}", words.sure_heading, defused(&question, true));
                let step = Step { title, text, buttons: [deny, yes, cancel] };
                return match press(screen, step, closed).await {
                    Some(Pressed::First) => Answer::Chosen(plan.deny.kind),
                    Some(Pressed::Middle) => Answer::Chosen(kind),
                    Some(Pressed::Last) | None => Answer::Dismissed,
                };
            }
            (Some(Pressed::Last), Act::Choose(..)) if onwards => {}
            (Some(Pressed::Last) | None, _) => return Answer::Dismissed,
        }
    }
    Answer::Dismissed
}

/// Shows a step until it was pressed by somebody who can have seen it. `None`: withdrawn, or pressed in haste for ever.
async fn press(screen: &mut impl Screen, step: Step, closed: &CancellationToken) -> Option<Pressed> {
    for _ in 0..MAX_HASTE {
        if closed.is_cancelled() {
            return None;
        }
        let shown = Instant::now();
        let pressed = screen.show(step.clone()).await;
        // It cannot be closed from here; what is pressed after the end is void.
        if closed.is_cancelled() {
            return None;
        }
        if shown.elapsed() >= STILL {
            return Some(pressed);
        }
    }
    None
}

/// A label that none of `others` has: what was pressed is told by its label.
fn distinct(label: &str, others: &[&str]) -> String {
    let mut label = defused(label, false);
    while others.contains(&label.as_str()) {
        label.push('…');
    }
    label
}

/// The whole sheet as text, in pieces that fit on a screen.
fn parts(sheet: &Sheet, words: &Words) -> Vec<String> {
    let mut text = defused(&sheet.heading, true);
    text.push('\n');
    for fact in &sheet.facts {
        let label = defused(&fact.label, false);
        let line = match fact.tone {
            Tone::Plain => format!("\n{label}: {}", defused(&fact.text, true)),
            Tone::Caution => format!("\n! {label} ({}): {}", words.caution, defused(&fact.text, true)),
            Tone::Untrusted => format!("\n{label} ({}): «{}»", words.quoted, defused(&fact.text, false)),
        };
        text.push_str(&line);
    }
    if !sheet.arguments.is_empty() {
        text.push_str(&format!("\n\n{}", words.arguments));
        for row in &sheet.arguments {
            let cell = |text: &str| defused(text, false);
            let (name, kind, size, value) = (cell(&row.name), cell(&row.kind), cell(&row.size), cell(&row.preview));
            text.push_str(&format!("\n· {name} ({kind}, {size}): {value}"));
        }
    }
    for section in &sheet.sections {
        text.push_str(&format!("\n\n{}\n{}", defused(&section.label, false), defused(&section.text, true)));
    }

    let mut parts = Vec::new();
    let (mut part, mut height) = (String::new(), 0);
    for line in text.lines() {
        let chars: Vec<char> = line.chars().collect();
        let pieces: Vec<String> = if chars.is_empty() {
            vec![String::new()]
        } else {
            chars.chunks(COLUMNS * LINES).map(|piece| piece.iter().collect()).collect()
        };
        for piece in pieces {
            let lines = piece.chars().count().div_ceil(COLUMNS).max(1);
            if height + lines > LINES && !part.is_empty() {
                parts.push(std::mem::take(&mut part));
                height = 0;
            }
            part.push_str(&piece);
            part.push('\n');
            height += lines;
        }
    }
    if !part.trim().is_empty() {
        parts.push(part);
    }
    parts
}

/// The system's own message dialogs.
pub(crate) struct SystemScreen<R: tauri::Runtime> {
    pub(crate) app: tauri::AppHandle<R>,
    /// The window to be modal to.
    pub(crate) parent: Option<tauri::WebviewWindow<R>>,
}

impl<R: tauri::Runtime> Screen for SystemScreen<R> {
    async fn show(&mut self, step: Step) -> Pressed {
        use tauri::Manager;
        use tauri_plugin_dialog::{DialogExt, MessageDialogButtons, MessageDialogKind, MessageDialogResult};
        // An application with a dialog of ours never needed it.
        if self.app.try_state::<tauri_plugin_dialog::Dialog<R>>().is_none()
            && let Err(error) = self.app.plugin(tauri_plugin_dialog::init())
        {
            tracing::error!(%error, "the system's dialogs cannot be used");
            return Pressed::Last;
        }
        let [first, middle, last] = step.buttons;
        let buttons = MessageDialogButtons::YesNoCancelCustom(first.clone(), middle.clone(), last);
        let mut dialog =
            self.app.dialog().message(step.text).title(step.title).kind(MessageDialogKind::Warning).buttons(buttons);
        if let Some(parent) = &self.parent {
            dialog = dialog.parent(parent);
        }
        let (sender, answer) = tokio::sync::oneshot::channel();
        dialog.show_with_result(move |result| {
            let _ = sender.send(match result {
                MessageDialogResult::Custom(label) if label == first => Pressed::First,
                MessageDialogResult::Custom(label) if label == middle => Pressed::Middle,
                // Some systems name a custom button by its place.
                MessageDialogResult::Yes => Pressed::First,
                MessageDialogResult::No => Pressed::Middle,
                _ => Pressed::Last,
            });
        });
        answer.await.unwrap_or(Pressed::Last)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::{collections::VecDeque, time::Duration};

    use mcp_host_core::approval::{ArgumentRow, Choice, Fact, Language, Section};

    use super::*;

    /// Presses as told, each time after the step has stood long enough; then the last button for ever.
    struct Person {
        presses: VecDeque<Pressed>,
        hasty: usize,
        seen: Vec<Step>,
        withdraw_at: Option<usize>,
        closed: CancellationToken,
    }

    impl Person {
        fn new(presses: &[Pressed]) -> Self {
            let presses = presses.iter().copied().collect();
            Self { presses, hasty: 0, seen: Vec::new(), withdraw_at: None, closed: CancellationToken::new() }
        }

        async fn answer(&mut self, sheet: &Sheet) -> Answer {
            let closed = self.closed.clone();
            ask(sheet, self, &closed, || {}).await
        }
    }

    impl Screen for Person {
        async fn show(&mut self, step: Step) -> Pressed {
            self.seen.push(step);
            if self.hasty > 0 {
                self.hasty -= 1;
                return Middle;
            }
            tokio::time::sleep(STILL).await;
            if self.withdraw_at == Some(self.seen.len()) {
                self.closed.cancel();
            }
            self.presses.pop_front().unwrap_or(Last)
        }
    }

    fn sheet() -> Sheet {
        let choice = |kind: ChoiceKind, second: Option<&str>| Choice {
            kind,
            label: format!("do {}", kind.as_str()),
            explanation: "what it means".to_owned(),
            second_question: second.map(str::to_owned),
            typed: None,
        };
        Sheet {
            id: "1".to_owned(),
            parent: None,
            title: "Permission".to_owned(),
            heading: "A wants B".to_owned(),
            facts: vec![Fact { label: "It says".to_owned(), text: "evil\nWho: you".to_owned(), tone: Tone::Untrusted }],
            arguments: vec![ArgumentRow {
                name: "path".to_owned(),
                kind: "text".to_owned(),
                size: "1".to_owned(),
                preview: "/tmp/one".to_owned(),
            }],
            sections: vec![Section { label: "All".to_owned(), text: "{}".to_owned() }],
            choices: vec![
                choice(ChoiceKind::Deny, None),
                choice(ChoiceKind::AllowOnce, None),
                choice(ChoiceKind::AlwaysTool, Some("really?")),
                choice(ChoiceKind::Never, None),
            ],
            time_to_answer: Duration::from_secs(120),
            time_left_label: "Time left".to_owned(),
            language: Language::English,
        }
    }

    use Pressed::{First, Last, Middle};

    #[tokio::test(start_paused = true)]
    async fn the_first_button_denies_in_every_step_and_the_last_never_allows() {
        let sheet = sheet();
        for depth in 0..5 {
            let mut presses = vec![Middle];
            presses.extend(std::iter::repeat_n(Last, depth));
            presses.truncate(depth);
            presses.push(First);
            let answer = Person::new(&presses).answer(&sheet).await;
            assert!(matches!(answer, Answer::Chosen(ChoiceKind::Deny) | Answer::Dismissed), "{depth}: {answer:?}");
        }
        // Escape all the way: on a system where it is the last button.
        assert_eq!(Person::new(&[]).answer(&sheet).await, Answer::Dismissed);
        assert_eq!(Person::new(&[Middle, Last, Last, Last, Last]).answer(&sheet).await, Answer::Dismissed);
    }

    #[tokio::test(start_paused = true)]
    async fn each_choice_is_reached_and_always_is_asked_twice() {
        let sheet = sheet();
        assert_eq!(Person::new(&[Middle, Middle]).answer(&sheet).await, Answer::Chosen(ChoiceKind::AllowOnce));
        let always = [Middle, Last, Middle, Middle];
        assert_eq!(Person::new(&always).answer(&sheet).await, Answer::Chosen(ChoiceKind::AlwaysTool));
        assert_eq!(Person::new(&[Middle, Last, Middle, Last]).answer(&sheet).await, Answer::Dismissed);
        let never = [Middle, Last, Last, Middle];
        assert_eq!(Person::new(&never).answer(&sheet).await, Answer::Chosen(ChoiceKind::Never));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_pressed_in_haste_was_not_pressed() {
        let mut person = Person::new(&[First]);
        person.hasty = 3;
        assert_eq!(person.answer(&sheet()).await, Answer::Chosen(ChoiceKind::Deny));
        assert_eq!(person.seen.len(), 4);
        assert!(person.seen.windows(2).all(|pair| pair[0] == pair[1]), "the same step came again");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_after_the_request_was_withdrawn_is_void() {
        let mut person = Person::new(&[Middle, Middle]);
        person.withdraw_at = Some(2);
        assert_eq!(person.answer(&sheet()).await, Answer::Dismissed);
    }

    #[tokio::test(start_paused = true)]
    async fn everything_is_read_in_steps_that_fit_or_cannot_be_allowed() {
        let mut sheet = sheet();
        sheet.sections[0].text = (0..200).map(|n| format!("line {n}\n")).collect();
        let mut person = Person::new(&[Middle; 30]);
        assert_eq!(person.answer(&sheet).await, Answer::Chosen(ChoiceKind::AllowOnce));
        let text: String = person.seen.iter().map(|step| step.text.as_str()).collect();
        assert!((0..200).all(|n| text.contains(&format!("line {n}\n"))));
        assert!(text.contains("evil\\nWho: you"), "a newline of a stranger forges no line of ours");
        for step in &person.seen {
            let lines: usize = step.text.lines().map(|line| line.chars().count().div_ceil(COLUMNS).max(1)).sum();
            assert!(lines <= LINES + 4, "{lines} lines:\n{}", step.text);
            let [first, middle, last] = &step.buttons;
            assert!(first != middle && middle != last && first != last);
        }

        sheet.sections[0].text = "x".repeat(100_000);
        assert_eq!(Person::new(&[Middle; 60]).answer(&sheet).await, Answer::Dismissed);
        assert_eq!(Person::new(&[First]).answer(&sheet).await, Answer::Chosen(ChoiceKind::Deny));
    }
}
