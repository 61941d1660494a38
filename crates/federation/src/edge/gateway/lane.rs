//! One source of work, and as much of it at a time as is allowed.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use tokio::task::coop::unconstrained;

use super::super::tally::count;
use super::shared::{Phase, Shared};

/// What is done about one item.
pub(super) type Work = BoxFuture<'static, ()>;

/// Does the work of each item of `source`, at most `at_once` at a time, in the order of the items up to
/// where the work first has to wait. Ends when the source does, or in the phase `until`: then with what
/// has already arrived, and all that was begun.
pub(super) async fn drive<S: Stream + Unpin>(
    shared: Arc<Shared>,
    mut source: S,
    at_once: usize,
    until: Phase,
    mut work: impl FnMut(S::Item) -> Work,
) {
    let mut stopped = pin!(shared.reached(until));
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = under_way.next(), if !under_way.is_empty() => {}
            () = &mut stopped => break,
            item = source.next(), if under_way.len() < at_once => match item {
                Some(item) => under_way.extend(begin(&shared, work(item)).await),
                None => break,
            },
        }
    }
    // What has arrived already would be lost with the subscription. Not counted as the task's work: one
    // that has done much would find nothing.
    while let Some(Some(item)) = unconstrained(source.next()).now_or_never() {
        if under_way.len() >= at_once {
            under_way.next().await;
        }
        under_way.extend(begin(&shared, work(item)).await);
    }
    drop(source);
    while under_way.next().await.is_some() {}
}

/// Begins a piece of work at once; where it has to wait, the rest comes back. One that panics is given
/// up and counted.
async fn begin(shared: &Arc<Shared>, work: Work) -> Option<Work> {
    let mut work = AssertUnwindSafe(work).catch_unwind();
    match poll_fn(|context| Poll::Ready(work.poll_unpin(context))).await {
        Poll::Ready(done) => {
            tell_panic(shared, done.is_err());
            None
        }
        Poll::Pending => {
            let shared = Arc::clone(shared);
            Some(work.map(move |done| tell_panic(&shared, done.is_err())).boxed())
        }
    }
}

fn tell_panic(shared: &Shared, panicked: bool) {
    if panicked {
        count(&shared.edge.tally.panicked);
        tracing::error!(realm = %shared.edge.realm, "a message was given up: something panicked");
    }
}
