//! Which question is shown when.
