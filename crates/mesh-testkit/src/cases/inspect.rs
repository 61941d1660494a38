use mesh_core::port::{Capability, DriftMode, Held};
use mesh_core::topology::StreamName;

use super::consume::in_flight;
use super::desk::{events_of, topology};
use super::office::{Office, drifted};
use crate::suite::scene::unsupported;
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(list_names_what_is_held, Mending, else nothing_is_listed),
    case!(inspect_tells_how_old_a_stream_is, Sequences),
    case!(inspect_tells_whether_a_consumer_is_read),
    case!(inspect_counts_what_is_stored),
    case!(inspect_counts_what_a_consumer_owes),
];

async fn list_names_what_is_held(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    let topology = topology(stage.span() * 100);
    let streams = topology.streams().iter().map(|spec| Held::Stream(spec.name));
    let consumers = topology.consumers().iter().map(|spec| Held::Consumer(spec.reference.clone()));
    let mut expected: Vec<_> = streams.chain(consumers).collect();
    expected.sort_unstable();
    for retired in ["mail", "crm"] {
        let listing = office.administration.list();
        let mut held = office.desk.scene.soon("list", listing).await??;
        held.sort_unstable();
        ensure_eq!(held, expected, "what is held");
        ensure!(office.retire(retired).await?, "it was absent");
        expected.retain(|held| *held != Held::Consumer(events_of(retired)));
    }
    Ok(())
}

async fn nothing_is_listed(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    let listing = office.administration.list();
    unsupported(office.desk.scene.soon("list", listing).await?, Capability::Mending)
}

async fn inspect_tells_how_old_a_stream_is(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    let look = async || {
        let looking = office.administration.inspect(StreamName::Events);
        let state = office.desk.scene.soon("inspect", looking).await??;
        let state = state.ok_or_else(|| Failure::new("the stream is not there"))?;
        Ok::<_, Failure>((state.first_sequence, state.last_sequence, state.created))
    };
    let (first, last, created) = look().await?;
    ensure!(created.is_some(), "it was never made");
    ensure_eq!((first, last), (Some(1), Some(0)), "the first and the last of none");
    office.desk.append_all(&["1", "2"]).await?;
    office.assert(&drifted(stage), DriftMode::Mend).await?;
    ensure_eq!(look().await?, (Some(1), Some(2), created), "first, last, created");
    Ok(())
}

async fn inspect_tells_whether_a_consumer_is_read(stage: &Stage<'_>) -> Verdict {
    let office = Office::open(stage).await?;
    office.comes_to_be_read("mail", false).await?;
    let (mail, reading) = office.desk.reader("mail").await?;
    office.comes_to_be_read("mail", true).await?;
    office.comes_to_be_read("crm", false).await?;
    drop(reading);
    office.desk.scene.close(&mail).await?;
    office.comes_to_be_read("mail", false).await
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
