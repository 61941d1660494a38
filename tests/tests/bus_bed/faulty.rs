//! A broker that fails the controller when it is asked for something the n-th time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use mesh_core::port::{
    Administration, Connection, ConsumerState, Drift, DriftMode, ErrorKind, Held, Operation,
    Position, Stored, StreamState, TransportError,
};
use mesh_core::topology::{ConsumerRef, StreamName, Topology};

#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Administration>,
    /// How many changes go through before one fails.
    left: AtomicUsize,
    /// Whether what fails is done all the same.
    done: bool,
}

impl Faulty {
    /// The same connection, whose changes fail after so many.
    pub fn after(count: usize, done: bool, connection: &Connection) -> Connection {
        let inner = Arc::clone(connection.administration().unwrap());
        let faulty = Self { inner, left: AtomicUsize::new(count), done };
        connection.clone().with_administration(Arc::new(faulty))
    }

    fn fails(&self) -> bool {
        self.left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_err()
    }

    fn failed() -> TransportError {
        TransportError::new(ErrorKind::Disconnected, Operation::Assert)
    }
}

#[async_trait]
impl Administration for Faulty {
    async fn assert(
        &self,
        topology: &Topology,
        mode: DriftMode,
    ) -> Result<Vec<Drift>, TransportError> {
        let fails = self.fails();
        if fails && !self.done {
            return Err(Self::failed());
        }
        let answer = self.inner.assert(topology, mode).await;
        if fails { Err(Self::failed()) } else { answer }
    }

    async fn mend(
        &self,
        topology: &Topology,
        chosen: &[Drift],
    ) -> Result<Vec<Drift>, TransportError> {
        let fails = self.fails();
        if fails && !self.done {
            return Err(Self::failed());
        }
        let answer = self.inner.mend(topology, chosen).await;
        if fails { Err(Self::failed()) } else { answer }
    }

    async fn list(&self) -> Result<Vec<Held>, TransportError> {
        self.inner.list().await
    }

    async fn read(
        &self,
        stream: StreamName,
        position: Position,
    ) -> Result<Option<Stored>, TransportError> {
        self.inner.read(stream, position).await
    }

    async fn inspect(&self, stream: StreamName) -> Result<Option<StreamState>, TransportError> {
        self.inner.inspect(stream).await
    }

    async fn inspect_consumer(
        &self,
        consumer: &ConsumerRef,
    ) -> Result<Option<ConsumerState>, TransportError> {
        self.inner.inspect_consumer(consumer).await
    }

    async fn retire(&self, consumer: &ConsumerRef) -> Result<bool, TransportError> {
        self.inner.retire(consumer).await
    }
}
