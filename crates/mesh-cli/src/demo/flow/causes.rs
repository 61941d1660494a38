use super::{FlowName, Step, chain};
use crate::demo::raise::Raised;
use crate::demo::reader::Note;

/// The event with the most that comes of it: whoever handles it says something in turn, and names it as
/// the cause.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let mut best = None;
    for (emitter, event, _) in raised.consumed_events() {
        let chain = vec![chain::named(&emitter.module, &event)];
        let links = chain::expected(&raised.mesh, &emitter.module, &event, &chain);
        let size = chain::size(&links);
        let better = best.as_ref().is_none_or(|(most, ..)| size > *most);
        if chain::goes_on(&links) && better {
            best = Some((size, emitter, event, chain, links));
        }
    }
    let Some((_, emitter, event, chain, links)) = best else {
        return Vec::new();
    };
    let Some(broker) = raised.modules.get(&emitter) else {
        return Vec::new();
    };
    let what = format!("{emitter} publishes {event}");
    let note = Note { chain, ..Note::new(FlowName::Causes) };
    let found = match broker.publish(event, &note).await {
        Err(error) => vec![format!("not published: {error}")],
        Ok(published) => {
            let came = || chain::found(&raised.journal.all(), &published.id);
            raised.journal.wait_for(|| came() == links).await;
            match came() {
                none if none.is_empty() => vec!["handled by nobody".to_owned()],
                came => chain::drawn(&came),
            }
        }
    };
    vec![Step::drawn(what, chain::drawn(&links), found)]
}
