//! A mesh's bus put into its seat while the mesh goes on elsewhere, and nothing routed to it yet.
//!
//! Two grounds are possible. A server of the mesh's own is raised beside the broker that carries it: [`beside`]
//! says what is in its way. Or the mesh's accounts come into a nats-server that holds other people's data: they
//! stand in a file that the owner's file includes with one line, and the owner's file is never written.
//! [`into`] says why a server can't take them, from what the server tells of itself on its monitoring
//! port; one that can't be seen is refused, too.
//!
//! Afterwards [`touched`] compares what the server told before and after: other people's streams, consumers and
//! connections are as they were. [`routed`] says what already goes over the mesh's accounts: until the mesh is
//! moved there must be nothing.
//!
//! Who has the seat is kept on the server itself, where the controller alone looks
//! ([`SeatAddress`](mesh_core::topology::SeatAddress)).

mod accounts;
mod beside;
mod claim;
mod files;
mod ground;
mod routing;
mod survey;
mod telling;
mod untouched;

#[cfg(test)]
mod tests;

pub use accounts::Ours;
pub use beside::beside;
pub use claim::{Claim, ClaimError};
pub use files::AdoptionFolder;
pub use ground::{Unfit, Wanted, into, seated};
pub use routing::{Routed, routed};
pub use survey::{Connected, ConsumerFacts, ServerFacts, StreamFacts, Survey};
pub use untouched::{Touched, touched};
