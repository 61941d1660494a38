//! What must hold of a gateway, whatever comes in. The targets call this; so can a debugger.

mod inbound;

pub use inbound::{CUT, inbound};
