//! Which question is shown when: one at a time, an agent's before a page's, few waiting, none for ever.
//!
//! Neighbours: `wording` makes the sheets, a `Prompter` shows them, `gate` turns the answer into an approval. It knows
//! nothing of rules; it must never invent an answer that allows.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::{Answer, ChoiceKind, Prompter, Sheet};
use crate::{
    clock::Clock,
    model::{Caller, CallerKind, ServerId},
};

/// How long a question may wait for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// Between the end of one dialog and the next.
const GAP: Duration = Duration::from_millis(600);
/// Questions that may wait in all.
const MOST_WAITING: usize = 8;
/// Questions that may wait for one server.
const MOST_PER_SERVER: usize = 3;

/// A question and whose it is.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who asks.
    pub caller: Caller,
    /// About which server.
    pub server: Option<ServerId>,
    /// The tool, resource or prompt; or what else is to be confirmed.
    pub name: String,
    /// What is shown.
    pub sheet: Sheet,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The person chose.
    Chosen(ChoiceKind),
    /// The person closed it.
    Dismissed,
    /// Nobody answered in time, or its turn never came.
    TimedOut,
    /// Too many wait already; it was not queued.
    Busy,
    /// There is nobody to ask.
    Unavailable,
    /// The caller took it back, or what it was about changed.
    Withdrawn,
}

/// A question that waits or is shown, for the settings window.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The question.
    pub question: Question,
    /// It is in a dialog now.
    pub shown: bool,
    /// When it was asked.
    pub asked_at: jiff::Timestamp,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// Lower is sooner.
    rank: u8,
    shown: bool,
    waiting: Waiting,
    withdraw: CancellationToken,
}

#[derive(Debug, Default)]
struct Line {
    entries: Vec<Entry>,
    next_number: u64,
    /// When the last dialog went away, on the monotonic clock.
    last_closed: Option<Duration>,
}

/// The line before the one dialog.
pub struct Queue {
    prompter: Option<Arc<dyn Prompter>>,
    clock: Arc<dyn Clock>,
    line: Mutex<Line>,
    moved: Notify,
}

impl Queue {
    /// A queue before `prompter`; without one every question is [`Outcome::Unavailable`].
    pub fn new(prompter: Option<Arc<dyn Prompter>>, clock: Arc<dyn Clock>) -> Self {
        Self { prompter, clock, line: Mutex::default(), moved: Notify::new() }
    }

    /// Whether somebody can be asked.
    pub fn is_present(&self) -> bool {
        self.prompter.as_ref().is_some_and(|prompter| prompter.is_present())
    }

    /// The language of the person.
    pub fn language(&self) -> super::Language {
        self.prompter.as_ref().map(|prompter| prompter.language()).unwrap_or_default()
    }

    /// Asks, and waits for the turn and the answer. Dropping the future withdraws the question.
    ///
    /// `on_shown` is called once, when the person can see it.
    pub async fn ask(&self, question: Question, cancel: &CancellationToken, on_shown: &(dyn Fn() + Sync)) -> Outcome {
        let Some(prompter) = self.prompter.clone().filter(|prompter| prompter.is_present()) else {
            return Outcome::Unavailable;
        };
        let sheet = question.sheet.clone();
        let Some(place) = self.join(question, cancel.child_token()) else { return Outcome::Busy };
        tokio::select! {
            biased;
            () = place.withdraw.cancelled() => return Outcome::Withdrawn,
            () = self.clock.sleep(LONGEST_WAIT) => return Outcome::TimedOut,
            () = self.turn(place.number) => {}
        }
        let (seen, shown) = oneshot::channel();
        let time_to_answer = sheet.time_to_answer;
        // The dialog goes away when this future ends for whatever reason.
        let closed = CancellationToken::new();
        let _close = closed.clone().drop_guard();
        let mut answer = prompter.show(sheet, seen, closed);
        let mut shown = Some(shown);
        // A dialog that is never mapped must not hold the line for ever either.
        let mut time_left = self.clock.sleep(LONGEST_WAIT + time_to_answer);
        loop {
            let sight = async {
                match &mut shown {
                    Some(shown) => shown.await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = place.withdraw.cancelled() => return Outcome::Withdrawn,
                seen = sight => {
                    shown = None;
                    if seen {
                        on_shown();
                    }
                    time_left = self.clock.sleep(time_to_answer);
                }
                answer = &mut answer => {
                    // Seen and answered in one breath: it was seen all the same.
                    if shown.is_some_and(|mut shown| shown.try_recv().is_ok()) {
                        on_shown();
                    }
                    return match answer {
                        // Withdrawn and answered at once: withdrawn.
                        _ if place.withdraw.is_cancelled() => Outcome::Withdrawn,
                        Answer::Chosen(choice) => Outcome::Chosen(choice),
                        Answer::Dismissed => Outcome::Dismissed,
                        Answer::Unavailable => Outcome::Unavailable,
                    };
                }
                () = &mut time_left => return Outcome::TimedOut,
            }
        }
    }

    /// What waits and what is shown, in the order in which it will be.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut line = self.line();
        line.entries.sort_by_key(|entry| (!entry.shown, entry.rank, entry.number));
        line.entries.iter().map(|entry| Waiting { shown: entry.shown, ..entry.waiting.clone() }).collect()
    }

