//! A sheet as widgets: heading, facts, the table of arguments, the whole text. Text only, never markup; in the reading
//! order of the sheet, which is also the order in which a screen reader meets it.

use gtk::{Align, Orientation, PolicyType, atk, gdk, glib, pango::WrapMode, prelude::*};
use mcp_host_core::approval::{ArgumentRow, Fact, Section, Sheet, Tone};

use crate::dialog::{defused, words::Words};

/// Who wants what on which server. Everything in it stands in the facts as well.
pub(super) fn heading(text: &str) -> gtk::Label {
    let label = label(&defused(text, false));
    label.set_lines(3);
    label.set_ellipsize(gtk::pango::EllipsizeMode::End);
    label.set_margin_start(18);
    label.set_margin_end(18);
    label.set_margin_top(14);
    label.set_margin_bottom(10);
    label.style_context().add_class("heading");
    label
}

/// The first step: facts on one side, what goes to the server on the other.
pub(super) fn question(sheet: &Sheet, words: &Words) -> gtk::Widget {
    let facts = facts(&sheet.facts, words);
    if sheet.arguments.is_empty() && sheet.sections.is_empty() {
        facts.set_margin_end(18);
        return facts.upcast();
    }
    let right = gtk::Box::new(Orientation::Vertical, 6);
    right.set_margin_start(12);
    right.set_margin_end(18);
    right.set_margin_bottom(12);
    if !sheet.arguments.is_empty() {
        let caption = caption(words.arguments);
        let table = arguments(&sheet.arguments, words);
        describe(&table, &caption);
        right.add(&caption);
        right.add(&scrolled_table(&table));
    }
    if !sheet.sections.is_empty() {
        let (caption, text) = sections(&sheet.sections, words);
        right.add(&caption);
        right.add(&text);
    }
    let paned = gtk::Paned::new(Orientation::Horizontal);
    paned.pack1(&facts, false, false);
    paned.pack2(&right, true, false);
    paned.set_position(372);
    paned.upcast()
}

/// The page of the second question, and the label that holds it.
pub(super) fn second_question(words: &Words) -> (gtk::Widget, gtk::Label) {
    let heading = label(words.sure_heading);
    heading.style_context().add_class("heading");
    let text = label("");
    text.style_context().add_class("caution");
    let page = gtk::Box::new(Orientation::Vertical, 12);
    page.set_border_width(18);
    page.add(&heading);
    page.add(&text);
    (scrolled(&page).upcast(), text)
}

/// A size that fits the screen of the window that asks, buttons included. `wide`: there are two columns.
pub(super) fn size(window: &gtk::Window, parent: Option<&gtk::Window>, wide: bool) -> (i32, i32) {
    let (wanted_width, wanted_height) = if wide { (940, 560) } else { (680, 500) };
    let display = WidgetExt::display(window);
    let monitor = parent
        .and_then(WidgetExt::window)
        .and_then(|parent| display.monitor_at_window(&parent))
        .or_else(|| display.primary_monitor())
        .or_else(|| display.monitor(0));
    match monitor.map(|monitor| monitor.workarea()) {
        // Room for the frame and title bar that the window manager adds.
        Some(area) => (wanted_width.min(area.width() - 24), wanted_height.min(area.height() - 56)),
        None => (wanted_width, wanted_height),
    }
}

fn facts(facts: &[Fact], words: &Words) -> gtk::ScrolledWindow {
    let rows = gtk::Box::new(Orientation::Vertical, 10);
    rows.set_margin_start(18);
    rows.set_margin_end(12);
    rows.set_margin_bottom(12);
    for fact in facts {
        let mut name = defused(&fact.label, false);
        // Colour alone says nothing to some.
        match fact.tone {
            Tone::Plain => {}
            Tone::Caution => name = format!("⚠ {name} ({})", words.caution),
            Tone::Untrusted => name = format!("{name} ({})", words.quoted),
        }
        let caption = caption(&name);
        let text = label(&defused(&fact.text, fact.tone != Tone::Untrusted));
        match fact.tone {
            Tone::Plain => {}
            Tone::Caution => text.style_context().add_class("caution"),
            Tone::Untrusted => text.style_context().add_class("untrusted"),
        }
        describe(&text, &caption);
        let row = gtk::Box::new(Orientation::Vertical, 3);
        row.add(&caption);
        row.add(&text);
        rows.add(&row);
    }
    scrolled(&rows)
}

fn arguments(rows: &[ArgumentRow], words: &Words) -> gtk::TreeView {
    let store = gtk::ListStore::new(&[glib::Type::STRING; 4]);
    for row in rows {
        let cell = |text: &str| defused(text, false);
        store.insert_with_values(
            None,
            &[(0, &cell(&row.name)), (1, &cell(&row.kind)), (2, &cell(&row.size)), (3, &cell(&row.preview))],
        );
    }
    let view = gtk::TreeView::with_model(&store);
    view.set_enable_search(false);
    view.set_headers_clickable(false);
    view.selection().set_mode(gtk::SelectionMode::Browse);
    for (index, title) in [(0, words.argument), (1, words.kind), (2, words.size), (3, words.value)] {
        let cell = gtk::CellRendererText::new();
        cell.set_yalign(0.0);
        cell.set_padding(6, 3);
        let column = gtk::TreeViewColumn::new();
        column.set_title(title);
        CellLayoutExt::pack_start(&column, &cell, true);
        CellLayoutExt::add_attribute(&column, &cell, "text", index);
        match index {
            0 => {
                cell.set_property("wrap-mode", WrapMode::WordChar);
                cell.set_property("wrap-width", 150);
            }
            3 => {
                cell.set_property("wrap-mode", WrapMode::WordChar);
                cell.set_property("wrap-width", 230);
                cell.set_property("family", "monospace");
                column.set_expand(true);
            }
            _ => {}
        }
        view.append_column(&column);
    }
    view
}

