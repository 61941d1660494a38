//! Programs that must not compile. They stand in `tests/cases`, each with what its author is told.
