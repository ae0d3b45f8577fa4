//! The dialog on Linux: a window of our own in the gtk that Tauri links, because the stock message dialog approves on
//! Enter, grows off the screen, and cannot hold six choices.
//!
//! Runs on the main thread, without a nested loop: [`open`] returns at once and answers through its callback. The parts:
//! [`view`] lays a sheet out, [`footer`] holds the buttons, [`style`] the colours; this file is the life of a dialog
//! and the only place from which an answer leaves.

mod choice;
mod footer;
mod style;
mod view;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    time::{Duration, Instant},
};

use ::gtk::{
    gdk,
    glib::{self, ControlFlow, Propagation},
    prelude::*,
};
use mcp_host_core::approval::{Answer, Choice, Sheet};
use tokio_util::sync::CancellationToken;

use self::{choice::ChoiceList, footer::Footer};
use super::{defused, guard::Guard, plan::Plan, words::Words};

/// How often the buttons look at the guard, and the clock is drawn.
const TICK: Duration = Duration::from_millis(100);

thread_local! {
    /// The dialogs that are on the screen, by the id of their sheet.
    static OPEN: RefCell<HashMap<String, glib::WeakRef<::gtk::Window>>> = RefCell::default();
}

/// What a dialog reports.
pub(crate) struct Report {
    /// Called once, when a person can see it.
    pub(crate) shown: Box<dyn FnOnce()>,
    /// Called once. Never with a choice that allows unless that choice was pressed.
    pub(crate) answered: Box<dyn FnOnce(Answer)>,
    /// Called if nobody has looked at it shortly after it was shown.
    pub(crate) unnoticed: Box<dyn FnOnce()>,
}

/// Shows a sheet. Main thread only.
pub(crate) fn open(sheet: Sheet, parent: Option<&::gtk::Window>, closed: CancellationToken, report: Report) {
    if closed.is_cancelled() {
        return (report.answered)(Answer::Dismissed);
    }
    style::load();
    let dialog = Rc::new(Dialog::build(sheet, closed, report));
    dialog.connect();
    dialog.present(parent);
}

/// Brings the dialog of that sheet to the front. Main thread only.
pub(crate) fn raise(id: &str) {
    let window = OPEN.with_borrow(|open| open.get(id).and_then(glib::WeakRef::upgrade));
    if let Some(window) = window {
        window.present();
    }
}

/// Which part of the question is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Question,
    More,
    /// The second question about a choice of the second step.
    Sure,
}

/// One dialog. Lives as long as its window.
struct Dialog {
    id: String,
    window: ::gtk::Window,
    stack: ::gtk::Stack,
    footer: Footer,
    list: ChoiceList,
    /// The text of the second question.
    sure: ::gtk::Label,
    plan: Plan,
    words: &'static Words,
    step: Cell<Step>,
    /// The choice of the second step that is asked about once more.
    asked: Cell<Option<usize>>,
    guard: RefCell<Guard>,
    closed: CancellationToken,
    /// When the time runs out; known once it is shown.
    deadline: Cell<Option<Instant>>,
    time_to_answer: Duration,
    report: RefCell<Option<Report>>,
    shown: Cell<bool>,
    /// It has two columns.
    wide: bool,
}

