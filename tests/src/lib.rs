//! Tests over several crates: golden vectors, the transport suite on each transport, properties, and the
//! example mesh. They stand in `tests/`; there is nothing here.
