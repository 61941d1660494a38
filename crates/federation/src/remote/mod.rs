//! Other realms: how they are asked and told.

mod direct;
mod sign;

pub use direct::{Direct, DirectError, DirectErrorKind};
pub use sign::{Sign, SignError};
