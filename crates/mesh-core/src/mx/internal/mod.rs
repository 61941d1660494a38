//! Inside one realm: the request that a gateway publishes for a component, and how the
//! component's answer is read (protocol §8).

mod reply;
mod request;
mod strip;

#[cfg(test)]
mod tests;

pub use reply::decode_reply;
pub use request::{InternalRequest, LocalMeta};
pub use strip::without_mx;
