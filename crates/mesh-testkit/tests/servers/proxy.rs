use std::io::ErrorKind;
use std::time::{Duration, Instant};

use mesh_testkit::expect::expect_soon;
use mesh_testkit::servers::{Direction, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A client and what it has reached through the proxy.
struct Pair {
    client: TcpStream,
    server: TcpStream,
}

struct Bed {
    proxy: Proxy,
    listener: TcpListener,
}

impl Bed {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { proxy: Proxy::before(listener.local_addr().unwrap()).await.unwrap(), listener }
    }

    async fn pair(&self) -> Pair {
        let client = TcpStream::connect(self.proxy.address()).await.unwrap();
        let (server, _) = expect_soon("a connection", self.listener.accept()).await.unwrap();
        Pair { client, server }
    }
}

async fn passes(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) {
    from.write_all(bytes).await.unwrap();
    arrives(to, bytes).await;
}

async fn arrives(to: &mut TcpStream, bytes: &[u8]) {
    let mut read = vec![0; bytes.len()];
    expect_soon("bytes", to.read_exact(&mut read)).await.unwrap();
    assert_eq!(read, bytes);
}

/// What the next read brings.
async fn next(stream: &mut TcpStream) -> std::io::Result<usize> {
    expect_soon("an end", stream.read(&mut [0; 64])).await
}

#[tokio::test]
async fn what_is_sent_passes_both_ways_and_is_counted() {
    let bed = Bed::new().await;
    let mut pair = bed.pair().await;
    let much = vec![7; 300_000];
    passes(&mut pair.client, &mut pair.server, b"hello").await;
    let (mut from, mut to) = (pair.server, pair.client);
    let sent = tokio::spawn(async move {
        from.write_all(&vec![7; 300_000]).await.unwrap();
        from
    });
    arrives(&mut to, &much).await;
    let traffic = bed.proxy.traffic();
    assert_eq!((traffic.connections, traffic.to_server, traffic.to_client), (1, 5, 300_000));
    // An end passes, too, and the way back stays open.
    let mut from = sent.await.unwrap();
    from.shutdown().await.unwrap();
    assert_eq!(next(&mut to).await.unwrap(), 0);
    passes(&mut to, &mut from, b"still").await;
}

#[tokio::test]
async fn a_cut_breaks_open_connections_and_takes_new_ones() {
    let bed = Bed::new().await;
    let mut pair = bed.pair().await;
    passes(&mut pair.client, &mut pair.server, b"x").await;
    expect_soon("the cut", bed.proxy.cut()).await;
    assert_eq!(next(&mut pair.client).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(next(&mut pair.server).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let mut again = bed.pair().await;
    passes(&mut again.client, &mut again.server, b"x").await;
    assert_eq!(bed.proxy.traffic().connections, 2);
}

#[tokio::test]
async fn refused_connections_find_nobody_and_open_ones_stay() {
    let bed = Bed::new().await;
    let mut pair = bed.pair().await;
    bed.proxy.refuse(true).await.unwrap();
    bed.proxy.refuse(true).await.unwrap();
    let refused = TcpStream::connect(bed.proxy.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    passes(&mut pair.client, &mut pair.server, b"x").await;
    bed.proxy.refuse(false).await.unwrap();
    let mut again = bed.pair().await;
    passes(&mut again.client, &mut again.server, b"x").await;
}

#[tokio::test]
async fn a_stalled_direction_moves_nothing_and_the_other_does() {
    let bed = Bed::new().await;
    let mut pair = bed.pair().await;
    passes(&mut pair.client, &mut pair.server, b"before").await;
    bed.proxy.stall(Direction::ToServer);
    pair.client.write_all(b"held").await.unwrap();
    // What passes the other way meanwhile shows that the proxy is not merely slow.
    for _ in 0..50 {
        passes(&mut pair.server, &mut pair.client, b"back").await;
    }
    assert_eq!(bed.proxy.traffic().to_server, 6);
    let nothing = pair.server.try_read(&mut [0; 8]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    bed.proxy.resume();
    arrives(&mut pair.server, b"held").await;
}

#[tokio::test]
async fn a_stalled_connection_holds_no_more_than_its_buffers() {
    let bed = Bed::new().await;
    let mut pair = bed.pair().await;
    passes(&mut pair.client, &mut pair.server, b"x").await;
    bed.proxy.stall(Direction::ToServer);
    // Far less than this fits into the kernel's buffers: the writer has to wait.
    let much = vec![1; 64 * 1024 * 1024];
    let mut written = 0;
    let filled = async {
        loop {
            written += pair.client.write(&much[written..]).await.unwrap();
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(1), filled).await.is_err());
    assert!(written < much.len() / 2, "{written}");
    bed.proxy.cut().await;
    assert!(pair.client.write_all(&much).await.is_err());
}

#[tokio::test]
async fn half_a_connection_can_be_closed() {
    let bed = Bed::new().await;
    let mut pair = bed.pair().await;
    passes(&mut pair.client, &mut pair.server, b"x").await;
    bed.proxy.half_close(Direction::ToClient);
    assert_eq!(next(&mut pair.client).await.unwrap(), 0);
    passes(&mut pair.client, &mut pair.server, b"still").await;
    // One that is opened afterwards is whole.
    let mut again = bed.pair().await;
    passes(&mut again.server, &mut again.client, b"x").await;
}

#[tokio::test]
async fn what_is_delayed_comes_later() {
    let bed = Bed::new().await;
    let mut pair = bed.pair().await;
    let delay = Duration::from_millis(150);
    bed.proxy.delay(delay);
    let begun = Instant::now();
    passes(&mut pair.client, &mut pair.server, b"there").await;
    passes(&mut pair.server, &mut pair.client, b"and back").await;
    assert!(begun.elapsed() >= 2 * delay);
}

#[tokio::test]
async fn it_can_lead_somewhere_else_and_nowhere() {
    let bed = Bed::new().await;
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    bed.proxy.lead_to(other.local_addr().unwrap());
    let mut client = TcpStream::connect(bed.proxy.address()).await.unwrap();
    let (mut server, _) = expect_soon("a connection", other.accept()).await.unwrap();
    passes(&mut client, &mut server, b"x").await;
    drop(other);
    let mut client = TcpStream::connect(bed.proxy.address()).await.unwrap();
    assert_eq!(next(&mut client).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_dropped_proxy_closes_everything() {
    let bed = Bed::new().await;
    let mut pair = bed.pair().await;
    let address = bed.proxy.address();
    drop(bed.proxy);
    assert!(matches!(next(&mut pair.client).await, Ok(0) | Err(_)));
    assert!(matches!(next(&mut pair.server).await, Ok(0) | Err(_)));
    // The listener goes when its task is next run.
    expect_soon("a refusal", async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