fn scrolled_table(table: &gtk::TreeView) -> gtk::ScrolledWindow {
    let scrolled = gtk::ScrolledWindow::builder()
        .hscrollbar_policy(PolicyType::Automatic)
        .overlay_scrolling(false)
        .propagate_natural_height(true)
        .min_content_height(58)
        .max_content_height(150)
        .child(table)
        .build();
    scrolled.style_context().add_class("details");
    scrolled
}

/// All sections in one text: one place to scroll, one text for a screen reader, no limit of height.
fn sections(sections: &[Section], words: &Words) -> (gtk::Label, gtk::ScrolledWindow) {
    let single = if let [only] = sections { Some(only) } else { None };
    let caption = caption(&single.map_or_else(|| words.details.to_owned(), |only| defused(&only.label, false)));
    let buffer = gtk::TextBuffer::new(None::<&gtk::TextTagTable>);
    let tag = |name: &str, build: fn(gtk::builders::TextTagBuilder) -> gtk::builders::TextTagBuilder| {
        let tag = build(gtk::TextTag::builder().name(name)).build();
        if let Some(table) = buffer.tag_table() {
            table.add(&tag);
        }
    };
    tag("heading", |tag| tag.weight(700).family("sans").pixels_below_lines(4));
    tag("added", |tag| tag.weight(700).paragraph_background_rgba(&gdk::RGBA::new(0.2, 0.7, 0.3, 0.2)));
    tag("removed", |tag| tag.strikethrough(true).paragraph_background_rgba(&gdk::RGBA::new(0.8, 0.2, 0.2, 0.2)));
    for (index, section) in sections.iter().enumerate() {
        let mut end = buffer.end_iter();
        if single.is_none() {
            let gap = if index == 0 { "" } else { "\n\n" };
            buffer.insert(&mut end, gap);
            insert_tagged(&buffer, &mut end, &defused(&section.label, false), Some("heading"));
            buffer.insert(&mut end, "\n");
        }
        let text = defused(&section.text, true);
        if is_difference(&text) {
            for line in text.lines() {
                let tag = match line.chars().next() {
                    Some('+') => Some("added"),
                    Some('-') => Some("removed"),
                    _ => None,
                };
                insert_tagged(&buffer, &mut end, line, tag);
                buffer.insert(&mut end, "\n");
            }
        } else {
            buffer.insert(&mut end, &text);
        }
    }
    buffer.place_cursor(&buffer.start_iter());
    let view = gtk::TextView::builder()
        .buffer(&buffer)
        .editable(false)
        .cursor_visible(false)
        .accepts_tab(false)
        .monospace(true)
        .wrap_mode(gtk::WrapMode::WordChar)
        .left_margin(8)
        .right_margin(8)
        .top_margin(6)
        .bottom_margin(6)
        .build();
    describe(&view, &caption);
    let scrolled = gtk::ScrolledWindow::builder()
        .hscrollbar_policy(PolicyType::Never)
        .overlay_scrolling(false)
        .vexpand(true)
        .min_content_height(70)
        .child(&view)
        .build();
    scrolled.style_context().add_class("details");
    (caption, scrolled)
}

fn insert_tagged(buffer: &gtk::TextBuffer, end: &mut gtk::TextIter, text: &str, tag: Option<&str>) {
    let start = end.offset();
    buffer.insert(end, text);
    if let Some(tag) = tag {
        buffer.apply_tag_by_name(tag, &buffer.iter_at_offset(start), end);
    }
}

/// Every line is added, removed or unchanged, and some line is one of the first two.
fn is_difference(text: &str) -> bool {
    let mut changed = false;
    text.lines().all(|line| {
        let first = line.chars().next();
        changed |= matches!(first, Some('+' | '-'));
        matches!(first, Some('+' | '-' | ' ' | '@') | None)
    }) && changed
}

fn label(text: &str) -> gtk::Label {
    gtk::Label::builder()
        .label(text)
        .use_markup(false)
        .use_underline(false)
        .wrap(true)
        .wrap_mode(WrapMode::WordChar)
        .xalign(0.0)
        .halign(Align::Fill)
        .build()
}

fn caption(text: &str) -> gtk::Label {
    let label = label(text);
    label.style_context().add_class("caption");
    label
}

/// Tells assistive technology that `caption` names `widget`.
fn describe(widget: &impl IsA<gtk::Widget>, caption: &gtk::Label) {
    if let (Some(one), Some(other)) = (widget.accessible(), caption.accessible()) {
        if !widget.is::<gtk::Label>() {
            one.set_name(&caption.text());
        }
        one.add_relationship(atk::RelationType::LabelledBy, &other);
        other.add_relationship(atk::RelationType::LabelFor, &one);
    }
}

fn scrolled(child: &impl IsA<gtk::Widget>) -> gtk::ScrolledWindow {
    let scrolled = gtk::ScrolledWindow::builder()
        .hscrollbar_policy(PolicyType::Never)
        .overlay_scrolling(false)
        .vexpand(true)
        .min_content_height(100)
        .child(child)
        .build();
    // Page keys scroll it for whoever has no mouse.
    scrolled.set_can_focus(true);
    scrolled
}
