//! Colours and spacing, from the system's own theme, so that light, dark and high contrast follow by themselves.

use std::cell::Cell;

use gtk::{gdk, prelude::*};

/// Every rule is below a class of ours: the application's own windows keep their look.
const CSS: &str = r"
.mcp-host-dialog .heading { font-weight: bold; font-size: 120%; }
.mcp-host-dialog .caption { font-size: 88%; opacity: 0.78; }
.mcp-host-dialog .caution, .mcp-host-dialog .untrusted { padding: 5px 10px; border-radius: 0 4px 4px 0; }
.mcp-host-dialog .caution { border-left: 4px solid @warning_color; background-color: alpha(@warning_color, 0.14); }
.mcp-host-dialog .untrusted { border-left: 4px solid alpha(@theme_fg_color, 0.35); background-color: alpha(@theme_fg_color, 0.06); font-style: italic; }
.mcp-host-dialog .footer { border-top: 1px solid @borders; background-color: alpha(@theme_fg_color, 0.035); padding: 10px 18px; }
.mcp-host-dialog .footer button { min-width: 64px; }
.mcp-host-dialog .state { font-weight: bold; font-size: 92%; }
.mcp-host-dialog textview, .mcp-host-dialog textview text { font-family: monospace; font-size: 96%; }
.mcp-host-dialog treeview.view { font-size: 96%; }
.mcp-host-dialog treeview.view header button { padding: 2px 6px; }
.mcp-host-dialog .option { padding: 7px 14px; }
.mcp-host-dialog .choice { font-weight: bold; }
.mcp-host-dialog .explanation { opacity: 0.85; }
.mcp-host-dialog .details { border: 1px solid @borders; border-radius: 4px; }
.mcp-host-dialog paned separator { background-color: transparent; background-image: none; }
";

thread_local! {
    static LOADED: Cell<bool> = const { Cell::new(false) };
}

/// Loads the rules once.
pub(super) fn load() {
    let Some(screen) = gdk::Screen::default() else { return };
    if LOADED.replace(true) {
        return;
    }
    let provider = gtk::CssProvider::new();
    match provider.load_from_data(CSS.as_bytes()) {
        Ok(()) => {
            gtk::StyleContext::add_provider_for_screen(&screen, &provider, gtk::STYLE_PROVIDER_PRIORITY_APPLICATION);
        }
        Err(error) => tracing::warn!(%error, "the dialog's colours cannot be loaded"),
    }
}
