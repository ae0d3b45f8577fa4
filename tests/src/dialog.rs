//! A native dialog of the app, as a person meets it: read through the accessibility bus, answered with the mouse.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::desktop::Desktop;
use crate::eye::Node;
use crate::hand::{Area, Window};
use crate::wait;

/// What the product must remain usable at (policy.md §8).
const SCREEN: Area = Area { x: 0, y: 0, width: 1280, height: 720 };

/// How long a press may take to show an effect before it counts as not taken and is repeated.
const EFFECT: Duration = Duration::from_secs(2);

/// A dialog that is open, as it was when it was last looked at.
pub struct Dialog<'a> {
    desktop: &'a Desktop,
    process: u32,
    window: Window,
    node: Node,
}

/// The dialogs that a process shows now.
///
/// # Errors
/// The accessibility bus does not answer.
pub fn shown(desktop: &Desktop, process: u32) -> Result<Vec<Node>> {
    let windows = desktop.eye().windows("")?;
    let mine = windows.into_iter().filter(|node| node.process == process && node.is("showing"));
    Ok(mine.filter(|node| matches!(node.role.as_str(), "dialog" | "alert")).collect())
}

impl<'a> Dialog<'a> {
    /// Waits for a dialog of a process.
    ///
    /// # Errors
    /// None came.
    pub fn of(desktop: &'a Desktop, process: u32) -> Result<Self> {
        let node = wait::until("a dialog", wait::LONG, || Ok(shown(desktop, process)?.pop()))?;
        let window = desktop.hand().window(&node.name, wait::LONG)?;
        Ok(Self { desktop, process, window, node })
    }

    /// What a screen reader would read of it, line by line.
    pub fn reading(&self) -> String {
        self.node.reading()
    }

    /// Its tree.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Its window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Where it is.
    ///
    /// # Errors
    /// It is gone.
    pub fn area(&self) -> Result<Area> {
        self.desktop.hand().area(self.window)
    }

    /// Whether it is still open.
    ///
    /// # Errors
    /// xdotool's.
    pub fn is_open(&self) -> Result<bool> {
        Ok(self.desktop.hand().windows(&self.node.name)?.contains(&self.window))
    }

    /// Looks again; nothing if it is closed.
    ///
    /// # Errors
    /// The accessibility bus does not answer.
    pub fn look(&self) -> Result<Option<Node>> {
        if !self.is_open()? {
            return Ok(None);
        }
        Ok(shown(self.desktop, self.process)?.into_iter().find(|node| node.name == self.node.name))
    }

    /// Waits until it can be answered: its buttons are greyed out until the guard is through.
    ///
    /// # Errors
    /// It closed, or never could.
    pub fn ready(&self) -> Result<Node> {
        let mut last = None;
        let ready = wait::until("the dialog to take an answer", wait::LONG, || {
            let node = self.look()?.context("the dialog closed by itself")?;
            if !node.is("active") {
                // It asks to be clicked first, and so a person does.
                self.desktop.hand().focus(self.window)?;
            }
            let ready = buttons(&node).iter().all(|button| button.is("sensitive")).then(|| node.clone());
            last = Some(node);
            Ok(ready)
        });
        ready.with_context(|| last.map(|node| node.outline()).unwrap_or_default())
    }

    /// Presses a button with the mouse as soon as it can be pressed, and waits until that changed something.
    ///
    /// # Errors
    /// There is no such button, or pressing it did nothing.
    pub fn press(&self, name: &str) -> Result<()> {
        wait::until(&format!("«{name}» to have an effect"), wait::LONG, || {
            let node = self.ready()?;
            let found = buttons(&node).into_iter().find(|button| button.name == name);
            let button = found.with_context(|| format!("no «{name}» in\n{}", node.outline()))?;
            let before = node.buttons().join("\n");
            self.desktop.hand().click(&button.place()?)?;
            let changed = wait::until("an effect", EFFECT, || {
                let now = self.look()?;
                Ok(now.is_none_or(|now| now.buttons().join("\n") != before).then_some(()))
            });
            Ok(changed.ok())
        })
    }

    /// Gives an answer, by way of the second step and the second question where it stands there, and waits until the
    /// dialog is closed.
    ///
    /// # Errors
    /// There is no such answer.
    pub fn answer(self, name: &str) -> Result<()> {
        if self.ready()?.button(name).is_none_or(|button| !button.is("showing")) {
            self.press(MORE)?;
        }
        self.press(name)?;
        let sure = format!("Yes: {name}");
        if self.look()?.is_some_and(|node| node.button(&sure).is_some_and(|button| button.is("showing"))) {
            self.press(&sure)?;
        }
        self.gone()
    }

    /// Waits until it is closed.
    ///
    /// # Errors
    /// It did not.
    pub fn gone(&self) -> Result<()> {
        wait::until("the dialog to close", wait::LONG, || Ok((!self.is_open()?).then_some(())))
    }

    /// Presses a key until the dialog is closed.
    ///
    /// # Errors
    /// It does not close it.
    pub fn close_by(self, key: &str) -> Result<()> {
        wait::until(&format!("{key} to close the dialog"), wait::LONG, || {
            if self.look()?.is_some_and(|node| buttons(&node).iter().all(|button| button.is("sensitive"))) {
                self.desktop.hand().key(key)?;
            }
            Ok((!self.is_open()?).then_some(()))
        })
    }

    /// Requires that all of it, and each of its buttons, is on the screen.
    ///
    /// # Errors
    /// What is not.
    pub fn fits_the_screen(&self) -> Result<()> {
        let area = self.area()?;
        ensure!(SCREEN.contains(&area), "the dialog is at {area:?}");
        let node = self.look()?.context("the dialog closed by itself")?;
        let buttons = buttons(&node);
        ensure!(buttons.len() >= 2, "it has too few buttons:\n{}", node.outline());
        for button in buttons {
            ensure!(
                area.contains(&button.place()?),
                "«{}» is at {:?}, the dialog at {area:?}",
                button.name,
                button.area
            );
        }
        Ok(())
    }
}

/// The button that shows the second step.
pub const MORE: &str = "More choices…";

fn buttons(node: &Node) -> Vec<&Node> {
    let all = node.all().into_iter();
    all.filter(|node| matches!(node.role.as_str(), "push button" | "button") && node.is("showing")).collect()
}
