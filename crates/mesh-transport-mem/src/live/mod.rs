//! Live messages: who listens where, and how a message reaches them.

mod deliver;
mod hub;
mod listener;
mod queue;
mod route;
mod subscription;
mod table;

pub(crate) use deliver::{Full, Left, Offered, deliver_now, deliver_to_group, offer, wait};
pub(crate) use hub::Hub;
pub(crate) use listener::{Asked, Listener, Sink};
pub(crate) use queue::{End, Queue};
pub(crate) use subscription::{Arrivals, Held};
pub(crate) use table::EntryId;
