//! The second step: every other choice with what exactly it does, none of them picked at first.

use gtk::{Align, Orientation, PolicyType, prelude::*};

use crate::dialog::{defused, plan::Plan, words::Words};

pub(super) struct ChoiceList {
    page: gtk::Box,
    /// Picked at first, and shown nowhere: a group of radio buttons always has one picked.
    none: gtk::RadioButton,
    options: Vec<gtk::RadioButton>,
}

impl ChoiceList {
    pub(super) fn new(plan: &Plan, words: &Words) -> Self {
        let none = gtk::RadioButton::new();
        let rows = gtk::Box::new(Orientation::Vertical, 4);
        let mut options = Vec::new();
        for choice in &plan.more {
            let label = gtk::Label::builder().label(defused(&choice.label, false)).xalign(0.0).wrap(true).build();
            let explanation = gtk::Label::builder()
                .label(defused(&choice.explanation, true))
                .xalign(0.0)
                .wrap(true)
                .wrap_mode(gtk::pango::WrapMode::WordChar)
                .build();
            explanation.style_context().add_class("explanation");
            let text = gtk::Box::new(Orientation::Vertical, 2);
            text.set_margin_start(6);
            text.add(&label);
            text.add(&explanation);
            let option = gtk::RadioButton::from_widget(&none);
            option.style_context().add_class("option");
            option.add(&text);
            if let Some(accessible) = option.accessible() {
                accessible.set_name(&defused(&choice.label, false));
                accessible.set_description(&defused(&choice.explanation, true));
            }
            rows.add(&option);
            options.push(option);
        }
        let heading = gtk::Label::builder().label(words.more_heading).xalign(0.0).halign(Align::Start).build();
        heading.style_context().add_class("heading");
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
        Self { page, none, options }
    }

    pub(super) fn widget(&self) -> &gtk::Box {
        &self.page
    }

    /// Which one is picked.
    pub(super) fn selected(&self) -> Option<usize> {
        if self.none.is_active() { None } else { self.options.iter().position(ToggleButtonExt::is_active) }
    }

    pub(super) fn connect_changed(&self, changed: impl Fn() + Clone + 'static) {
        for option in &self.options {
            let changed = changed.clone();
            option.connect_toggled(move |_| changed());
        }
    }
}
