//! Random steps on two brokers at once, which must look the same: what each call answers, what each
//! reader is given, what is left, and what became a dead letter.
//!
//! The [`model`](crate::model) says what a broker may do; here the brokers say it of each other. An
//! adapter's author runs its server beside the durable broker in the process, whose outcomes the model
//! has checked: whatever the two do differently is a mistake of one of them, or a freedom that the
//! contract has to name.
//!
//! The steps leave a broker no choice that can be seen. A reader takes all that its consumer is owed,
//! so it doesn't matter what comes first; two readers of a consumer, or two members of a group, are
//! looked at as one. What the contract leaves open is not compared:
//!
//! - which reader or member gets a message;
//! - whether a live subscriber hears an append that is refused or a duplicate;
//! - when a message is given up whose last try is over and whose consumer nobody reads: at the latest
//!   when somebody does;
//! - who asked, which not every broker proves;
//! - bytes and times.
//!
//! Nothing is timed but spans that the steps themselves wait for. After each step both brokers are
//! looked at until they have come to rest and look the same, or the [patience](crate::suite::Harness::patience)
//! of the harnesses is over.

mod difference;
mod drive;
mod durable;
mod live;
mod seen;

use mesh_core::port::Capability;

pub use difference::Difference;
pub use durable::{Last, Place, Step, Why};
pub use live::{Answering, LiveStep, Manner};

use crate::suite::Harness;
use drive::Needs;

/// What both brokers must promise for [`compare`]. What else both promise is compared too.
pub const NEEDS: [Capability; 4] = [
    Capability::DurableConsumers,
    Capability::Deduplication,
    Capability::Sequences,
    Capability::DelayedNak,
];

/// Does `steps` on a fresh bed of each harness, on streams and durable consumers.
///
/// # Errors
/// The first [`Difference`].
pub async fn compare(
    first: &dyn Harness,
    second: &dyn Harness,
    steps: &[Step],
) -> Result<(), Difference> {
    drive::run::<durable::Durable>(Needs(&NEEDS), [first, second], steps).await
}

/// The same on live messages and requests. Steps that need what one of the two does not promise do
/// nothing.
///
/// # Errors
/// The first [`Difference`].
pub async fn compare_live(
    first: &dyn Harness,
    second: &dyn Harness,
    steps: &[LiveStep],
) -> Result<(), Difference> {
    drive::run::<live::Live>(Needs(&[]), [first, second], steps).await
}
