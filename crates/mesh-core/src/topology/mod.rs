//! The mesh's subjects, streams and consumers as data (protocol §2, §4, §7). Every adapter
//! interprets this; none spells a subject of its own.
//!
//! ```
//! use mesh_core::name::{EventName, ModuleName};
//! use mesh_core::subject::Subject;
//! use mesh_core::topology::MeshSubject;
//!
//! let event = MeshSubject::Event {
//!     module: ModuleName::new("mail")?,
//!     event: EventName::new("letter.sent")?,
//! };
//! assert_eq!(event.to_subject()?.as_str(), "mesh.events.mail.letter.sent");
//! let text = Subject::new("mesh.events.mail.letter.sent")?;
//! assert_eq!(MeshSubject::parse(&text)?, event);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ack;
mod address;
mod advisory;
mod amqp;
mod amqp_durable;
mod amqp_live;
mod amqp_queue;
mod bucket;
mod consumer;
mod families;
mod inbox_address;
mod mesh;
mod mesh_subject;
mod passage;
mod seat;
mod shape;
mod stream;
mod stream_name;

#[cfg(test)]
mod tests;

pub use ack::{AckAddress, AckNumbers, AckPrefix};
pub use address::{AddressError, DeliverySubject, Inbox, ReplyAddress, api_filter};
pub use advisory::{Advisory, AdvisoryKind};
pub use amqp::{AmqpExchange, AmqpRoute};
pub use amqp_durable::{AmqpArgument, DurableQueue, DurableQueueError};
pub use amqp_queue::{AmqpQueue, AmqpQueueKind};
pub use bucket::BucketAddress;
pub use consumer::{ConsumerRef, ConsumerRules, ConsumerSpec, DeliverFrom};
pub use inbox_address::{InboxAddress, InboxPurpose};
pub use mesh::Topology;
pub use mesh_subject::{MeshSubject, MeshSubjectError};
pub use passage::{Account, Passage};
pub use seat::SeatAddress;
pub use stream::{Retention, StreamSpec};
pub use stream_name::StreamName;
