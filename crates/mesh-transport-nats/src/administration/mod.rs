//! The controller's side of a server: streams and consumers asserted, read, inspected and retired,
//! by questions to `$JS.API`.

mod ask;
mod assert;
mod check;
mod header_block;
mod list;
mod mend;
mod plan;
mod read;
mod setting;
mod settings;
mod wanted;

#[cfg(test)]
mod tests;

use std::fmt;

use async_trait::async_trait;
use mesh_core::port::{
    Administration, ConsumerState, Drift, DriftMode, Held, Operation, Position, Stored,
    StreamState, TransportError,
};
use mesh_core::topology::{ConsumerRef, StreamName, Topology};
use serde_json::Value;

pub use settings::StreamSettings;

use crate::api::Api;
use crate::api_error::{Malformed, api_error, malformed};
use ask::StreamInfo;
use plan::Plan;

/// The port [`Administration`] over whoever can ask the server's API.
pub(crate) struct Admin<A> {
    api: A,
    settings: StreamSettings,
}

impl<A: Api> Admin<A> {
    pub(crate) fn new(api: A, settings: StreamSettings) -> Self {
        Self { api, settings }
    }
}

impl<A> fmt::Debug for Admin<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("settings", &self.settings).finish_non_exhaustive()
    }
}

#[async_trait]
impl<A: Api> Administration for Admin<A> {
    async fn assert(
        &self,
        topology: &Topology,
        mode: DriftMode,
    ) -> Result<Vec<Drift>, TransportError> {
        self.assert_all(topology, mode.into()).await
    }

    async fn mend(
        &self,
        topology: &Topology,
        chosen: &[Drift],
    ) -> Result<Vec<Drift>, TransportError> {
        self.assert_all(topology, Plan::Only(chosen)).await
    }

    async fn list(&self) -> Result<Vec<Held>, TransportError> {
        self.list_all().await
    }

    async fn read(
        &self,
        stream: StreamName,
        position: Position,
    ) -> Result<Option<Stored>, TransportError> {
        self.read_stored(stream, &position).await
    }

    async fn inspect(&self, stream: StreamName) -> Result<Option<StreamState>, TransportError> {
        let info = self.stream_info(Operation::Inspect, stream).await?;
        info.map(|info| stream_state(stream, &info)).transpose()
    }

    async fn inspect_consumer(
        &self,
        consumer: &ConsumerRef,
    ) -> Result<Option<ConsumerState>, TransportError> {
        let info = self.consumer_info(Operation::Inspect, consumer).await?;
        Ok(info.map(|info| ConsumerState {
            pending: info.num_pending,
            in_flight: Some(info.num_ack_pending),
            redelivered: Some(info.num_redelivered),
            is_read: Some(info.push_bound && !info.paused),
        }))
    }

    async fn retire(&self, consumer: &ConsumerRef) -> Result<bool, TransportError> {
        let about = consumer.to_string();
        let ConsumerRef { stream, consumer } = consumer;
        let subject = format!("$JS.API.CONSUMER.DELETE.{stream}.{consumer}");
        match self.ask::<Value>(Operation::Retire, &about, &subject, None).await? {
            Ok(_done) => Ok(true),
            Err(refused) if refused.is_absence() => Ok(false),
            Err(refused) => Err(api_error(Operation::Retire, &about, &refused)),
        }
    }
}

fn stream_state(stream: StreamName, info: &StreamInfo) -> Result<StreamState, TransportError> {
    let created = info.created.as_deref().map(str::parse).transpose();
    let created = created.map_err(|_| {
        let odd = Malformed::Content("the time of creation is not RFC 3339");
        malformed(Operation::Inspect, stream.as_str(), odd)
    })?;
    let state = &info.state;
    Ok(StreamState {
        messages: state.messages,
        bytes: Some(state.bytes),
        max_bytes: wanted::max_bytes(&info.config),
        // An empty stream that nothing was ever in says 0.
        first_sequence: Some(state.first_seq.max(1)),
        last_sequence: Some(state.last_seq),
        consumers: state.consumer_count,
        created,
    })
}
