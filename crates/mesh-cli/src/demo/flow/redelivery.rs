use std::time::Duration;

use mesh_core::event::EventId;
use mesh_core::identity::Instance;

use super::retry::describe;
use super::{FlowName, Step};
use crate::demo::DemoError;
use crate::demo::journal::Handling;
use crate::demo::raise::Raised;
use crate::demo::reader::Note;

/// The first consumer of the first consumed event ends while its handler runs. The event was not settled,
/// so whoever takes its place gets it.
pub(super) async fn run(raised: &mut Raised) -> Vec<Step> {
    let Some((emitter, event, consumers)) = raised.a_consumed_event(0) else {
        return Vec::new();
    };
    let Some(broker) = raised.modules.get(&emitter) else {
        return Vec::new();
    };
    let ending = consumers[0].clone();
    let note = Note::new(FlowName::Redelivery).aimed_at(&ending);
    let what = format!("{emitter} publishes {event}");
    let expected = describe(consumers.iter().flat_map(|consumer| {
        let name = consumer.to_string();
        if *consumer == ending {
            vec![told(&name, false, 1), told(&name, true, 2)]
        } else {
            vec![told(&name, true, 1)]
        }
    }));
    let found = match broker.publish(event, &note).await {
        Err(error) => format!("not published: {error}"),
        Ok(published) => match replaced(raised, &ending, &published.id, consumers.len()).await {
            Err(error) => error.to_string(),
            Ok(()) => {
                let runs = raised.journal.of(&published.id);
                describe(runs.iter().map(|run| told(&run.at.to_string(), run.ok, run.attempt)))
            }
        },
    };
    vec![Step::new(what, expected, found)]
}

/// Which try the second is, is the broker's to say: what is given back while its reader leaves may come to
/// that reader once more, which does not look at it.
fn told(who: &str, ok: bool, attempt: u32) -> String {
    match (ok, attempt) {
        (false, _) => format!("{who} ends with it in hand"),
        (true, 1) => format!("{who} succeeds at once"),
        (true, _) => format!("{who} succeeds when it comes again"),
    }
}

/// Ends the consumer once it has the event in hand, starts it again, and waits for what comes of that.
async fn replaced(
    raised: &mut Raised,
    ending: &Instance,
    id: &EventId,
    consumers: usize,
) -> Result<(), DemoError> {
    let has_it = |runs: &[Handling]| runs.iter().any(|run| run.at == *ending);
    raised.journal.wait(id, has_it).await;
    let in_hand = raised.journal.of(id).iter().any(|run| run.at == *ending && !run.ok);
    if let Some(broker) = raised.modules.remove(ending) {
        broker.close(Duration::ZERO).await;
    }
    raised.start(ending).await?;
    if in_hand {
        raised.journal.wait_for_a_claim(id, |runs| runs.len() > consumers).await;
    } else {
        // One that was settled does not come again.
        raised.journal.wait(id, |runs| runs.len() >= consumers).await;
    }
    Ok(())
}
