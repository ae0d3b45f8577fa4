//! What a screen reader would read, through AT-SPI: roles, names, texts, states and places.
//!
//! Each look is a fresh process that asks the bus anew: nothing is cached, so nothing is stale.

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::desktop::Desktop;
use crate::hand::Area;
use crate::{process, wait};

const SCRIPT: &str = include_str!("eye.py");

/// A widget, or an element of a page.
#[derive(Clone, Debug, Deserialize)]
pub struct Node {
    /// AT-SPI's name of its role: `push button`, `dialog`, `label`, `text`, `heading`, `table cell`, …
    pub role: String,
    /// Its accessible name.
    pub name: String,
    /// Its accessible description.
    pub description: String,
    /// Its text, if it has one; U+FFFC stands for a child.
    pub text: Option<String>,
    /// Where it is on the screen.
    pub area: Option<Area>,
    /// `focused`, `showing`, `sensitive`, `checked`, `modal`, …
    pub states: Vec<String>,
    /// In reading order.
    pub children: Vec<Node>,
    /// The application's name; of windows only.
    #[serde(default)]
    pub application: String,
    /// The application's process; of windows only.
    #[serde(default)]
    pub process: u32,
}

impl Node {
    /// Itself and everything in it, in reading order.
    pub fn all(&self) -> Vec<&Self> {
        let mut found = vec![self];
        found.extend(self.children.iter().flat_map(Self::all));
        found
    }

    /// The first in it with this role and exactly this name.
    pub fn find(&self, role: &str, name: &str) -> Option<&Self> {
        self.all().into_iter().find(|node| node.role == role && node.name == name)
    }

    /// A button by its name; GTK and WebKit call the role differently.
    pub fn button(&self, name: &str) -> Option<&Self> {
        self.find("push button", name).or_else(|| self.find("button", name))
    }

    /// The names of all its buttons that are shown, in reading order.
    pub fn buttons(&self) -> Vec<&str> {
        let buttons = self.all().into_iter().filter(|node| matches!(node.role.as_str(), "push button" | "button"));
        buttons.filter(|node| node.is("showing")).map(|node| node.name.as_str()).collect()
    }

    /// Whether it has a state.
    pub fn is(&self, state: &str) -> bool {
        self.states.iter().any(|each| each == state)
    }

    /// Every name and text in it, a line each.
    pub fn reading(&self) -> String {
        let mut lines: Vec<&str> = Vec::new();
        for node in self.all() {
            lines.extend(
                Some(node.name.as_str()).into_iter().chain(node.text.as_deref()).filter(|text| !text.is_empty()),
            );
        }
        lines.dedup();
        lines.join("\n")
    }

    /// The tree in indented lines, for a failure's message.
    pub fn outline(&self) -> String {
        let mut lines = String::new();
        self.write_outline(0, &mut lines);
        lines
    }

    fn write_outline(&self, depth: usize, lines: &mut String) {
        let text = self.text.as_deref().unwrap_or_default();
        let area = self.area.map(|area| format!("{},{} {}×{}", area.x, area.y, area.width, area.height));
        let (indent, area) = ("  ".repeat(depth), area.unwrap_or_default());
        lines.push_str(&format!("{indent}{} «{}» {text:?} [{area}] {}\n", self.role, self.name, self.states.join(" ")));
        for child in &self.children {
            child.write_outline(depth + 1, lines);
        }
    }

    /// Where it is.
    ///
    /// # Errors
    /// It has no place.
    pub fn place(&self) -> Result<Area> {
        self.area.filter(|area| area.width > 0).with_context(|| format!("{} «{}» has no place", self.role, self.name))
    }
}

/// A person's eye on one desktop.
#[derive(Clone, Copy)]
pub struct Eye<'a> {
    desktop: &'a Desktop,
}

impl Desktop {
    /// An eye on this desktop.
    pub fn eye(&self) -> Eye<'_> {
        Eye { desktop: self }
    }
}

impl Eye<'_> {
    /// Every window whose name contains `name`, with all that is in it.
    ///
    /// # Errors
    /// The accessibility bus does not answer.
    pub fn windows(&self, name: &str) -> Result<Vec<Node>> {
        let mut command = self.desktop.command("/usr/bin/python3");
        command.args(["-c", SCRIPT, name]);
        let text = process::read_output(&mut command)?;
        serde_json::from_str(&text).with_context(|| format!("what the accessibility bus told: {text}"))
    }

    /// Waits for something in a window whose name contains `name`.
    ///
    /// # Errors
    /// It did not come within `limit`; with what was there instead.
    pub fn until<T>(
        &self,
        what: &str,
        name: &str,
        limit: Duration,
        mut condition: impl FnMut(&Node) -> Option<T>,
    ) -> Result<T> {
        let mut last = String::new();
        let found = wait::until(what, limit, || {
            let windows = self.windows(name)?;
            last = windows.iter().map(Node::outline).collect::<Vec<_>>().join("\n");
            Ok(windows.iter().find_map(&mut condition))
        });
        found.with_context(|| format!("in «{name}» there was\n{last}"))
    }
}
