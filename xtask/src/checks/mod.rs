//! Checks that CI makes, a verb each.

pub(crate) mod cargo;
pub(crate) mod features;
pub(crate) mod lines;
pub(crate) mod publishing;
pub(crate) mod purity;
