//! Text of strangers, made harmless to look at.
