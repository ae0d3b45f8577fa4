//! What the tests stand on: real processes, a desktop that nobody sees, a person's hands and eyes.
//!
//! - [`place`] where our programs and the real servers are
//! - [`wait`] conditions with a deadline
//! - [`process`] children that end with the test, and who is left
//! - [`command_line`] the `mcp-host` binary, as a script would run it
//! - [`desktop`] a display, a session bus, an accessibility bus, a window manager, a home folder
//! - [`hand`] real key and mouse events, and screenshots
//! - [`eye`] what a screen reader would read
//! - [`page`] the main window's page, through WebDriver
//! - [`dialog`] a native dialog, as a person meets it
//! - [`settings`] the settings window, as a person meets it
//! - [`app`] the reference app with a profile of its own
//!
//! Nothing here decides whether something is right: that is said in the tests.

#![allow(clippy::needless_pass_by_value, reason = "a `json!` literal is read where it is passed")]

#[cfg(target_os = "linux")]
pub mod app;
#[cfg(target_os = "linux")]
pub mod command_line;
#[cfg(target_os = "linux")]
pub mod desktop;
#[cfg(target_os = "linux")]
pub mod dialog;
#[cfg(target_os = "linux")]
pub mod eye;
#[cfg(target_os = "linux")]
pub mod hand;
#[cfg(target_os = "linux")]
pub mod page;
pub mod place;
#[cfg(target_os = "linux")]
pub mod process;
#[cfg(target_os = "linux")]
pub mod settings;
pub mod wait;
