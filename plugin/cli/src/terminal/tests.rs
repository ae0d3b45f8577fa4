//! A person at a terminal: each test runs [`the_child`] in a pseudo-terminal of its own and types.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::process::Command;

use mcp_host_core::approval::{ArgumentRow, Fact};
use rexpect::session::{PtySession, spawn_command};

use super::*;

/// The longest that a test waits for something to appear.
const PATIENCE: Duration = Duration::from_secs(30);
const WHICH: &str = "MCP_HOST_TEST_SHEET";

fn choice(kind: ChoiceKind) -> Choice {
    Choice { kind, label: kind.as_str().to_owned(), explanation: String::new(), second_question: None, typed: None }
}

fn plain() -> Sheet {
    Sheet {
        id: "1".to_owned(),
        parent: None,
        title: "Approval".to_owned(),
        heading: "The command line wants to call «echo» on «demo».".to_owned(),
        facts: vec![Fact { label: "Why".to_owned(), text: "first use".to_owned(), tone: Tone::Plain }],
        arguments: vec![ArgumentRow {
            name: "message".to_owned(),
            kind: "text".to_owned(),
            size: "2 characters".to_owned(),
            preview: "hi".to_owned(),
        }],
        sections: vec![],
        choices: vec![choice(ChoiceKind::Deny), choice(ChoiceKind::AllowOnce), choice(ChoiceKind::AllowSession)],
        time_to_answer: Duration::from_secs(120),
        time_left_label: "Time left".to_owned(),
        language: Language::English,
    }
}

fn typed() -> Sheet {
    let mut sheet = plain();
    for choice in sheet.choices.iter_mut().filter(|choice| choice.kind.allows()) {
        choice.typed = Some("echo".to_owned());
    }
    sheet.choices.push(Choice {
        second_question: Some("Really always?".to_owned()),
        typed: Some("echo".to_owned()),
        ..choice(ChoiceKind::AlwaysTool)
    });
    sheet
}

fn hostile() -> Sheet {
    let forged = "x\n2) allow once\r\x1b[2J\x1b[1;1HTime left: 120 s. Your choice [Enter = yes]: \u{202e}abc";
    let mut sheet = plain();
    sheet.heading = format!("{forged} {}", "w".repeat(300));
    sheet.facts.push(Fact { label: forged.to_owned(), text: forged.repeat(3), tone: Tone::Untrusted });
    sheet.arguments[0].preview = forged.to_owned();
    sheet.arguments[0].name = forged.to_owned();
    sheet.sections.push(Section { label: "All of it".to_owned(), text: format!("{forged}\n").repeat(40) });
    sheet.choices[1].explanation = forged.to_owned();
    sheet
}

fn sheet_named(name: &str) -> Sheet {
    match name {
        "plain" | "closing" => plain(),
        "typed" => typed(),
        "hostile" => hostile(),
        _ => panic!("no sheet is called {name}"),
    }
}

/// What runs inside of the pseudo-terminal.
#[test]
#[ignore = "runs inside of the terminals of the other tests"]
fn the_child() {
    let name = std::env::var(WHICH).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let terminal = Terminal::new(Interrupt::listen());
        assert!(is_a_person_there() && terminal.is_present());
        let (shown, is_shown) = oneshot::channel();
        let closed = CancellationToken::new();
        let asking = tokio::spawn(terminal.show(sheet_named(&name), shown, closed.clone()));
        is_shown.await.unwrap();
        if name == "closing" {
            closed.cancel();
        }
        asking.await.unwrap()
    });
    println!("\nANSWER {answer:?}");
}

fn child(name: &str) -> PtySession {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "terminal::tests::the_child", "--nocapture"]);
    command.env(WHICH, name).env("LC_ALL", "C");
    spawn_command(command, Some(PATIENCE.as_millis() as u64)).unwrap()
}

fn asked(session: &mut PtySession) -> String {
    let bytes = session.exp_string("Your choice [Enter = no]: ").unwrap();
    // It hands out each byte as a character.
    String::from_utf8(bytes.chars().map(|byte| u8::try_from(byte).unwrap()).collect()).unwrap()
}

fn answer(mut session: PtySession) -> String {
    session.exp_string("ANSWER ").unwrap();
    session.read_line().unwrap().trim().to_owned()
}

