use super::{FlowName, Step, chain};
use crate::demo::raise::Raised;
use crate::demo::reader::Note;

/// The event with the most that comes of it: whoever handles it says something in turn, and names it as
/// the cause.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let trees = raised.consumed_events().into_iter().map(|(emitter, event, _)| {
        let chain = vec![chain::named(&emitter.module, &event)];
        let links = chain::expected(&raised.mesh, &emitter.module, &event, &chain);
        (emitter, event, chain, links)
    });
    let trees: Vec<_> = trees.filter(|(.., links)| chain::goes_on(links)).collect();
    // Of those with the most the first.
    let best = trees.into_iter().rev().max_by_key(|(.., links)| chain::size(links));
    let Some((emitter, event, chain, links)) = best else {
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
    vec![Step::drawn(what, &chain::drawn(&links), &found)]
}
