use mesh_core::port::{Drift, DriftMode};
use mesh_core::topology::{StreamName, Topology};

use super::desk::{events_of, topology};
use super::office::{Office, drifted, told};
use crate::fixtures::{consumer, message, with_stream};
use crate::suite::{Case, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(assert_creates_what_is_missing),
    case!(assert_twice_changes_nothing),
    case!(assert_reports_drift),
    case!(assert_mends_drift, Mending, else drift_is_named_and_left),
    case!(assert_leaves_strangers_alone),
    case!(mend_puts_right_what_is_chosen, Mending, else what_is_chosen_is_named_and_left),
    case!(mend_leaves_what_is_otherwise_by_now, Mending),
    case!(retire_removes_a_consumer),
    case!(retire_of_an_absent_consumer_is_false),
];

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

/// The drift of a stream out of what was found, and what is left then.
fn of_control(found: &[Drift]) -> (Vec<Drift>, Vec<Drift>) {
    found.iter().cloned().partition(|drift| drift.object == "CONTROL")
}

async fn mend_puts_right_what_is_chosen(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    office.one_done_one_waiting().await?;
    let found = office.assert(&drifted(stage), DriftMode::Report).await?;
    let (control, rest) = of_control(&found);
    let drift = office.mend(&drifted(stage), &control).await?;
    let (mended, left) = of_control(&drift);
    ensure!(mended.iter().all(|drift| drift.mended), "it was not mended: {mended:?}");
    ensure_eq!(left, rest, "what was not chosen");
    let left = office.assert(&drifted(stage), DriftMode::Report).await?;
    ensure_eq!(left, rest, "what is left");
    let drift = office.mend(&drifted(stage), &[]).await?;
    ensure_eq!(drift, rest, "what is left when nothing is chosen");
    // Nothing that is missing is made.
    let builds = consumer(StreamName::Builds, "builder");
    let retiring = office.administration.retire(&builds);
    ensure!(office.desk.scene.soon("retire", retiring).await??, "it was absent");
    office.mend(&drifted(stage), &rest).await?;
    let looking = office.administration.inspect_consumer(&builds);
    let made = office.desk.scene.soon("inspect", looking).await??;
    ensure_eq!(made, None, "the consumer that was missing");
    office.still_one_waiting(&drifted(stage)).await
}

async fn what_is_chosen_is_named_and_left(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    office.one_done_one_waiting().await?;
    let found = office.assert(&drifted(stage), DriftMode::Report).await?;
    let drift = office.mend(&drifted(stage), &found).await?;
    names_both(&drift, false)?;
    office.still_one_waiting(&topology(stage.span() * 100)).await
}

async fn mend_leaves_what_is_otherwise_by_now(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    let found = office.assert(&drifted(stage), DriftMode::Report).await?;
    let other = with_stream(topology(stage.span() * 100), StreamName::Control, |control| {
        control.max_bytes /= 4;
    });
    office.assert(&other, DriftMode::Mend).await?;
    let drift = office.mend(&drifted(stage), &found).await?;
    let (control, rest) = of_control(&drift);
    ensure!(control.iter().all(|drift| !drift.mended), "nobody chose this: {control:?}");
    ensure_eq!(control.len(), 1, "the stream's differences");
    ensure!(rest.iter().all(|drift| drift.mended), "it was not mended: {rest:?}");
    let left = office.assert(&drifted(stage), DriftMode::Report).await?;
    ensure_eq!(left, control, "what is left");
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