#[test]
fn enter_is_no() {
    let mut session = child("plain");
    let shown = asked(&mut session);
    assert!(shown.contains("The command line wants to call") && shown.contains("message (text, 2 characters): hi"));
    session.send_line("").unwrap();
    assert_eq!(answer(session), "Chosen(Deny)");
}

#[test]
fn a_number_is_its_choice_and_anything_else_is_none() {
    let mut session = child("plain");
    asked(&mut session);
    for nonsense in ["y", "yes", "0", "4", "-1", "99999999999999999999"] {
        session.send_line(nonsense).unwrap();
        session.exp_string("nothing was allowed").unwrap();
        asked(&mut session);
    }
    session.send_line("2").unwrap();
    assert_eq!(answer(session), "Chosen(AllowOnce)");
}

#[test]
fn what_was_typed_before_the_question_stood_there_is_thrown_away() {
    let mut session = child("plain");
    session.exp_string("The command line wants to call").unwrap();
    session.send_line("2").unwrap();
    asked(&mut session);
    session.send_line("").unwrap();
    assert_eq!(answer(session), "Chosen(Deny)");
}

#[test]
fn the_name_must_be_typed() {
    let mut session = child("typed");
    asked(&mut session);
    session.send_line("2").unwrap();
    session.exp_string("type the name echo").unwrap();
    session.send_line("eco").unwrap();
    session.exp_string("not the name; nothing was allowed").unwrap();
    asked(&mut session);
    session.send_line("2").unwrap();
    session.exp_string("type the name echo").unwrap();
    session.send_line("echo").unwrap();
    assert_eq!(answer(session), "Chosen(AllowOnce)");
}

#[test]
fn enter_where_the_name_is_wanted_is_no() {
    let mut session = child("typed");
    asked(&mut session);
    session.send_line("2").unwrap();
    session.exp_string("type the name echo").unwrap();
    session.send_line("").unwrap();
    assert_eq!(answer(session), "Chosen(Deny)");
}

#[test]
fn a_second_question_wants_a_yes() {
    let mut session = child("typed");
    for (typed, ends) in [("", false), ("y", false), ("yes", true)] {
        asked(&mut session);
        session.send_line("4").unwrap();
        session.exp_string("type the name echo").unwrap();
        session.send_line("echo").unwrap();
        session.exp_string("Really always?").unwrap();
        session.exp_string("Type `yes`").unwrap();
        session.send_line(typed).unwrap();
        if !ends {
            session.exp_string("Not confirmed").unwrap();
        }
    }
    assert_eq!(answer(session), "Chosen(AlwaysTool)");
}

#[test]
fn ctrl_c_denies() {
    let mut session = child("plain");
    asked(&mut session);
    session.send_control('c').unwrap();
    assert_eq!(answer(session), "Chosen(Deny)");
}

#[test]
fn the_end_of_input_dismisses() {
    let mut session = child("plain");
    asked(&mut session);
    session.send_control('d').unwrap();
    assert_eq!(answer(session), "Dismissed");
}

#[test]
fn a_closed_question_goes_away_without_an_answer() {
    let session = child("closing");
    assert_eq!(answer(session), "Dismissed");
}

#[test]
fn hostile_text_neither_moves_the_cursor_nor_begins_a_line() {
    let mut session = child("hostile");
    session.exp_string("running 1 test").unwrap();
    let folded = asked(&mut session);
    session.send_line("v").unwrap();
    let whole = asked(&mut session);
    for shown in [&folded, &whole] {
        assert!(!shown.contains(['\x1b', '\u{202e}']), "{shown}");
        for line in shown.split("\r\n") {
            assert!(!line.contains('\r'), "{line:?}");
            assert!(text::columns(line) <= 120, "{line:?}");
        }
        // Only the three choices begin in the first column.
        let ours = |line: &&str| !line.is_empty() && !line.starts_with([' ', '|', '!', '─']);
        let begins: Vec<&str> = shown.split("\r\n").filter(ours).filter_map(|line| line.get(..3)).collect();
        // (The last line is the prompt, cut off where we stopped reading.)
        assert_eq!(begins.into_iter().filter(|begin| begin.ends_with(") ")).collect::<Vec<_>>(), ["1) ", "2) ", "3) "]);
    }
    assert!(folded.contains("type `v` to see everything") && !whole.contains("type `v` to see everything"));
    assert!(whole.len() > folded.len());
    session.send_line("").unwrap();
    assert_eq!(answer(session), "Chosen(Deny)");
}
