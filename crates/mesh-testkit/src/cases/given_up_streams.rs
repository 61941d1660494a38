use std::collections::BTreeSet;

use mesh_core::message::PublishId;
use mesh_core::port::{AppendOptions, Capability, Connection};

use super::desk::{Desk, events_of, sold};
use super::given_up::{POLLS, midway};
use crate::suite::scene::text;
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(append_given_up_midway_confuses_no_other),
    case!(consume_given_up_midway_leaves_no_reader),
];

async fn append_given_up_midway_confuses_no_other(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    let knows_ids = stage.has(Capability::Deduplication);
    let streams = desk.shop.streams()?;
    let mut confirmed = Vec::new();
    for polls in POLLS {
        let id = PublishId::new(format!("given-up-{polls}"))?;
        let options = AppendOptions { id: knows_ids.then_some(id), ..AppendOptions::default() };
        let given_up = sold(&format!("given up {polls}"));
        midway(streams.append(given_up.clone(), options.clone()), polls).await.transpose()?;
        let body = polls.to_string();
        let appended = desk.append(sold(&body)).await?;
        ensure!(!appended.duplicate, "{body} is a duplicate");
        confirmed.push((body, appended.sequence));
        if knows_ids {
            // Who does not know whether it was stored sends it again.
            let appending = streams.append(given_up, options);
            desk.scene.soon("append", appending).await??;
        }
    }
    desk.append_all(&["sentinel"]).await?;
    let (given_up, others) = until_the_sentinel(&desk).await?;
    ensure_eq!(others, confirmed, "what was appended and confirmed");
    let distinct: BTreeSet<_> = given_up.iter().collect();
    ensure_eq!(distinct.len(), given_up.len(), format!("without repeats of {given_up:?}"));
    if knows_ids {
        ensure_eq!(given_up.len(), POLLS.len(), "what was given up and sent again");
    }
    Ok(())
}

type Numbered = (String, Option<u64>);

/// Reads what was stored before the sentinel: what was given up, and the rest with its sequence.
async fn until_the_sentinel(desk: &Desk) -> Result<(Vec<String>, Vec<Numbered>), Failure> {
    let (_mail, mut reading) = desk.reader("mail").await?;
    let (mut given_up, mut others) = (Vec::new(), Vec::new());
    loop {
        let delivery = desk.scene.hear(&mut reading).await?;
        let (body, sequence) = (text(delivery.message()), delivery.info().sequence);
        desk.ack(delivery).await?;
        if body == "sentinel" {
            return Ok((given_up, others));
        } else if body.starts_with("given up") {
            given_up.push(body);
        } else {
            others.push((body, sequence));
        }
    }
}

async fn consume_given_up_midway_leaves_no_reader(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let mail = desk.scene.join("mail").await?;
    for polls in POLLS {
        desk.append_all(&["before"]).await?;
        let consuming = mail.streams()?.consume(events_of("mail"), Default::default());
        drop(midway(consuming, polls).await.transpose()?);
        desk.scene.flush(&mail).await?;
        desk.append_all(&["after 1", "after 2"]).await?;
        let why = |failure| Failure::new(format!("after {polls} polls: {failure}"));
        all_is_left(&desk, &mail).await.map_err(why)?;
    }
    Ok(())
}

/// Whoever reads next is given everything, and is the first to be given what came afterwards.
async fn all_is_left(desk: &Desk, mail: &Connection) -> Verdict {
    let mut reading = desk.scene.consume(mail, &events_of("mail")).await?;
    let mut found = Vec::new();
    for _ in 0..3 {
        let hearing = desk.scene.hear(&mut reading);
        let delivery = desk.scene.passing("a delivery", hearing).await??;
        let body = text(delivery.message());
        let first = delivery.info().attempt == 1;
        ensure!(first || body == "before", "{body} was given to somebody before");
        found.push(body);
        desk.ack(delivery).await?;
    }
    found.sort_unstable();
    ensure_eq!(found, ["after 1", "after 2", "before"], "the deliveries");
    drop(reading);
    desk.scene.flush(mail).await
}