    /// Puts a waiting question at the head, or its dialog above other windows. `false`: there is none of that id.
    pub fn raise(&self, id: &str) -> bool {
        let mut line = self.line();
        let Some(entry) = line.entries.iter_mut().find(|entry| entry.waiting.question.sheet.id == id) else {
            return false;
        };
        entry.rank = 0;
        let shown = entry.shown;
        drop(line);
        match &self.prompter {
            Some(prompter) if shown => prompter.raise(id),
            _ => self.moved.notify_waiters(),
        }
        true
    }

    /// Withdraws one question by its id. `false`: there is none.
    pub fn withdraw(&self, id: &str) -> bool {
        self.withdraw_where(|question| question.sheet.id == id)
    }

    /// Withdraws every question that `which` picks. `false`: there was none.
    pub fn withdraw_where(&self, which: impl Fn(&Question) -> bool) -> bool {
        let line = self.line();
        let mut any = false;
        for entry in line.entries.iter().filter(|entry| which(&entry.waiting.question)) {
            entry.withdraw.cancel();
            any = true;
        }
        any
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // The state is valid after every statement, so a panic elsewhere does not spoil it.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, question: Question, withdraw: CancellationToken) -> Option<Place<'_>> {
        let mut line = self.line();
        // The person's own acts are not turned away: they are one click each.
        if question.caller.kind() != CallerKind::Settings {
            let of_server =
                line.entries.iter().filter(|entry| entry.waiting.question.server == question.server).count();
            if line.entries.len() >= MOST_WAITING || of_server >= MOST_PER_SERVER {
                return None;
            }
        }
        let number = line.next_number;
        line.next_number += 1;
        let rank = match question.caller.kind() {
            CallerKind::Settings | CallerKind::Cli => 0,
            CallerKind::Agent | CallerKind::Serve => 1,
            CallerKind::Page => 2,
        };
        let waiting = Waiting { question, shown: false, asked_at: self.clock.now() };
        line.entries.push(Entry { number, rank, shown: false, waiting, withdraw: withdraw.clone() });
        Some(Place { queue: self, number, withdraw })
    }

    /// Waits until `number` is first, no dialog is open and the last one is gone long enough; then it counts as shown.
    async fn turn(&self, number: u64) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            let wait = {
                let mut line = self.line();
                let busy = line.entries.iter().any(|entry| entry.shown);
                let first =
                    line.entries.iter().min_by_key(|entry| (entry.rank, entry.number)).map(|entry| entry.number);
                if busy || first != Some(number) {
                    None
                } else {
                    let since = line.last_closed.map_or(GAP, |at| self.clock.monotonic().saturating_sub(at));
                    if since >= GAP {
                        if let Some(entry) = line.entries.iter_mut().find(|entry| entry.number == number) {
                            entry.shown = true;
                        }
                        return;
                    }
                    Some(GAP.saturating_sub(since))
                }
            };
            match wait {
                Some(rest) => tokio::select! { () = moved => {}, () = self.clock.sleep(rest) => {} },
                None => moved.await,
            }
        }
    }
}

