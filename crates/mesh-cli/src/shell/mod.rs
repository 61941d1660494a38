//! What every command shares: how it answers, how it fails, and with which code it ends.

mod exit;
mod failure;
pub(crate) mod input;
pub(crate) mod json;
mod output;
pub(crate) mod snippet;
pub(crate) mod style;
pub(crate) mod usage;

#[cfg(test)]
mod tests;

pub(crate) use exit::{EXIT_CODES, Exit};
pub(crate) use failure::Failure;
pub(crate) use output::{Answer, Output, Shell};
