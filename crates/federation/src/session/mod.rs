//! Sessions: under which realms a principal is present, and how all of them are told something (protocol
//! §8, SessionDirectory).

mod table;
mod terms;

#[cfg(test)]
mod tests;

pub use table::SessionTable;
pub use terms::{Session, SessionLimits, SessionRefusal};
