mod ended;
mod kept;
mod whatever;

use mesh_core::mx::{Address, Envelope, MsgType, Party};

use super::super::{Seen, Watch, WatchEnd};
use super::*;
use crate::{OsRandom, Random as _};

const CHANGED: &str = "matrix://shop.example/stock.emits.changed";
const THIRD: Duration = Duration::from_secs(20);
const ID: &str = "0123456789abcdef0123456789abcdef";

/// A watch that has its lease, and what its subscribe was.
async fn watching(bed: &Bed, shop: &mut Shop) -> (Watch, String) {
    let client = bed.client.clone();
    let opening = tokio::spawn(async move { client.watch(CHANGED).await });
    let came = shop.next().await;
    let sink = came.sink();
    shop.grant(bed, &came).await;
    (opening.await.unwrap().unwrap(), sink)
}

impl Came {
    /// What is asked, and with which body.
    fn asks(&self) -> (String, String) {
        let decoded = decode(self.message.payload(), DEFAULT_MAX_BYTES).unwrap();
        let envelope = decoded.into_envelope(&shop()).unwrap();
        assert_eq!(envelope.kind, MsgType::Cmd);
        (envelope.to.path.to_string(), envelope.body.unwrap().to_string())
    }

    fn command(&self) -> String {
        let (path, _) = self.asks();
        path.strip_prefix("_federation.accepts.").unwrap().to_owned()
    }

    fn sink(&self) -> String {
        let (_, body) = self.asks();
        body.split('"').nth(7).unwrap().to_owned()
    }
}

impl Shop {
    async fn expect(&mut self, command: &str) -> Came {
        let came = self.next().await;
        assert_eq!(came.command(), command, "{}", came.text());
        came
    }

    /// What comes next, however long that takes.
    async fn next_in_time(&mut self, bed: &Bed) -> Came {
        loop {
            tokio::select! {
                biased;
                came = self.next() => return came,
                () = settle() => {}
            }
            bed.clock.advance(Duration::from_secs(1)).await;
        }
    }

    async fn grant(&self, bed: &Bed, came: &Came) {
        use mesh_core::port::Clock as _;
        let expires = bed.clock.now().as_millis() + 60_000;
        let body = format!(r#"{{"id":"{ID}","expiresAtMs":{expires}}}"#);
        self.answer(came, Ok(&body)).await;
        settle().await;
    }

    /// An event to a path of ours, as the shop's gateway sends it.
    async fn tell(&self, path: &str, body: &str) {
        let (us, shop) = (us(), shop());
        let to = Address::new(&us, MxPath::new(path).unwrap());
        let mut event = Envelope::new(MsgType::Evt, Party::new(&shop, None), to);
        event.msg_id = Some(OsRandom::new().id().into());
        event.body = Some(json(body));
        self.send(KINDS[1], &us, event.encode().unwrap()).await;
        settle().await;
    }

    async fn notice(&self, sink: &str, body: &str) {
        let path = sink.replace(".emits.event", ".emits.lease-notice");
        self.tell(&path, body).await;
    }
}

/// What is seen by now.
async fn seen(watch: &mut Watch) -> Option<Seen> {
    settle().await;
    tokio::select! {
        biased;
        seen = watch.next() => Some(seen),
        () = settle() => None,
    }
}

async fn missed(watch: &mut Watch) -> u64 {
    match seen(watch).await {
        Some(Seen::Missed { at_least }) => at_least,
        other => panic!("{other:?}"),
    }
}

async fn event(watch: &mut Watch) -> String {
    match seen(watch).await {
        Some(Seen::Event(body)) => body.to_string(),
        other => panic!("{other:?}"),
    }
}
