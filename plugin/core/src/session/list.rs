//! Whole lists, page by page: at most 64 pages, 10,000 items and 8 MiB; a repeated cursor ends it.

/// A list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed<T> {
    /// What decoded.
    pub items: Vec<T>,
    /// A limit was hit, or a cursor came twice: there may be more.
    pub cut: bool,
    /// What was left out or repaired, in words.
    pub diagnostics: Vec<String>,
}
