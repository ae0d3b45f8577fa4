//! What a person does with a desktop: looks for a window, points, clicks, types, takes a picture.
//!
//! Every event is a real one (XTEST), so it meets the same focus, modality and guards as a person's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::desktop::Desktop;
use crate::{process, wait};

/// A window on the desktop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    id: u64,
}

/// A place on the screen, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct Area {
    /// From the left.
    pub x: i32,
    /// From the top.
    pub y: i32,
    /// Its width.
    pub width: i32,
    /// Its height.
    pub height: i32,
}

impl Area {
    /// Its middle.
    pub fn centre(&self) -> (i32, i32) {
        (self.x + self.width / 2, self.y + self.height / 2)
    }

    /// Whether all of `other` is in it.
    pub fn contains(&self, other: &Self) -> bool {
        other.x >= self.x
            && other.y >= self.y
            && other.x + other.width <= self.x + self.width
            && other.y + other.height <= self.y + self.height
    }
}

/// A person's hand on one desktop.
#[derive(Clone, Copy)]
pub struct Hand<'a> {
    desktop: &'a Desktop,
}

impl Desktop {
    /// A hand on this desktop.
    pub fn hand(&self) -> Hand<'_> {
        Hand { desktop: self }
    }
}

impl Hand<'_> {
    /// The visible windows whose title contains `title`.
    ///
    /// # Errors
    /// xdotool's.
    pub fn windows(&self, title: &str) -> Result<Vec<Window>> {
        // It exits 1 when there is none.
        let pattern = regex_escape(title);
        let mut command = self.xdotool(["search", "--onlyvisible", "--name"]);
        let output = command.arg(pattern).output().context("xdotool")?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.trim().parse().ok()).map(|id| Window { id }).collect())
    }

    /// Waits for a visible window whose title contains `title`.
    ///
    /// # Errors
    /// There was none within `limit`.
    pub fn window(&self, title: &str, limit: Duration) -> Result<Window> {
        wait::until(&format!("a window named `{title}`"), limit, || Ok(self.windows(title)?.pop()))
    }

    /// Waits until no visible window's title contains `title`.
    ///
    /// # Errors
    /// There was still one at the end of `limit`.
    pub fn gone(&self, title: &str, limit: Duration) -> Result<()> {
        wait::until(&format!("`{title}` to close"), limit, || Ok(self.windows(title)?.is_empty().then_some(())))
    }

    /// Where a window is.
    ///
    /// # Errors
    /// It is gone.
    pub fn area(&self, window: Window) -> Result<Area> {
        // Not xdotool's `getwindowgeometry`: it counts the frame of a decorated window twice.
        let mut command = self.desktop.command("xwininfo");
        let text = process::read_output(command.args(["-id", &window.id.to_string()]))?;
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'));
            value.and_then(|value| value.trim().parse().ok()).with_context(|| format!("xwininfo told no {name}"))
        };
        Ok(Area {
            x: field("Absolute upper-left X")?,
            y: field("Absolute upper-left Y")?,
            width: field("Width")?,
            height: field("Height")?,
        })
    }

    /// Gives a window the focus, as a click on its title bar would.
    ///
    /// # Errors
    /// The window manager did not.
    pub fn focus(&self, window: Window) -> Result<()> {
        let id = window.id.to_string();
        process::read_output(&mut self.xdotool(["windowactivate", &id]))?;
        wait::until("the window to have the focus", wait::LONG, || Ok((self.focused()? == Some(window)).then_some(())))
    }

    /// The window that has the focus.
    ///
    /// # Errors
    /// xdotool's.
    pub fn focused(&self) -> Result<Option<Window>> {
        let output = self.xdotool(["getactivewindow"]).output().context("xdotool")?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.trim().parse().ok().map(|id| Window { id }))
    }

    /// Closes a window as its title bar's button would.
    ///
    /// # Errors
    /// It is gone.
    pub fn close(&self, window: Window) -> Result<()> {
        let id = window.id.to_string();
        self.do_it(["windowclose", &id])
    }

    /// Presses Alt+F4 in the focused window.
    ///
    /// # Errors
    /// xdotool's.
    pub fn close_by_key(&self) -> Result<()> {
        self.key("alt+F4")
    }

    /// Presses and releases a key, named as X names it (`Return`, `space`, `Escape`, `Tab`, `ctrl+a`).
    ///
    /// # Errors
    /// xdotool's.
    pub fn key(&self, key: &str) -> Result<()> {
        self.do_it(["key", "--clearmodifiers", key])
    }

    /// Types a text, key by key.
    ///
    /// # Errors
    /// xdotool's.
    pub fn type_text(&self, text: &str) -> Result<()> {
        self.do_it(["type", "--clearmodifiers", "--delay", "8", text])
    }

    /// Moves the pointer to the middle of an area and clicks.
    ///
    /// # Errors
    /// xdotool's.
    pub fn click(&self, area: &Area) -> Result<()> {
        let (x, y) = area.centre();
        self.do_it(["mousemove", &x.to_string(), &y.to_string(), "click", "1"])
    }

    /// Moves the pointer out of everything's way.
    ///
    /// # Errors
    /// xdotool's.
    pub fn rest(&self) -> Result<()> {
        self.do_it(["mousemove", "1279", "719"])
    }

    /// Turns the wheel at the middle of an area: down, or up with a negative number.
    ///
    /// # Errors
    /// xdotool's.
    pub fn scroll(&self, area: &Area, notches: i32) -> Result<()> {
        let (x, y) = area.centre();
        let button = if notches < 0 { "4" } else { "5" };
        let count = notches.unsigned_abs().to_string();
        self.do_it(["mousemove", &x.to_string(), &y.to_string(), "click", "--repeat", &count, button])
    }

    /// A picture of the whole screen, as `NAME.png` among the artefacts.
    ///
    /// # Errors
    /// ImageMagick's.
    pub fn picture(&self, name: &str) -> Result<PathBuf> {
        let path = self.desktop.artefacts().join(format!("{name}.png"));
        self.import(&["-window", "root"], &path)?;
        Ok(path)
    }

    /// A picture of one window with its frame's content, as `NAME.png` among the artefacts.
    ///
    /// # Errors
    /// ImageMagick's.
    pub fn picture_of(&self, window: Window, name: &str) -> Result<PathBuf> {
        let path = self.desktop.artefacts().join(format!("{name}.png"));
        self.import(&["-window", &window.id.to_string()], &path)?;
        Ok(path)
    }

    fn import(&self, what: &[&str], path: &Path) -> Result<()> {
        let mut command = self.desktop.command("import");
        command.args(["-silent"]).args(what).arg(path);
        process::read_output(&mut command).map(drop)
    }

    fn do_it<'b>(&self, arguments: impl IntoIterator<Item = &'b str>) -> Result<()> {
        process::read_output(&mut self.xdotool(arguments)).map(drop)
    }

    fn xdotool<'b>(&self, arguments: impl IntoIterator<Item = &'b str>) -> Command {
        let mut command = self.desktop.command("xdotool");
        command.args(arguments);
        command
    }
}

/// xdotool searches by POSIX regular expression.
fn regex_escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        if r"\.^$*+?()[]{}|".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
