//! The gate against a desk and a person that do what each test says.

use std::sync::{Arc, Mutex};

use tokio::sync::{oneshot, watch};

use super::*;
use crate::{
    approval::{Answer, Prompter, Sheet},
    clock::SystemClock,
    model::ServerId,
};

/// The world as the tests arrange it.
struct World {
    look: Mutex<Look>,
    stirred: watch::Sender<u32>,
    settled: Mutex<Vec<ChoiceKind>>,
    outcomes: Mutex<Vec<Outcome>>,
}

impl World {
    fn asking() -> Arc<Self> {
        let look = Look {
            ruling: Ruling::Ask(RuleName::NeedsApproval),
            basis: Basis {
                fingerprint: "f".to_owned(),
                definition_hash: Some("d".to_owned()),
                generation: 1,
                policy_revision: 1,
            },
            reason: Reason::NeedsApproval,
            offers: Offers::default(),
            server_name: "Server".to_owned(),
        };
        Arc::new(Self {
            look: Mutex::new(look),
            stirred: watch::Sender::new(0),
            settled: Mutex::default(),
            outcomes: Mutex::default(),
        })
    }

    fn change(&self, change: impl FnOnce(&mut Look)) {
        change(&mut self.look.lock().unwrap());
        self.stirred.send_modify(|count| *count += 1);
    }
}

struct TestDesk(Arc<World>);

impl Desk for TestDesk {
    fn current(&self, operation: Operation) -> Operation {
        operation
    }

    fn look(&self, _: &Operation, _: &Caller) -> Result<Look> {
        Ok(self.0.look.lock().unwrap().clone())
    }

    fn changed(&self) -> BoxFuture<()> {
        let mut stirred = self.0.stirred.subscribe();
        Box::pin(async move { stirred.changed().await.unwrap() })
    }

    fn settle(&self, _: &Operation, _: &Caller, _: &Look, choice: ChoiceKind) -> Result<()> {
        self.0.settled.lock().unwrap().push(choice);
        Ok(())
    }

    fn shown(&self, _: &Question) {}

    fn answered(&self, _: &Question, outcome: Outcome) {
        self.0.outcomes.lock().unwrap().push(outcome);
    }

    fn nobody_to_ask(&self, _: &Operation, rule: &RuleName) -> Error {
        Error::ApprovalUnavailable {
            server: None,
            what: "it".to_owned(),
            rule: rule.to_string(),
            advice: String::new(),
            digest: None,
        }
    }
}

type Act = Box<dyn Fn(u32) -> Option<Answer> + Send + Sync>;

/// Answers the n-th sheet; `None` leaves it open.
struct Scripted {
    count: Mutex<u32>,
    act: Act,
}

impl Prompter for Scripted {
    fn show(&self, _: Sheet, shown: oneshot::Sender<()>, _: CancellationToken) -> BoxFuture<Answer> {
        let number = {
            let mut count = self.count.lock().unwrap();
            *count += 1;
            *count
        };
        let _ = shown.send(());
        let answer = (self.act)(number);
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

async fn pass(world: &Arc<World>, act: impl Fn(u32) -> Option<Answer> + Send + Sync + 'static) -> Result<Approved> {
    let clock = SystemClock::shared();
    let queue = Queue::new(Some(Arc::new(Scripted { count: Mutex::new(0), act: Box::new(act) })), clock.clone());
    let desk = TestDesk(world.clone());
    let gate = Gate { queue: &queue, desk: &desk, clock: &*clock };
    let operation = Operation::Connect { server: ServerId::parse("s").unwrap() };
    let caller = Caller::Page { window: "main".to_owned(), document: 1 };
    gate.pass(operation, &caller, &CallId::random().unwrap(), &CancellationToken::new()).await
}

#[tokio::test(start_paused = true)]
async fn what_policy_allows_is_granted_without_a_question() {
    let world = World::asking();
    world.change(|look| look.ruling = Ruling::Allow(RuleName::ModeAllow));
    let approved = pass(&world, |_| Some(Answer::Unavailable)).await.unwrap();
    assert_eq!(approved.granted().rule, "mode-allow");
    assert!(world.outcomes.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_yes_is_settled_and_granted_for_what_was_shown() {
    let world = World::asking();
    let approved = pass(&world, |_| Some(Answer::Chosen(ChoiceKind::AllowOnce))).await.unwrap();
    assert_eq!(approved.granted().rule, "answer:once");
    assert_eq!(approved.granted().definition_hash.as_deref(), Some("d"));
    assert_eq!(*world.settled.lock().unwrap(), [ChoiceKind::AllowOnce]);
}

#[tokio::test(start_paused = true)]
async fn every_answer_that_does_not_allow_is_a_refusal_with_its_own_code() {
    use crate::error::ErrorCode;
    for (answer, code) in [
        (Answer::Chosen(ChoiceKind::Deny), ErrorCode::ApprovalDenied),
        (Answer::Chosen(ChoiceKind::Never), ErrorCode::ApprovalDenied),
        (Answer::Chosen(ChoiceKind::DenyPages), ErrorCode::ApprovalDenied),
        (Answer::Dismissed, ErrorCode::ApprovalDismissed),
        (Answer::Unavailable, ErrorCode::ApprovalUnavailable),
    ] {
        let error = pass(&World::asking(), move |_| Some(answer)).await.unwrap_err();
        assert_eq!(error.code(), code, "{answer:?}");
    }
    let error = pass(&World::asking(), |_| None).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ApprovalTimeout);
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_changes_while_the_dialog_is_open_is_asked_about_anew() {
    let world = World::asking();
    let behind = world.clone();
    let approved = pass(&world, move |number| {
        if number == 1 {
            behind.change(|look| look.basis.definition_hash = Some("other".to_owned()));
            return None;
        }
        Some(Answer::Chosen(ChoiceKind::AllowOnce))
    })
    .await
    .unwrap();
    assert_eq!(approved.granted().definition_hash.as_deref(), Some("other"));
    assert_eq!(*world.outcomes.lock().unwrap(), [Outcome::Withdrawn, Outcome::Chosen(ChoiceKind::AllowOnce)]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_what_is_not_there_any_more_counts_for_nothing() {
    let world = World::asking();
    let behind = world.clone();
    // The change and the answer come at the same moment: the answer is to the old sheet.
    let approved = pass(&world, move |number| {
        if number == 1 {
            behind.look.lock().unwrap().basis.fingerprint = "edited".to_owned();
        }
        Some(Answer::Chosen(ChoiceKind::AlwaysTool))
    })
    .await
    .unwrap();
    assert_eq!(approved.granted().fingerprint, "edited");
    assert_eq!(world.settled.lock().unwrap().len(), 1, "only the answer to the second sheet made a rule");
}

#[tokio::test(start_paused = true)]
async fn a_deny_rule_that_comes_while_the_dialog_is_open_ends_it() {
    let world = World::asking();
    let behind = world.clone();
    let error = pass(&world, move |_| {
        behind.change(|look| look.ruling = Ruling::Refuse(Error::internal("denied by a new rule")));
        None
    })
    .await
    .unwrap_err();
    assert!(error.to_string().contains("denied by a new rule"), "{error}");
}
