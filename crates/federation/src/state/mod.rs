//! What a gateway has to remember (protocol §8, durable state), over the port
//! [`KeyValue`](mesh_core::store::KeyValue).
//!
//! | where | for whom | who expires entries |
//! |---|---|---|
//! | [`InMemoryState`] | one gateway, for as long as its process lives; the default | the process |
//! | `mesh_store::Store::key_value` | one gateway; survives a kill and a restart | the process |
//! | `mesh_transport_nats::NatsState` | several gateways of one realm | the server |

mod memory;
mod replay;

pub use memory::{InMemoryState, MemoryUsage, StateLimits};
pub use replay::{SharedReplay, SharedReplayOptions, StoreAway};
