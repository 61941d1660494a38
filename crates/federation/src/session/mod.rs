//! Sessions: under which realms a principal is present, and how all of them are told something (protocol
//! §8, SessionDirectory).
//!
//! [`SessionTable`] holds the rules, and neither waits nor sends; [`SessionDirectory`] keeps one by the
//! clock, and [`SessionsFacade`] serves it.

mod directory;
mod facade;
mod record;
mod request;
mod table;
mod terms;

#[cfg(test)]
mod tests;

pub use directory::{DirectoryStatus, SessionDirectory, SessionError};
pub use facade::{PushError, Pushed, SessionsFacade};
pub use request::codes;
pub use table::SessionTable;
pub use terms::{Session, SessionLimits, SessionRefusal};