/// A place in the line; leaving it, in whatever way, lets the next one come.
struct Place<'a> {
    queue: &'a Queue,
    number: u64,
    withdraw: CancellationToken,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let now = self.queue.clock.monotonic();
        let mut line = self.queue.line();
        if let Some(at) = line.entries.iter().position(|entry| entry.number == self.number)
            && line.entries.swap_remove(at).shown
        {
            line.last_closed = Some(now);
        }
        drop(line);
        self.queue.moved.notify_waiters();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{
        approval::Language,
        clock::{BoxFuture, SystemClock},
    };

    /// A person who answers each sheet when told to, by the sheet's id.
    #[derive(Default)]
    struct Person {
        open: Mutex<Vec<(String, oneshot::Sender<Answer>, CancellationToken)>>,
        seen: Mutex<Vec<String>>,
        opened: Notify,
    }

    impl Person {
        async fn answer(&self, id: &str, answer: Answer) {
            loop {
                let opened = self.opened.notified();
                let found = {
                    let mut open = self.open.lock().unwrap();
                    open.iter().position(|(open, ..)| open == id).map(|at| open.remove(at))
                };
                if let Some((_, send, _)) = found {
                    let _ = send.send(answer);
                    return;
                }
                opened.await;
            }
        }

        async fn has_open(&self, count: usize) {
            while self.open.lock().unwrap().len() < count {
                tokio::task::yield_now().await;
            }
        }
    }

    struct Showing(Arc<Person>);

    impl Prompter for Showing {
        fn show(&self, sheet: Sheet, shown: oneshot::Sender<()>, closed: CancellationToken) -> BoxFuture<Answer> {
            let (send, receive) = oneshot::channel();
            self.0.seen.lock().unwrap().push(sheet.id.clone());
            self.0.open.lock().unwrap().push((sheet.id, send, closed));
            self.0.opened.notify_waiters();
            let _ = shown.send(());
            Box::pin(async move { receive.await.unwrap_or(Answer::Unavailable) })
        }
    }

    fn queue() -> (Arc<Queue>, Arc<Person>) {
        let person = Arc::new(Person::default());
        (Arc::new(Queue::new(Some(Arc::new(Showing(person.clone()))), SystemClock::shared())), person)
    }

    fn question(id: &str, caller: Caller, server: &str) -> Question {
        let sheet = Sheet {
            id: id.to_owned(),
            parent: None,
            title: String::new(),
            heading: String::new(),
            facts: Vec::new(),
            arguments: Vec::new(),
            sections: Vec::new(),
            choices: Vec::new(),
            time_to_answer: Duration::from_secs(120),
            time_left_label: String::new(),
            language: Language::English,
        };
        Question { caller, server: Some(ServerId::parse(server).unwrap()), name: "t".to_owned(), sheet }
    }

    fn page() -> Caller {
        Caller::Page { window: "main".to_owned(), document: 1 }
    }

    fn agent() -> Caller {
        Caller::Agent { run_id: "r".to_owned() }
    }

    fn ask(queue: &Arc<Queue>, question: Question) -> (tokio::task::JoinHandle<Outcome>, CancellationToken) {
        let (queue, cancel) = (queue.clone(), CancellationToken::new());
        let token = cancel.clone();
        (tokio::spawn(async move { queue.ask(question, &token, &|| {}).await }), cancel)
    }

    async fn waits(queue: &Queue, count: usize) {
        while queue.waiting().len() < count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_dialog_is_open_at_a_time_and_an_agent_overtakes_a_page() {
        let (queue, person) = queue();
        let (first, _) = ask(&queue, question("first", page(), "a"));
        person.has_open(1).await;
        let (second, _) = ask(&queue, question("second", page(), "a"));
        waits(&queue, 2).await;
        let (third, _) = ask(&queue, question("third", agent(), "a"));
        waits(&queue, 3).await;
        assert_eq!(person.open.lock().unwrap().len(), 1);
        person.answer("first", Answer::Chosen(ChoiceKind::AllowOnce)).await;
        person.answer("third", Answer::Chosen(ChoiceKind::Deny)).await;
        person.answer("second", Answer::Dismissed).await;
        assert_eq!(first.await.unwrap(), Outcome::Chosen(ChoiceKind::AllowOnce));
        assert_eq!(second.await.unwrap(), Outcome::Dismissed);
        assert_eq!(third.await.unwrap(), Outcome::Chosen(ChoiceKind::Deny));
        assert_eq!(*person.seen.lock().unwrap(), ["first", "third", "second"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fourth_question_about_one_server_is_turned_away_and_a_ninth_of_all() {
        let (queue, person) = queue();
        let mut tasks = Vec::new();
        for (at, server) in ["a", "a", "a", "b", "b", "b", "c", "c"].into_iter().enumerate() {
            tasks.push(ask(&queue, question(&at.to_string(), page(), server)));
            waits(&queue, at + 1).await;
        }
        person.has_open(1).await;
        assert_eq!(queue.ask(question("a4", page(), "a"), &CancellationToken::new(), &|| {}).await, Outcome::Busy);
        assert_eq!(queue.ask(question("d1", page(), "d"), &CancellationToken::new(), &|| {}).await, Outcome::Busy);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_answering_is_a_time_out_and_closes_the_dialog() {
        let (queue, person) = queue();
        let (asked, _) = ask(&queue, question("one", page(), "a"));
        assert_eq!(asked.await.unwrap(), Outcome::TimedOut);
        assert!(person.open.lock().unwrap()[0].2.is_cancelled());
        assert!(queue.waiting().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_withdrawn_question_closes_and_its_answer_is_void() {
        let (queue, person) = queue();
        let (asked, cancel) = ask(&queue, question("one", page(), "a"));
        person.has_open(1).await;
        cancel.cancel();
        person.answer("one", Answer::Chosen(ChoiceKind::AllowOnce)).await;
        assert_eq!(asked.await.unwrap(), Outcome::Withdrawn);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_dialog_comes_six_hundred_milliseconds_later() {
        let (queue, person) = queue();
        let (first, _) = ask(&queue, question("first", page(), "a"));
        person.answer("first", Answer::Dismissed).await;
        first.await.unwrap();
        let closed = tokio::time::Instant::now();
        let (_second, _) = ask(&queue, question("second", page(), "a"));
        tokio::time::timeout(Duration::from_secs(5), async {
            while person.seen.lock().unwrap().len() < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await
        .unwrap();
        // The queue runs on the machine's clock here, tokio's is paused: what is compared is tokio's sleep.
        assert!(closed.elapsed() + Duration::from_millis(50) >= GAP);
    }

    #[tokio::test]
    async fn without_a_prompter_nobody_is_asked() {
        let queue = Queue::new(None, SystemClock::shared());
        assert_eq!(
            queue.ask(question("one", page(), "a"), &CancellationToken::new(), &|| {}).await,
            Outcome::Unavailable
        );
    }
}
