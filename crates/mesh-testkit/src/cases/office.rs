//! The controller at a desk: what the cases of its port begin with.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{
    Administration, Capability, ConsumeOptions, ConsumerState, Drift, DriftMode, TransportError,
};
use mesh_core::topology::{StreamName, Topology};

use super::desk::{Desk, events_of, topology, with_mail};
use crate::fixtures::with_stream;
use crate::suite::scene::{rules_of, unsupported};
use crate::suite::{Failure, Stage, Verdict, ensure_eq};

/// Between two looks at what a broker says a moment later.
const LOOK: Duration = Duration::from_millis(5);

/// The controller at a desk.
pub(super) struct Office {
    pub(super) desk: Desk,
    pub(super) administration: Arc<dyn Administration>,
    /// Whether a log is counted.
    logs: bool,
}

impl Office {
    pub(super) async fn open(stage: &Stage<'_>) -> Result<Self, Failure> {
        Self::with(stage, topology(stage.span() * 100)).await
    }

    pub(super) async fn with(stage: &Stage<'_>, topology: Topology) -> Result<Self, Failure> {
        let desk = Desk::with(stage, topology).await?;
        let administration = desk.administration().await?;
        Ok(Self { desk, administration, logs: stage.has(Capability::Sequences) })
    }

    pub(super) async fn assert(
        &self,
        topology: &Topology,
        mode: DriftMode,
    ) -> Result<Vec<Drift>, Failure> {
        let asserting = self.administration.assert(topology, mode);
        Ok(self.desk.scene.soon("assert", asserting).await??)
    }

    pub(super) async fn mend(
        &self,
        topology: &Topology,
        chosen: &[Drift],
    ) -> Result<Vec<Drift>, Failure> {
        let mending = self.administration.mend(topology, chosen);
        Ok(self.desk.scene.soon("mend", mending).await??)
    }

    /// Whether somebody reads the consumer of that module, where the broker says: waits until it says
    /// `expected`, which it may hear of a moment later.
    pub(super) async fn comes_to_be_read(&self, module: &str, expected: bool) -> Verdict {
        let looking = async {
            loop {
                let state = self.state(module).await?;
                let state = state.ok_or_else(|| Failure::new("the consumer is not there"))?;
                if state.is_read.is_none_or(|is_read| is_read == expected) {
                    return Ok(());
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let what = if expected { "a reader to be seen" } else { "a reader to be gone" };
        self.desk.scene.soon(what, looking).await?
    }

    /// How many messages the stream keeps; none if it is not there.
    pub(super) async fn stored(&self, stream: StreamName) -> Result<Option<u64>, Failure> {
        Ok(self.try_stored(stream).await??)
    }

    pub(super) async fn try_stored(
        &self,
        stream: StreamName,
    ) -> Result<Result<Option<u64>, TransportError>, Failure> {
        let inspecting = self.administration.inspect(stream);
        let state = self.desk.scene.soon("inspect", inspecting).await?;
        Ok(state.map(|state| state.map(|state| state.messages)))
    }

    /// Fails unless EVENTS keeps so many, where a log is counted.
    pub(super) async fn keeps_events(&self, count: u64) -> Verdict {
        if self.logs {
            ensure_eq!(self.stored(StreamName::Events).await?, Some(count), "stored");
            return Ok(());
        }
        unsupported(self.try_stored(StreamName::Events).await?, Capability::Sequences)
    }

    pub(super) async fn state(&self, module: &str) -> Result<Option<ConsumerState>, Failure> {
        let of = events_of(module);
        let inspecting = self.administration.inspect_consumer(&of);
        Ok(self.desk.scene.soon("inspect", inspecting).await??)
    }

    /// What the consumer of that module, which nobody reads, has not settled; nothing if it is not there.
    pub(super) async fn owed(&self, module: &str) -> Result<Option<u64>, Failure> {
        Ok(self.state(module).await?.map(|state| state.owed()))
    }

    /// The same of one whose reader holds so many.
    pub(super) async fn owed_beside(
        &self,
        module: &str,
        held: u64,
    ) -> Result<Option<u64>, Failure> {
        let state = self.state(module).await?;
        Ok(state.map(|state| state.pending + state.in_flight.unwrap_or(held)))
    }

    pub(super) async fn retire(&self, module: &str) -> Result<bool, Failure> {
        let of = events_of(module);
        let retiring = self.administration.retire(&of);
        Ok(self.desk.scene.soon("retire", retiring).await??)
    }

    /// One message acknowledged by `mail`, one waiting.
    pub(super) async fn one_done_one_waiting(&self) -> Verdict {
        self.desk.append_all(&["1"]).await?;
        let (mail, mut reading) = self.desk.reader("mail").await?;
        self.desk.expect_all(&mut reading, &["1"]).await?;
        self.desk.scene.close(&mail).await?;
        self.desk.append_all(&["2"]).await
    }

    /// What [`one_done_one_waiting`](Self::one_done_one_waiting) left is still so on a broker that
    /// holds `topology`.
    pub(super) async fn still_one_waiting(&self, topology: &Topology) -> Verdict {
        self.keeps_events(2).await?;
        ensure_eq!(self.owed("mail").await?, Some(1), "owed to mail");
        let told = told(topology, "mail");
        let (_mail, mut reading) = self.desk.reader_with("mail", told).await?;
        self.desk.expect_all(&mut reading, &["2"]).await?;
        self.desk.expect_only_the_sentinel(&mut reading).await
    }
}

/// What the reader of that module is told, of a topology that was asserted since the start.
pub(super) fn told(topology: &Topology, module: &str) -> ConsumeOptions {
    let rules = rules_of(topology, &events_of(module));
    ConsumeOptions { rules, ..ConsumeOptions::default() }
}

/// A topology that differs from the desk's in one field of a stream and one of a consumer.
pub(super) fn drifted(stage: &Stage<'_>) -> Topology {
    let stream = with_stream(topology(stage.span() * 100), StreamName::Control, |control| {
        control.max_bytes /= 2;
    });
    with_mail(stream, |mail| mail.rules.max_deliver = Some(4))
}
