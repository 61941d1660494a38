use async_trait::async_trait;
use mesh_core::message::Message;
use mesh_core::port::{
    AppendOptions, Appended, ConsumeOptions, Deliveries, Operation, Streams, TransportError,
};
use mesh_core::topology::ConsumerRef;

use super::Port;
use crate::{append, consume};

#[async_trait]
impl Streams for Port {
    async fn append(
        &self,
        message: Message,
        options: AppendOptions,
    ) -> Result<Appended, TransportError> {
        self.link().check(&message, Operation::Append)?;
        append::append(self.link(), &message, &options).await
    }

    async fn consume(
        &self,
        consumer: ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Deliveries, TransportError> {
        consume::consume(&self.owner, consumer, options).await
    }
}
