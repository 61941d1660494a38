//! A broker of live messages on a TCP port: the stranger that the adapter is written for.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{BufReader, BufWriter};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, JoinSet};

use super::wire::{self, Frame, Head};

/// How many frames may wait for one client.
const ROOM: usize = 256;
/// How many subscriptions a client may have.
const MOST: usize = 1024;
/// How long a client that reads nothing holds up the others before it is cut off.
const PATIENCE: Duration = Duration::from_secs(1);

/// It stops when it is dropped.
pub(crate) struct TinyBroker {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

/// Who hears a subject: a client, and its own number for the subscription.
type Table = Mutex<HashMap<String, Vec<(Arc<Client>, u64)>>>;

struct Client {
    outbox: mpsc::Sender<Frame>,
    cut: Notify,
}

impl TinyBroker {
    /// Listens on a free port.
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { address, accepting: tokio::spawn(accept(listener)) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TinyBroker {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener) {
    let table = Arc::new(Table::default());
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(clients.spawn(serve(Arc::clone(&table), stream))),
                // The process has no more sockets, mostly: later.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(_gone) = clients.join_next() => {}
        }
    }
}

/// Ends when the client leaves, says what makes no sense, or is cut off.
async fn serve(table: Arc<Table>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let (reading, writing) = stream.into_split();
    let (outbox, frames) = mpsc::channel(ROOM);
    let client = Arc::new(Client { outbox, cut: Notify::new() });
    tokio::select! {
        _ = obey(&table, &client, reading) => {}
        _ = send(writing, frames) => {}
        () = client.cut.notified() => {}
    }
    forget(&table, |place| Arc::ptr_eq(&place.0, &client));
}

async fn send(writing: OwnedWriteHalf, mut frames: mpsc::Receiver<Frame>) -> io::Result<()> {
    let mut writing = BufWriter::new(writing);
    while let Some(frame) = frames.recv().await {
        wire::write(&mut writing, &frame).await?;
    }
    Ok(())
}

async fn obey(table: &Table, client: &Arc<Client>, reading: OwnedReadHalf) -> io::Result<()> {
    let mut reading = BufReader::new(reading);
    let mut open = HashSet::new();
    loop {
        let Frame { head, payload } = wire::read(&mut reading).await?;
        match head {
            Head::Publish(letter) => {
                let heard = table.lock().get(&letter.subject).cloned().unwrap_or_default();
                for (hearer, number) in heard {
                    let head = Head::Deliver { number, letter: letter.clone() };
                    let frame = Frame { head, payload: payload.clone() };
                    if hearer.outbox.send_timeout(frame, PATIENCE).await.is_err() {
                        hearer.cut.notify_one();
                    }
                }
            }
            Head::Subscribe { number, subject } => {
                if !open.insert(number) || open.len() > MOST {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                table.lock().entry(subject).or_default().push((Arc::clone(client), number));
            }
            Head::Unsubscribe { number } => {
                if open.remove(&number) {
                    forget(table, |place| Arc::ptr_eq(&place.0, client) && place.1 == number);
                }
                continue;
            }
            Head::Flush => {}
            Head::Done | Head::Deliver { .. } => return Err(io::ErrorKind::InvalidData.into()),
        }
        client.outbox.send(Head::Done.into()).await.map_err(io::Error::other)?;
    }
}

fn forget(table: &Table, gone: impl Fn(&(Arc<Client>, u64)) -> bool) {
    table.lock().retain(|_, places| {
        places.retain(|place| !gone(place));
        !places.is_empty()
    });
}
