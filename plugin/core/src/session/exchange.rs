//! Which answer belongs to which request.
