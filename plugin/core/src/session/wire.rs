//! A message as it was written.
