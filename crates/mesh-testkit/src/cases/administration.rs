use std::sync::Arc;

use mesh_core::port::{
    Administration, Capability, ConsumeOptions, ConsumerState, Drift, DriftMode, TransportError,
};
use mesh_core::topology::{StreamName, Topology};

use super::consume::in_flight;
use super::desk::{Desk, events_of, topology, with_mail};
use crate::fixtures::{consumer, message, with_stream};
use crate::suite::scene::{rules_of, unsupported};
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(assert_creates_what_is_missing),
    case!(assert_twice_changes_nothing),
    case!(assert_reports_drift),
    case!(assert_mends_drift, Mending, else drift_is_named_and_left),
    case!(assert_leaves_strangers_alone),
    case!(inspect_counts_what_is_stored),
    case!(inspect_counts_what_a_consumer_owes),
    case!(retire_removes_a_consumer),
    case!(retire_of_an_absent_consumer_is_false),
];

/// The controller at a desk.
struct Office {
    desk: Desk,
    administration: Arc<dyn Administration>,
    /// Whether a log is counted.
    logs: bool,
}

impl Office {
    async fn open(stage: &Stage<'_>) -> Result<Self, Failure> {
        Self::with(stage, topology(stage.span() * 100)).await
    }

    async fn with(stage: &Stage<'_>, topology: Topology) -> Result<Self, Failure> {
        let desk = Desk::with(stage, topology).await?;
        let administration = desk.administration().await?;
        Ok(Self { desk, administration, logs: stage.has(Capability::Sequences) })
    }

    async fn assert(&self, topology: &Topology, mode: DriftMode) -> Result<Vec<Drift>, Failure> {
        let asserting = self.administration.assert(topology, mode);
        Ok(self.desk.scene.soon("assert", asserting).await??)
    }

    /// How many messages the stream keeps; none if it is not there.
    async fn stored(&self, stream: StreamName) -> Result<Option<u64>, Failure> {
        Ok(self.try_stored(stream).await??)
    }

    async fn try_stored(
        &self,
        stream: StreamName,
    ) -> Result<Result<Option<u64>, TransportError>, Failure> {
        let inspecting = self.administration.inspect(stream);
        let state = self.desk.scene.soon("inspect", inspecting).await?;
        Ok(state.map(|state| state.map(|state| state.messages)))
    }

    /// Fails unless EVENTS keeps so many, where a log is counted.
    async fn keeps_events(&self, count: u64) -> Verdict {
        if self.logs {
            ensure_eq!(self.stored(StreamName::Events).await?, Some(count), "stored");
            return Ok(());
        }
        unsupported(self.try_stored(StreamName::Events).await?, Capability::Sequences)
    }

    async fn state(&self, module: &str) -> Result<Option<ConsumerState>, Failure> {
        let of = events_of(module);
        let inspecting = self.administration.inspect_consumer(&of);
        Ok(self.desk.scene.soon("inspect", inspecting).await??)
    }

    /// What the consumer of that module, which nobody reads, has not settled; nothing if it is not there.
    async fn owed(&self, module: &str) -> Result<Option<u64>, Failure> {
        Ok(self.state(module).await?.map(|state| state.owed()))
    }

    /// The same of one whose reader holds so many.
    async fn owed_beside(&self, module: &str, held: u64) -> Result<Option<u64>, Failure> {
        let state = self.state(module).await?;
        Ok(state.map(|state| state.pending + state.in_flight.unwrap_or(held)))
    }

    async fn retire(&self, module: &str) -> Result<bool, Failure> {
        let of = events_of(module);
        let retiring = self.administration.retire(&of);
        Ok(self.desk.scene.soon("retire", retiring).await??)
    }

    /// One message acknowledged by `mail`, one waiting.
    async fn one_done_one_waiting(&self) -> Verdict {
        self.desk.append_all(&["1"]).await?;
        let (mail, mut reading) = self.desk.reader("mail").await?;
        self.desk.expect_all(&mut reading, &["1"]).await?;
        self.desk.scene.close(&mail).await?;
        self.desk.append_all(&["2"]).await
    }

    /// What [`one_done_one_waiting`](Self::one_done_one_waiting) left is still so on a broker that
    /// holds `topology`.
    async fn still_one_waiting(&self, topology: &Topology) -> Verdict {
        self.keeps_events(2).await?;
        ensure_eq!(self.owed("mail").await?, Some(1), "owed to mail");
        let told = told(topology, "mail");
        let (_mail, mut reading) = self.desk.reader_with("mail", told).await?;
        self.desk.expect_all(&mut reading, &["2"]).await?;
        self.desk.expect_only_the_sentinel(&mut reading).await
    }
}

/// What the reader of that module is told, of a topology that was asserted since the start.
fn told(topology: &Topology, module: &str) -> ConsumeOptions {
    let rules = rules_of(topology, &events_of(module));
    ConsumeOptions { rules, ..ConsumeOptions::default() }
}

async fn assert_creates_what_is_missing(stage: &Stage<'_>) -> Verdict {
    let whole = topology(stage.span() * 100);
    let less = whole.clone().without_stream(StreamName::Builds);
    let office = Office::with(stage, less).await?;
    let builds = office.stored(StreamName::Builds).await?;
    ensure_eq!(builds, None, "the absent stream");
    let whole = whole.with_consumer(crate::fixtures::consumer_spec(
        events_of("log"),
        &["mesh.events.shop.>"],
        stage.span() * 100,
    ));
    office.assert(&whole, DriftMode::Report).await?;
    let request = message("mesh.build.request", "1");
    let controller = office.desk.scene.controller().await?;
    office.desk.scene.append(&controller, request).await?;
    let of = consumer(StreamName::Builds, "builder");
    let mut reading = office.desk.scene.consume(&controller, &of).await?;
    let delivery = office.desk.expect(&mut reading, "1").await?;
    office.desk.ack(delivery).await?;
    office.desk.append_all(&["2"]).await?;
    let (_log, mut reading) = office.desk.reader_with("log", told(&whole, "log")).await?;
    office.desk.expect_all(&mut reading, &["2"]).await
}