impl Dialog {
    fn build(sheet: Sheet, closed: CancellationToken, report: Report) -> Self {
        let words = Words::of(sheet.language);
        let plan = Plan::of(&sheet);
        let window = ::gtk::Window::builder()
            .type_(::gtk::WindowType::Toplevel)
            .type_hint(gdk::WindowTypeHint::Dialog)
            .title(defused(&sheet.title, false))
            .skip_taskbar_hint(false)
            .destroy_with_parent(true)
            .build();
        window.set_widget_name("mcp-host-dialog");
        window.add_events(gdk::EventMask::VISIBILITY_NOTIFY_MASK | gdk::EventMask::STRUCTURE_MASK);

        let heading = view::heading(&sheet.heading);
        let question = view::question(&sheet, words);
        let list = ChoiceList::new(&plan, words);
        let (sure_page, sure) = view::second_question(words);
        let stack = ::gtk::Stack::builder().vexpand(true).vhomogeneous(false).hhomogeneous(true).build();
        stack.add_named(&question, "question");
        stack.add_named(list.widget(), "more");
        stack.add_named(&sure_page, "sure");
        let footer = Footer::new(&plan, words, &sheet.time_left_label);
        list.set_letters(footer.letters());

        let content = ::gtk::Box::new(::gtk::Orientation::Vertical, 0);
        content.style_context().add_class("mcp-host-dialog");
        content.add(&heading);
        content.add(&stack);
        content.add(footer.widget());
        window.add(&content);
        content.show_all();
        footer.arrange(&plan);
        if let Some(accessible) = window.accessible() {
            accessible.set_role(::gtk::atk::Role::Dialog);
            accessible.set_name(&defused(&sheet.title, false));
            accessible.set_description(&defused(&sheet.heading, false));
        }

        // By its type's name: asking for the backend panics on one that the bindings do not know.
        let tells_visibility = gdk::Display::default().is_some_and(|display| display.type_().name() == "GdkX11Display");
        Self {
            id: sheet.id,
            window,
            stack,
            footer,
            list,
            sure,
            plan,
            words,
            step: Cell::new(Step::Question),
            asked: Cell::new(None),
            guard: RefCell::new(Guard::new(Instant::now(), tells_visibility)),
            closed,
            deadline: Cell::new(None),
            time_to_answer: sheet.time_to_answer,
            report: RefCell::new(Some(report)),
            shown: Cell::new(false),
            wide: !(sheet.arguments.is_empty() && sheet.sections.is_empty()),
        }
    }

    fn present(&self, parent: Option<&::gtk::Window>) {
        let (width, height) = view::size(&self.window, parent, self.wide);
        self.window.set_default_size(width, height);
        if let Some(parent) = parent {
            // Modal to the window that asks, and to no other: the settings window can still raise or withdraw this.
            let group = ::gtk::WindowGroup::new();
            group.add_window(parent);
            group.add_window(&self.window);
            self.window.set_transient_for(Some(parent));
            self.window.set_position(::gtk::WindowPosition::CenterOnParent);
        } else {
            self.window.set_position(::gtk::WindowPosition::Center);
        }
        self.window.set_modal(true);
        OPEN.with_borrow_mut(|open| open.insert(self.id.clone(), self.window.downgrade()));
        self.footer.deny.grab_focus();
        self.window.present();
    }

    fn connect(self: &Rc<Self>) {
        self.connect_window();
        self.connect_guard();
        self.connect_buttons();

        // The clock and the guard, for as long as the window is there.
        let weak = Rc::downgrade(self);
        glib::timeout_add_local(TICK, move || match weak.upgrade() {
            Some(dialog) if dialog.report.borrow().is_some() => {
                dialog.refresh();
                ControlFlow::Continue
            }
            _ => ControlFlow::Break,
        });
        // Withdrawn: the window goes, and whatever was pressed is void.
        let weak = Rc::downgrade(self);
        let closed = self.closed.clone();
        glib::MainContext::default().spawn_local(async move {
            closed.cancelled().await;
            if let Some(dialog) = weak.upgrade() {
                dialog.finish(Answer::Dismissed);
            }
        });
    }

    fn connect_window(self: &Rc<Self>) {
        let weak = Rc::downgrade(self);
        self.window.connect_delete_event(move |_, _| {
            if let Some(dialog) = weak.upgrade() {
                // From here on a withdrawal finds nothing left to close.
                dialog.report(Answer::Dismissed);
            }
            Propagation::Proceed
        });
        // The parent went, or the application ends. This also breaks the cycle between window and dialog.
        let dialog = RefCell::new(Some(Rc::clone(self)));
        self.window.connect_destroy(move |_| {
            if let Some(dialog) = dialog.take() {
                dialog.report(Answer::Dismissed);
            }
        });
        let weak = Rc::downgrade(self);
        self.window.connect_key_press_event(move |_, event| match weak.upgrade() {
            Some(dialog) => dialog.key(event),
            None => Propagation::Stop,
        });
    }

