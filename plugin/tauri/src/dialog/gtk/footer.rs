//! The row of buttons, the time that is left, and why nothing can be pressed. Always on the screen, whatever the size.

use std::time::Duration;

use gtk::{Align, Orientation, prelude::*};

use crate::dialog::{
    defused,
    plan::Plan,
    words::{Words, with_mnemonic},
};

pub(super) struct Footer {
    bar: gtk::Box,
    time: gtk::Label,
    /// Why nothing can be pressed, or a hint.
    state: gtk::Label,
    pub(super) back: gtk::Button,
    pub(super) more: gtk::Button,
    /// The one button that may allow; its label says what.
    pub(super) act: gtk::Button,
    pub(super) deny: gtk::Button,
    time_label: String,
}

impl Footer {
    pub(super) fn new(plan: &Plan, words: &Words, time_label: &str) -> Self {
        let mut taken = Vec::new();
        let mut button = |label: &str, wanted: char, name: &str| {
            let plain = defused(label, false);
            let label = with_mnemonic(&plain, wanted, &mut taken);
            let button = gtk::Button::builder().label(label).use_underline(true).build();
            button.set_widget_name(name);
            if let Some(accessible) = button.accessible() {
                accessible.set_name(&plain);
            }
            button
        };
        let deny = button(&plan.deny.label, 'd', "mcp-host-deny");
        let back = button(words.back, 'b', "mcp-host-back");
        let more = button(words.more, 'm', "mcp-host-more");
        let act = gtk::Button::builder().use_underline(true).build();
        act.set_widget_name("mcp-host-act");
        deny.set_can_default(true);
        // What Enter does is what stands out.
        deny.style_context().add_class("suggested-action");
        // No tooltips: one would cover the dialog, and shut its guard.
        if let Some(accessible) = deny.accessible() {
            accessible.set_description(&defused(&plan.deny.explanation, true));
        }

        let time = gtk::Label::builder().halign(Align::Start).xalign(0.0).build();
        time.style_context().add_class("caption");
        let state = gtk::Label::builder().halign(Align::Start).xalign(0.0).wrap(true).no_show_all(true).build();
        state.style_context().add_class("state");
        let words_column = gtk::Box::new(Orientation::Vertical, 2);
        words_column.set_hexpand(true);
        words_column.set_valign(Align::Center);
        words_column.add(&state);
        words_column.add(&time);

        // Denial stands last: Tab goes from it to the top, not to the button beside it.
        let bar = gtk::Box::builder().orientation(Orientation::Horizontal).spacing(8).build();
        bar.style_context().add_class("footer");
        bar.add(&words_column);
        for button in [&back, &more, &act, &deny] {
            button.set_valign(Align::Center);
            bar.add(button);
        }
        Self { bar, time, state, back, more, act, deny, time_label: defused(time_label, false) }
    }

    pub(super) fn widget(&self) -> &gtk::Box {
        &self.bar
    }

    /// The underlined letters of the three buttons that keep theirs.
    pub(super) fn letters(&self) -> Vec<char> {
        [&self.deny, &self.back, &self.more].into_iter().filter_map(letter).collect()
    }

    /// After everything was shown: hides what the first step does not have.
    pub(super) fn arrange(&self, plan: &Plan) {
        self.deny.grab_default();
        self.back.hide();
        self.more.set_visible(!plan.more.is_empty());
        if plan.more.is_empty() {
            self.more.set_no_show_all(true);
        }
    }

    /// `act_label`: what the second button gives now; nothing to give, no button. `open`: it counts.
    pub(super) fn show(&self, second_step: bool, act_label: Option<&str>, explanation: &str, open: bool) {
        self.back.set_visible(second_step);
        self.more.set_visible(!second_step && !self.more.is_no_show_all());
        match act_label {
            Some(label) => {
                let plain = defused(label, false);
                let label = with_mnemonic(&plain, 'a', &mut self.letters());
                if self.act.label().as_deref() != Some(label.as_str()) {
                    self.act.set_label(&label);
                    if let Some(accessible) = self.act.accessible() {
                        accessible.set_name(&plain);
                        accessible.set_description(&defused(explanation, true));
                    }
                }
                self.act.set_visible(true);
            }
            None => self.act.set_visible(false),
        }
        // Denial stays sensitive, or it would lose the focus; it is guarded as the others are.
        for button in [&self.back, &self.more, &self.act] {
            button.set_sensitive(open);
        }
    }

    pub(super) fn show_time(&self, left: Duration) {
        let seconds = left.as_secs() + u64::from(left.subsec_millis() > 0);
        let text = format!("{} {}:{:02}", self.time_label, seconds / 60, seconds % 60);
        if self.time.text() != text {
            self.time.set_text(&text);
        }
    }

    pub(super) fn show_state(&self, state: Option<&str>) {
        // A hint stays until something else is to be said.
        if let Some(text) = state {
            self.state.set_text(text);
            self.state.show();
        } else if self.state.widget_name() != "hint" {
            self.state.hide();
        }
        if state.is_some() {
            self.state.set_widget_name("state");
        }
    }

    pub(super) fn hint(&self, text: &str) {
        self.state.set_text(text);
        self.state.set_widget_name("hint");
        self.state.show();
    }
}

/// The underlined letter of a button.
fn letter(button: &gtk::Button) -> Option<char> {
    let label = button.label()?;
    let mut chars = label.chars();
    while let Some(c) = chars.next() {
        if c == '_' {
            match chars.next() {
                Some('_') => {}
                letter => return letter.map(|letter| letter.to_ascii_lowercase()),
            }
        }
    }
    None
}
