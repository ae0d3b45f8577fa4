//! The second step: every other choice, each with what exactly it does.

use gtk::{Align, Orientation, PolicyType, prelude::*};

use crate::dialog::{
    defused,
    plan::Plan,
    words::{Words, with_mnemonic},
};

pub(super) struct ChoiceList {
    page: gtk::Box,
    /// One button for each of the plan's further choices, in their order.
    options: Vec<gtk::Button>,
    /// Their labels, and the text of each.
    labels: Vec<(gtk::Label, String)>,
}

impl ChoiceList {
    pub(super) fn new(plan: &Plan, words: &Words) -> Self {
        let rows = gtk::Box::new(Orientation::Vertical, 8);
        let (mut options, mut labels) = (Vec::new(), Vec::new());
        for choice in &plan.more {
            let text = defused(&choice.label, false);
            let label = gtk::Label::builder().label(&text).xalign(0.0).wrap(true).build();
            label.style_context().add_class("choice");
            let explanation = gtk::Label::builder()
                .label(defused(&choice.explanation, true))
                .use_markup(false)
                .xalign(0.0)
                .wrap(true)
                .wrap_mode(gtk::pango::WrapMode::WordChar)
                .build();
            explanation.style_context().add_class("explanation");
            let both = gtk::Box::new(Orientation::Vertical, 2);
            both.add(&label);
            both.add(&explanation);
            let option = gtk::Button::builder().child(&both).build();
            option.style_context().add_class("option");
            option.set_widget_name(&format!("mcp-host-{}", choice.kind.as_str()));
            label.set_mnemonic_widget(Some(&option));
            if let Some(accessible) = option.accessible() {
                accessible.set_name(&text);
                accessible.set_description(&defused(&choice.explanation, true));
            }
            rows.add(&option);
            options.push(option);
            labels.push((label, text));
        }
        let heading = gtk::Label::builder().label(words.more_heading).xalign(0.0).halign(Align::Start).build();
        heading.style_context().add_class("heading");
        rows.set_margin_end(8);
        let scrolled = gtk::ScrolledWindow::builder()
            .hscrollbar_policy(PolicyType::Never)
            .overlay_scrolling(false)
            .vexpand(true)
            .min_content_height(80)
            .child(&rows)
            .build();
        let page = gtk::Box::new(Orientation::Vertical, 12);
        page.set_border_width(18);
        page.add(&heading);
        page.add(&scrolled);
        Self { page, options, labels }
    }

    pub(super) fn widget(&self) -> &gtk::Box {
        &self.page
    }

    pub(super) fn options(&self) -> &[gtk::Button] {
        &self.options
    }

    /// Underlines a letter of each, none of those that the row of buttons has.
    pub(super) fn set_letters(&self, mut taken: Vec<char>) {
        for (label, text) in &self.labels {
            label.set_text_with_mnemonic(&with_mnemonic(text, 'a', &mut taken));
        }
    }

    pub(super) fn set_sensitive(&self, open: bool) {
        for option in &self.options {
            option.set_sensitive(open);
        }
    }
}
