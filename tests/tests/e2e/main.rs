//! End to end: the real app in a real window, on a desktop that nobody sees.
//!
//! One scenario at a time (`--test-threads=1`): two cores, and every scenario is a whole desktop.

#![cfg(target_os = "linux")]

mod attack;
mod consent;
mod contract;
mod desktop;
mod leftover;
mod scene;
mod settings;