    fn connect_guard(self: &Rc<Self>) {
        let weak = Rc::downgrade(self);
        let disturb = move |change: &dyn Fn(&mut Guard, Instant)| {
            if let Some(dialog) = weak.upgrade() {
                change(&mut dialog.guard.borrow_mut(), Instant::now());
                dialog.refresh();
            }
        };
        let on = disturb.clone();
        let weak = Rc::downgrade(self);
        self.window.connect_map_event(move |_, _| {
            on(&|guard, now| guard.set_mapped(now, true));
            if let Some(dialog) = weak.upgrade() {
                dialog.on_shown();
            }
            Propagation::Proceed
        });
        let on = disturb.clone();
        self.window.connect_unmap_event(move |_, _| {
            on(&|guard, now| guard.set_mapped(now, false));
            Propagation::Proceed
        });
        let on = disturb.clone();
        self.window.connect_is_active_notify(move |window| {
            let active = window.is_active();
            on(&|guard, now| guard.set_focused(now, active));
        });
        let on = disturb.clone();
        self.window.connect_event(move |_, event| {
            if let Some(event) = event.downcast_ref::<gdk::EventVisibility>() {
                let unobscured = event.state() == gdk::VisibilityState::Unobscured;
                on(&|guard, now| guard.set_unobscured(now, unobscured));
            }
            Propagation::Proceed
        });
        self.window.connect_configure_event(move |_, _| {
            disturb(&Guard::disturb);
            false
        });
    }

    fn connect_buttons(self: &Rc<Self>) {
        let Footer { deny, back, more, act, .. } = &self.footer;
        self.on_click(deny, |dialog| dialog.finish(Answer::Chosen(dialog.plan.deny.kind)));
        self.on_click(back, Self::back);
        self.on_click(more, |dialog| dialog.go(Step::More));
        self.on_click(act, Self::act);
        for (at, option) in self.list.options().iter().enumerate() {
            self.on_click(option, move |dialog| dialog.pick(at));
        }
    }

    /// A press counts only if it began and ended while the dialog could be answered.
    fn on_click(self: &Rc<Self>, button: &::gtk::Button, act: impl Fn(&Self) + 'static) {
        let weak = Rc::downgrade(self);
        // Before the button itself sees it: a press that came too early never becomes a click.
        button.connect_event(move |_, event| match weak.upgrade() {
            Some(dialog) if is_press(event) && (event.is_send_event() || !dialog.is_open()) => Propagation::Stop,
            Some(_) => Propagation::Proceed,
            None => Propagation::Stop,
        });
        let weak = Rc::downgrade(self);
        button.connect_clicked(move |_| {
            if let Some(dialog) = weak.upgrade().filter(|dialog| dialog.is_open()) {
                act(&dialog);
            }
        });
    }

    fn is_open(&self) -> bool {
        let in_time = self.deadline.get().is_none_or(|deadline| Instant::now() < deadline);
        in_time && !self.closed.is_cancelled() && self.guard.borrow().is_open(Instant::now())
    }

    /// Keys. Nothing here allows anything: that takes a click, an underlined letter, or an assistive technology.
    fn key(&self, event: &gdk::EventKey) -> Propagation {
        use gdk::keys::constants as key;
        let keyval = event.keyval();
        // What another program made up does not count.
        if event.is_send_event() {
            return Propagation::Stop;
        }
        if !self.is_open() {
            // Whoever is typing has not read this yet, and a letter that is held down never gets through. Denying keys
            // need no such care.
            if keyval.to_unicode().is_some_and(|c| !c.is_control() && c != ' ') {
                self.guard.borrow_mut().disturb(Instant::now());
                self.refresh();
            }
            return Propagation::Stop;
        }
        let focus = self.window.focused_widget();
        let on = |button: &::gtk::Button| focus.as_ref() == Some(button.upcast_ref());
        let Footer { deny, back, more, act, .. } = &self.footer;
        let allows = on(act) || self.list.options().iter().any(on);
        match keyval {
            key::Escape => {
                if self.step.get() == Step::Question {
                    self.finish(Answer::Dismissed);
                } else {
                    self.back();
                }
                Propagation::Stop
            }
            key::Return | key::KP_Enter | key::ISO_Enter | key::_3270_Enter | key::space | key::KP_Space => {
                if on(back) {
                    self.back();
                } else if on(more) {
                    self.go(Step::More);
                } else if allows {
                    self.footer.hint(self.words.use_keys);
                } else if on(deny) || !matches!(keyval, key::space | key::KP_Space) {
                    self.finish(Answer::Chosen(self.plan.deny.kind));
                } else {
                    // In a text Space scrolls.
                    return Propagation::Proceed;
                }
                Propagation::Stop
            }
            _ => Propagation::Proceed,
        }
    }

    /// The choice that the second button gives now.
    fn candidate(&self) -> Option<&Choice> {
        match self.step.get() {
            Step::Question => self.plan.yes.as_ref(),
            Step::More => None,
            Step::Sure => self.asked.get().and_then(|at| self.plan.more.get(at)),
        }
    }

