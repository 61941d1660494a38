use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use mesh_core::mx::{MxPath, MxUri, Plane, Topic};
use mesh_core::port::SubscribeOptions;
use tokio::sync::{TryAcquireError, watch};

use super::super::{RealmClient, RemoteError};
use super::keeper::{Asker, Keeper, Stop, missed, nothing};
use super::{News, Told, Watch};
use crate::RegisterError;
use crate::local::Listening;

/// The longest that a lease may be asked for (protocol §8).
const LONGEST: Duration = Duration::from_secs(3600);
/// The shortest that one is asked for: a call has a third of it.
const SHORTEST: Duration = Duration::from_secs(3);

impl RealmClient {
    /// Watches the event at `uri`, `matrix://<realm>/<path>` on the plane `emits`, from when this returns:
    /// then the other realm has given a lease. An event of this realm is heard on the local bus, without
    /// one.
    ///
    /// Events come in by this realm's own gateway, and are held to its rate and its marks against replays:
    /// what is over them is [`Seen::Missed`](super::Seen::Missed). A realm that says more than 50 events a
    /// second needs a quota of its own ([`RateLimits::listed`](mesh_core::guard::RateLimits::listed)), and
    /// room for so many marks ([`ReplayLimits::per_realm`](mesh_core::guard::ReplayLimits::per_realm)).
    ///
    /// # Errors
    /// [`RemoteError`]: the other realm refuses it (`MX.SUB.BAD_SOURCE`, `MX.EDGE.POLICY_DENIED`) or can't
    /// be reached, or there are as many watches as may be ([`Busy`](RemoteError::Busy)).
    pub async fn watch(&self, uri: &str) -> Result<Watch, RemoteError> {
        let uri: MxUri<'static> = uri.parse()?;
        if uri.path().plane() != Plane::Emits {
            let path = uri.path().clone();
            return Err(RemoteError::Plane { path, expected: Plane::Emits });
        }
        let limit = self.0.options.watches;
        let place = match Arc::clone(&self.0.watches).try_acquire_owned() {
            Ok(place) => place,
            Err(TryAcquireError::Closed) => return Err(RemoteError::Closed),
            Err(TryAcquireError::NoPermits) => {
                return Err(RemoteError::Busy(RegisterError::Full { limit }));
            }
        };
        let (stop, stopped) = watch::channel(false);
        let stopped = Stop { watch: stopped, client: self.closing() };
        let (news, heard) = watch::channel(News { held: true, ..News::default() });
        if *uri.realm() == *self.realm() {
            let events = self.listen(uri.path()).await?;
            tokio::spawn(nothing(news, stopped, place));
            return Ok(Watch::new(uri, events, heard, stop));
        }
        let id = self.0.random().id();
        let own = |message: &str| {
            MxPath::new(format!("watch.{id}.emits.{message}"))
                .map_err(|error| RemoteError::Topic(error.into()))
        };
        let sink = own("event")?;
        // Whatever comes once the lease is given is heard.
        let events = self.listen(&sink).await?;
        let notices = self.listen(&own("lease-notice")?).await?;
        let life = self.0.options.lease.clamp(SHORTEST, LONGEST);
        let told = news.clone();
        let tell = move |at_least| missed(&told, at_least);
        let refused = self.answers().sinks().watch(sink.as_str(), tell);
        let asker = Asker { client: self.clone(), uri: uri.clone(), sink, life };
        let mut states = self.outside().backbone().transport().states();
        // How it is by now.
        let _ = states.next().now_or_never();
        let lease = asker.subscribe().await?;
        let keeper = Keeper { asker, notices, stop: stopped, news, _sink: refused };
        tokio::spawn(keeper.keep(lease, states, place));
        Ok(Watch::new(uri, events, heard, stop))
    }

    async fn listen(&self, path: &MxPath<'_>) -> Result<Listening, RemoteError> {
        let topic = Topic::internal(self.realm(), path)?;
        let buffer = self.0.options.watch_buffer;
        let options = SubscribeOptions { buffer, ..SubscribeOptions::default() };
        Ok(Listening::open(self.host().local().clone(), topic.into(), options).await?)
    }
}

impl Watch {
    fn new(
        uri: MxUri<'static>,
        events: Listening,
        news: watch::Receiver<News>,
        stop: watch::Sender<bool>,
    ) -> Self {
        Self { uri, events, news, told: Told::default(), stop, ended: None }
    }
}