async fn assert_twice_changes_nothing(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    let topology = topology(stage.span() * 100);
    office.assert(&topology, DriftMode::Mend).await?;
    office.one_done_one_waiting().await?;
    for mode in [DriftMode::Report, DriftMode::Mend] {
        let drift = office.assert(&topology, mode).await?;
        ensure_eq!(drift, Vec::new(), "drift");
    }
    office.still_one_waiting(&topology).await
}

/// A topology that differs from the desk's in one field of a stream and one of a consumer.
fn drifted(stage: &Stage<'_>) -> Topology {
    let stream = with_stream(topology(stage.span() * 100), StreamName::Control, |control| {
        control.max_bytes /= 2;
    });
    with_mail(stream, |mail| mail.rules.max_deliver = Some(4))
}

/// Fails unless exactly these two objects drifted, each told in full.
fn names_both(drift: &[Drift], mended: bool) -> Verdict {
    let mut objects: Vec<_> = drift.iter().map(|drift| drift.object.as_str()).collect();
    objects.sort_unstable();
    ensure_eq!(objects, ["CONTROL", "EVENTS/n1_mail"], "what drifted");
    for drift in drift {
        let told = !drift.field.is_empty() && drift.expected != drift.found;
        ensure!(told, "it tells no difference: {drift:?}");
        ensure_eq!(drift.mended, mended, "mended");
    }
    Ok(())
}

async fn assert_reports_drift(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    for _twice in 0..2 {
        let drift = office.assert(&drifted(stage), DriftMode::Report).await?;
        names_both(&drift, false)?;
    }
    Ok(())
}

async fn assert_mends_drift(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    office.one_done_one_waiting().await?;
    let drift = office.assert(&drifted(stage), DriftMode::Mend).await?;
    names_both(&drift, true)?;
    let drift = office.assert(&drifted(stage), DriftMode::Report).await?;
    ensure_eq!(drift, Vec::new(), "drift after mending");
    office.still_one_waiting(&drifted(stage)).await
}

async fn drift_is_named_and_left(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    office.one_done_one_waiting().await?;
    for mode in [DriftMode::Mend, DriftMode::Report] {
        let drift = office.assert(&drifted(stage), mode).await?;
        names_both(&drift, false)?;
    }
    office.still_one_waiting(&topology(stage.span() * 100)).await
}

async fn assert_leaves_strangers_alone(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    office.one_done_one_waiting().await?;
    let ours = Topology::new();
    for mode in [DriftMode::Report, DriftMode::Mend] {
        let drift = office.assert(&ours, mode).await?;
        let touched = drift.iter().any(|drift| drift.object.contains("n1_mail"));
        ensure!(!touched, "a stranger counts as drift: {drift:?}");
    }
    office.still_one_waiting(&topology(stage.span() * 100)).await
}

async fn inspect_counts_what_is_stored(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    office.keeps_events(0).await?;
    ensure_eq!(office.stored(StreamName::Control).await?, Some(0), "stored");
    office.desk.append_all(&["1", "2", "3"]).await?;
    office.desk.report("1").await?;
    office.desk.report("2").await?;
    office.keeps_events(3).await?;
    ensure_eq!(office.stored(StreamName::Control).await?, Some(2), "stored");
    ensure_eq!(office.stored(StreamName::Builds).await?, Some(0), "stored");
    Ok(())
}

async fn inspect_counts_what_a_consumer_owes(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    ensure_eq!(office.owed("log").await?, None, "owed to nobody");
    office.desk.append_all(&["1", "2", "3"]).await?;
    ensure_eq!(office.owed("mail").await?, Some(3), "owed");
    let (mail, mut reading) = office.desk.reader_with("mail", in_flight(2)).await?;
    let first = office.desk.expect(&mut reading, "1").await?;
    let second = office.desk.expect(&mut reading, "2").await?;
    ensure_eq!(office.owed_beside("mail", 2).await?, Some(3), "owed while two are held");
    office.desk.ack(first).await?;
    office.desk.scene.flush(&mail).await?;
    let third = office.desk.expect(&mut reading, "3").await?;
    ensure_eq!(office.owed_beside("mail", 2).await?, Some(2), "owed after one");
    ensure_eq!(office.owed("crm").await?, Some(3), "owed to another");
    office.desk.ack(second).await?;
    office.desk.ack(third).await?;
    office.desk.scene.flush(&mail).await?;
    ensure_eq!(office.owed_beside("mail", 0).await?, Some(0), "owed when all is settled");
    Ok(())
}

async fn retire_removes_a_consumer(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    office.desk.append_all(&["1"]).await?;
    ensure!(office.retire("mail").await?, "it was absent");
    ensure_eq!(office.owed("mail").await?, None, "owed to who left");
    ensure_eq!(office.owed("crm").await?, Some(1), "owed to who stayed");
    let (_crm, mut reading) = office.desk.reader("crm").await?;
    office.desk.expect_all(&mut reading, &["1"]).await
}

async fn retire_of_an_absent_consumer_is_false(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    ensure!(!office.retire("log").await?, "an absent one was there");
    ensure!(office.retire("mail").await?, "it was absent");
    ensure!(!office.retire("mail").await?, "a retired one was there");
    Ok(())
}
