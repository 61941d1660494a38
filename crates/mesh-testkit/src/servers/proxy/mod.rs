mod pump;
mod valve;

use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::ServerError;
use super::port::Port;
use valve::Valve;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two")]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

impl Direction {
    const BOTH: [Self; 2] = [Self::ToServer, Self::ToClient];
}

/// What has gone through a [`Proxy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Traffic {
    /// Connections that were taken, open ones among them.
    pub connections: u64,
    /// Bytes that were handed to the server's side.
    pub to_server: u64,
    /// Bytes that were handed to the client's side.
    pub to_client: u64,
}

/// The way to a server, which a test can break: a TCP proxy in the test's own process.
///
/// It holds at most 16 KiB for each direction of a connection, beside what the kernel holds. It ends,
/// with its connections, when it is dropped.
pub struct Proxy {
    port: Port,
    shared: Arc<Shared>,
    listening: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    target: Mutex<SocketAddr>,
    valve: Valve,
    open: Mutex<JoinSet<()>>,
    connections: AtomicU64,
    bytes: [AtomicU64; 2],
}

impl Proxy {
    /// One whose connections lead to `target`.
    ///
    /// # Errors
    /// [`ServerError::Io`], if there is no port.
    pub async fn before(target: SocketAddr) -> Result<Self, ServerError> {
        let port = Port::reserve().map_err(ServerError::io("reserving a port"))?;
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            valve: Valve::open(),
            open: Mutex::new(JoinSet::new()),
            connections: AtomicU64::new(0),
            bytes: [AtomicU64::new(0), AtomicU64::new(0)],
        });
        let proxy = Self { port, shared, listening: tokio::sync::Mutex::new(None) };
        proxy.refuse(false).await?;
        Ok(proxy)
    }

    /// Where clients are to dial.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Whether new connections are refused, as where nothing listens. Open ones stay.
    ///
    /// # Errors
    /// [`ServerError::Io`], if its port can't be listened on again.
    pub async fn refuse(&self, refused: bool) -> Result<(), ServerError> {
        let mut listening = self.listening.lock().await;
        if refused {
            if let Some(task) = listening.take() {
                task.abort();
                // Its listener is closed when it has ended.
                let _ = task.await;
            }
        } else if listening.is_none() {
            let listener =
                listen(self.address()).map_err(ServerError::io("listening for a proxy"))?;
            *listening = Some(tokio::spawn(accept(listener, Arc::clone(&self.shared))));
        }
        Ok(())
    }

    /// Breaks every open connection, with a reset, and returns when they are closed. New ones are
    /// taken.
    pub async fn cut(&self) {
        let open = std::mem::take(&mut *self.shared.open.lock());
        self.shared.valve.change(|state| state.cuts += 1);
        open.join_all().await;
    }

    /// Lets no byte pass in this direction; connections stay open, and new ones are taken. Returns
    /// when nothing moves any more.
    pub fn stall(&self, direction: Direction) {
        self.shared.valve.change(|state| state.way(direction).stalled = true);
    }

    /// Lets bytes pass again in both directions, those that were held first.
    pub fn resume(&self) {
        self.shared.valve.change(|state| {
            for direction in Direction::BOTH {
                state.way(direction).stalled = false;
            }
        });
    }

    /// Ends this direction of every open connection: its receiver sees the end, and what its sender
    /// still sends is not read. The other direction stays as it is.
    pub fn half_close(&self, direction: Direction) {
        self.shared.valve.change(|state| state.way(direction).closed += 1);
    }

    /// Holds whatever passes for so long, from the next 16 KiB on.
    pub fn delay(&self, delay: Duration) {
        self.shared.valve.change(|state| state.delay = delay);
    }

    /// Lets new connections lead somewhere else: to an impostor, or to a server that moved.
    pub fn lead_to(&self, target: SocketAddr) {
        *self.shared.target.lock() = target;
    }

    /// What has gone through until now.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let [to_server, to_client] = Direction::BOTH
            .map(|direction| self.shared.bytes[direction as usize].load(Ordering::Relaxed));
        let connections = self.shared.connections.load(Ordering::Relaxed);
        Traffic { connections, to_server, to_client }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(task) = self.listening.get_mut().take() {
            task.abort();
        }
        self.shared.open.lock().abort_all();
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("address", &self.address())
            .field("target", &*self.shared.target.lock())
            .field("traffic", &self.traffic())
            .finish_non_exhaustive()
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(128)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            // The process has no more files, perhaps; it may have some again.
            sleep(Duration::from_millis(5)).await;
            continue;
        };
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let cut = shared.valve.cut();
        let mut open = shared.open.lock();
        while open.try_join_next().is_some() {}
        open.spawn(carry(client, cut, Arc::clone(&shared)));
    }
}

/// One connection, until both directions have ended, one fails, or it is cut.
async fn carry(mut client: TcpStream, cut: impl Future<Output = ()>, shared: Arc<Shared>) {
    let mut cut = pin!(cut);
    let target = *shared.target.lock();
    let mut server = tokio::select! {
        () = &mut cut => return reset(&client),
        dialled = TcpStream::connect(target) => match dialled {
            Ok(server) => server,
            Err(_) => return reset(&client),
        },
    };
    let ended = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let pumps = async {
            tokio::try_join!(
                pump::run(from_client, to_server, Direction::ToServer, &shared),
                pump::run(from_server, to_client, Direction::ToClient, &shared),
            )
        };
        tokio::select! {
            () = &mut cut => false,
            ended = pumps => ended.is_ok(),
        }
    };
    if !ended {
        reset(&client);
        reset(&server);
    }
}

/// The peer is to see a break, and not an end in good order.
fn reset(stream: &TcpStream) {
    // Where this can't be set, an end is all that the peer sees.
    let _ = stream.set_zero_linger();
}
