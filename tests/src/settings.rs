//! The settings window as a person meets it: read through the accessibility bus, pressed with the mouse, typed into.
//!
//! It is outside the WebDriver session on purpose, and so nothing here can do more than a person.

use anyhow::{Context, Result};

use crate::desktop::Desktop;
use crate::eye::Node;
use crate::hand::Window;
use crate::wait;

/// The open window.
pub struct Settings<'a> {
    desktop: &'a Desktop,
    title: String,
    window: Window,
}

impl<'a> Settings<'a> {
    /// Waits for the window with this title.
    ///
    /// # Errors
    /// It did not come.
    pub fn wait(desktop: &'a Desktop, title: &str) -> Result<Self> {
        let window = desktop.hand().window(title, wait::LONG)?;
        let settings = Self { desktop, title: title.to_owned(), window };
        settings.until("its page", |page| page.all().iter().any(|node| node.role == "link").then_some(()))?;
        Ok(settings)
    }

    /// Its window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Waits for something in its page.
    ///
    /// # Errors
    /// It did not come; with what was there.
    pub fn until<T>(&self, what: &str, condition: impl FnMut(&Node) -> Option<T>) -> Result<T> {
        let mut condition = condition;
        self.desktop.eye().until(what, &self.title, wait::LONG, |window| {
            let page = window.all().into_iter().find(|node| node.role == "document web")?;
            condition(page)
        })
    }

    /// Waits until its page says this somewhere.
    ///
    /// # Errors
    /// It did not; with what it said.
    pub fn says(&self, text: &str) -> Result<()> {
        self.until(&format!("{text:?}"), |page| page.reading().contains(text).then_some(()))
    }

    /// Presses what has this role and this name with the mouse, bringing the window to the front first.
    ///
    /// # Errors
    /// There is no such thing.
    pub fn press(&self, role: &str, name: &str) -> Result<()> {
        let area = self.until(&format!("{role} «{name}»"), |page| {
            let found =
                page.all().into_iter().find(|node| node.role == role && node.name == name && node.is("showing"))?;
            found.area.filter(|area| area.width > 0 && found.is("sensitive"))
        })?;
        let hand = self.desktop.hand();
        hand.focus(self.window)?;
        hand.click(&area)
    }

    /// Goes to one of its pages.
    ///
    /// # Errors
    /// There is no link of that name.
    pub fn go(&self, page: &str) -> Result<()> {
        self.press("link", page)
    }

    /// Puts a text into a field, in place of what is there.
    ///
    /// # Errors
    /// There is no such field.
    pub fn fill(&self, name: &str, text: &str) -> Result<()> {
        let area = self.until(&format!("a field «{name}»"), |page| {
            let fields = page.all().into_iter().filter(|node| node.is("editable") && node.name == name);
            fields.filter_map(|node| node.area).find(|area| area.width > 0)
        })?;
        let hand = self.desktop.hand();
        hand.focus(self.window)?;
        hand.click(&area)?;
        hand.key("ctrl+a")?;
        hand.type_text(text)
    }

    /// A picture of the whole screen.
    ///
    /// # Errors
    /// ImageMagick's.
    pub fn picture(&self, name: &str) -> Result<()> {
        self.desktop.hand().picture(name).map(drop)
    }

    /// Its whole page as it is now.
    ///
    /// # Errors
    /// It is gone.
    pub fn page(&self) -> Result<Node> {
        let windows = self.desktop.eye().windows(&self.title)?;
        let pages = windows.iter().flat_map(Node::all).find(|node| node.role == "document web");
        pages.cloned().context("the settings window has no page")
    }
}
