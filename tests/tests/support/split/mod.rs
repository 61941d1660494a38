//! A private nats-server in the layouts of protocol §4, with the users of a small mesh: `split`, where
//! BUS holds the streams and EDGE everybody else, and `one account`, which the documents describe and
//! which is shown here for what it lets through.

#[path = "../accounts.rs"]
mod accounts;
mod bed;
mod compose;
mod mesh;

pub use bed::{Bed, PATIENCE, Started};
pub use compose::{Isolation, Layout};
pub use mesh::{Mesh, Side, TAP, User};
