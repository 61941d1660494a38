//! A client that connects once, and never again.
//!
//! async-nats reconnects by itself: to the same server, with the same subscriptions, without a word
//! about what was in flight. Our supervisor makes a new client for each session instead, so this one
//! must end when its connection does. It has no option for that (a limit of 0 is none), but asks a
//! callback where to connect, each time. The first answer is the server, every other an address where
//! nobody can listen. That attempt fails at once, the next exceeds the limit of one, and the client's
//! task ends.

use std::future::ready;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::{ConnectOptions, ReconnectToServer, ServerAddr};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Port 0 is nobody's: connecting to it fails without leaving the machine.
const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Resolves when the client's connection is gone, for whatever reason.
#[derive(Debug)]
pub(crate) struct Lost(oneshot::Receiver<()>);

impl Lost {
    /// Waits until the connection is gone. It never comes back. May be dropped and called again.
    pub(crate) async fn wait(&mut self) {
        // Nothing is ever sent: the other end is dropped, with the client's task at the latest.
        if !self.0.is_terminated() {
            let _ = (&mut self.0).await;
        }
    }
}

/// Makes `options` connect to `server` once; answers the pool to connect with.
pub(super) fn only_once(
    options: ConnectOptions,
    server: ServerAddr,
) -> std::io::Result<(ConnectOptions, [ServerAddr; 2], Lost)> {
    let nowhere: ServerAddr = format!("nats://{NOWHERE}").parse()?;
    let pool = [server.clone(), nowhere.clone()];
    let (alive, lost) = oneshot::channel();
    let alive = Mutex::new(Some(alive));
    let asked = AtomicBool::new(false);
    let options = options.retain_servers_order().max_reconnects(1).reconnect_to_server_callback(
        move |_pool, _info| {
            let addr = if asked.swap(true, Ordering::Relaxed) {
                drop(alive.lock().take());
                nowhere.clone()
            } else {
                server.clone()
            };
            ready(Some(ReconnectToServer { addr, delay: Some(Duration::ZERO) }))
        },
    );
    Ok((options, pool, Lost(lost)))
}
