//! Dialling a server that does what a test needs.

mod fake;
mod login;