    /// The second button was pressed.
    fn act(&self) {
        if let Some(choice) = self.candidate() {
            self.finish(Answer::Chosen(choice.kind));
        }
    }

    /// A choice of the second step was pressed.
    fn pick(&self, at: usize) {
        let Some(choice) = self.plan.more.get(at) else { return };
        match &choice.second_question {
            Some(question) => {
                self.asked.set(Some(at));
                self.sure.set_text(&defused(question, true));
                self.go(Step::Sure);
            }
            None => self.finish(Answer::Chosen(choice.kind)),
        }
    }

    fn back(&self) {
        self.go(match self.step.get() {
            Step::Sure => Step::More,
            Step::More | Step::Question => Step::Question,
        });
    }

    /// Shows another step; it has to stand as long as the first did.
    fn go(&self, step: Step) {
        self.step.set(step);
        self.stack.set_visible_child_name(match step {
            Step::Question => "question",
            Step::More => "more",
            Step::Sure => "sure",
        });
        self.guard.borrow_mut().disturb(Instant::now());
        self.footer.deny.grab_focus();
        self.refresh();
    }

    /// Draws what the guard, the clock and the step say.
    fn refresh(&self) {
        // Always, not only after the first key: what has the focus, and which letters there are.
        self.window.set_focus_visible(true);
        self.window.set_mnemonics_visible(true);
        let now = Instant::now();
        let open = self.is_open();
        let candidate = self.candidate();
        let label = candidate.map(|choice| match self.step.get() {
            Step::Sure => format!("{}{}", self.words.yes, choice.label),
            Step::Question | Step::More => choice.label.clone(),
        });
        let explanation = candidate.map_or("", |choice| choice.explanation.as_str());
        self.footer.show(self.step.get() != Step::Question, label.as_deref(), explanation, open);
        self.list.set_sensitive(open);
        let left = self.deadline.get().map_or(self.time_to_answer, |deadline| deadline.saturating_duration_since(now));
        self.footer.show_time(left);
        let guard = self.guard.borrow();
        self.footer.show_state(if open || guard.is_settling() || !self.shown.get() {
            None
        } else if self.window.is_active() {
            Some(self.words.covered)
        } else {
            Some(self.words.unfocused)
        });
    }

    fn on_shown(self: &Rc<Self>) {
        if self.shown.replace(true) {
            return;
        }
        self.deadline.set(Instant::now().checked_add(self.time_to_answer));
        let shown =
            self.report.borrow_mut().as_mut().map(|report| std::mem::replace(&mut report.shown, Box::new(|| {})));
        if let Some(shown) = shown {
            shown();
        }
        let weak = Rc::downgrade(self);
        glib::timeout_add_local_once(super::guard::STILL, move || {
            let Some(dialog) = weak.upgrade().filter(|dialog| !dialog.window.is_active()) else { return };
            dialog.window.set_urgency_hint(true);
            let unnoticed = dialog
                .report
                .borrow_mut()
                .as_mut()
                .map(|report| std::mem::replace(&mut report.unnoticed, Box::new(|| {})));
            if let Some(unnoticed) = unnoticed {
                unnoticed();
            }
        });
    }

    /// The one place from which an answer leaves, at most once.
    fn report(&self, answer: Answer) {
        OPEN.with_borrow_mut(|open| open.remove(&self.id));
        let report = self.report.borrow_mut().take();
        if let Some(report) = report {
            (report.answered)(if self.closed.is_cancelled() { Answer::Dismissed } else { answer });
        }
    }

    fn finish(&self, answer: Answer) {
        // Once: gtk keeps one pending close and frees the window under a second one.
        if self.report.borrow().is_none() {
            return;
        }
        self.report(answer);
        self.window.hide();
        // Comes back as a delete event, which finds the report gone and lets the window be destroyed.
        self.window.close();
    }
}

/// Whether an event presses something.
fn is_press(event: &gdk::Event) -> bool {
    use gdk::EventType::{ButtonPress, ButtonRelease, DoubleButtonPress, TouchBegin, TouchEnd, TripleButtonPress};
    matches!(
        event.event_type(),
        ButtonPress | ButtonRelease | DoubleButtonPress | TripleButtonPress | TouchBegin | TouchEnd
    )
}
