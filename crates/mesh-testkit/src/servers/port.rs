//! A port of this machine that nobody else is given, whether a server listens on it or not.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A loopback port that is held for as long as this lives.
///
/// On Linux a socket stays bound to it and never listens. The kernel then gives the port to nobody
/// who asks for any port, so a server that was killed finds it free when it starts again; the server
/// itself may listen on it, since both sides allow the address to be reused. Elsewhere such a bind is
/// refused, so the port is only found free.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    _held: Option<TcpSocket>,
}

impl Port {
    /// Takes one. Needs a tokio runtime.
    ///
    /// # Errors
    /// What the machine refuses.
    pub fn reserve() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = socket.local_addr()?;
        Ok(Self { address, _held: cfg!(target_os = "linux").then_some(socket) })
    }

    /// Where a server is to listen.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
