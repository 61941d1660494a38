//! Between TLS and the client library: hands on what came, made [legible](super::legible) frame by frame, and
//! what goes out but for what the broker could not [take](super::outlet).

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use async_compat::Compat;
use async_rs::Tokio;
use async_rs::traits::Reactor;
use async_rs::util::DummyIO;
use futures_core::Stream;
use futures_util::io::{AsyncRead, AsyncWrite};
use lapin::AsyncTcpStream;
use tokio::net::TcpStream;

use super::legible;
use super::outlet::{Outlet, Step};
use crate::publish::Returned;

pub(super) const METHOD: u8 = 1;
const HEADER: u8 = 2;
const BODY: u8 = 3;
const HEARTBEAT: u8 = 8;
/// Kind, channel and size of a frame.
pub(super) const HEAD: usize = 7;
/// Class and method of `channel.close`.
const CLOSE: [u8; 4] = [0, 20, 0, 40];
/// The longest frame that is looked at: a broker takes 128 KiB.
const MOST: usize = 16 * 1024 * 1024;

/// See the module.
pub(super) struct Sift<S> {
    stream: S,
    /// Where messages are noted: all that come with content on this connection came back.
    returned: Option<Arc<Returned>>,
    /// How many bytes are handed on as they are.
    pass: usize,
    /// A frame that has not come whole; or the frame that is handed on, from `given`.
    held: Vec<u8>,
    whole: bool,
    given: usize,
    outlet: Outlet,
}

impl<S> Sift<S> {
    pub(super) fn new(stream: S, returned: Option<Arc<Returned>>) -> Self {
        let (held, outlet) = (Vec::new(), Outlet::default());
        Self { stream, returned, pass: 0, held, whole: false, given: 0, outlet }
    }

    #[cfg(test)]
    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    /// Looks at what came; how much of it can be handed on. The rest is held.
    fn look(&mut self, came: &mut [u8]) -> usize {
        let mut at = 0;
        loop {
            let skipped = self.pass.min(came.len() - at);
            self.pass -= skipped;
            at += skipped;
            let rest = &mut came[at..];
            if rest.is_empty() {
                return at;
            }
            match frame(rest) {
                Frame::Passes(length) => self.pass = length,
                Frame::Looked(length) if length <= rest.len() => {
                    read(&mut rest[..length], self.returned.as_deref(), &mut self.outlet);
                    at += length;
                }
                Frame::Looked(_) | Frame::Unknown => {
                    self.held.extend_from_slice(rest);
                    return at;
                }
            }
        }
    }
}

/// What begins there.
enum Frame {
    /// A frame of this length, or all that ever comes, where nothing needs to be looked at.
    Passes(usize),
    /// One of this length that is looked at when it is whole.
    Looked(usize),
    /// Too little has come to know.
    Unknown,
}

fn frame(bytes: &[u8]) -> Frame {
    let Some(&kind) = bytes.first() else { return Frame::Unknown };
    // What is no frame is the client's to refuse.
    if !matches!(kind, METHOD | HEADER | BODY | HEARTBEAT) {
        return Frame::Passes(usize::MAX);
    }
    let Some(size) = bytes.get(3..HEAD).and_then(|size| size.try_into().ok()) else {
        return Frame::Unknown;
    };
    let length = usize::try_from(u32::from_be_bytes(size)).unwrap_or(usize::MAX);
    let length = length.saturating_add(HEAD + 1);
    match kind {
        METHOD | HEADER => Frame::Looked(length),
        _ => Frame::Passes(length),
    }
}

/// Makes a whole frame legible, and notes what it says of what came back, and of a channel that is closed.
fn read(frame: &mut [u8], returned: Option<&Returned>, outlet: &mut Outlet) {
    let (kind, end) = (frame[0], frame.len() - 1);
    let payload = &mut frame[HEAD..end];
    if kind == METHOD {
        if payload.starts_with(&CLOSE) {
            outlet.alert();
        }
        return legible::method(payload);
    }
    legible::header(payload);
    if let Some(returned) = returned
        && let Some(id) = legible::correlation_id(payload)
    {
        returned.note(id);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Sift<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        loop {
            if this.whole {
                let left = &this.held[this.given..];
                let taken = left.len().min(buffer.len());
                buffer[..taken].copy_from_slice(&left[..taken]);
                this.given += taken;
                if this.given == this.held.len() {
                    this.held.clear();
                    (this.whole, this.given) = (false, 0);
                }
                return Poll::Ready(Ok(taken));
            }
            if this.held.is_empty() {
                let came = ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
                let handed = this.look(&mut buffer[..came]);
                if came == 0 || handed > 0 {
                    return Poll::Ready(Ok(handed));
                }
                continue;
            }
            let wanted = match frame(&this.held) {
                Frame::Unknown => HEAD,
                Frame::Looked(length) if length > MOST => {
                    return Poll::Ready(Err(io::Error::other("a frame is too large")));
                }
                Frame::Looked(length) => length,
                Frame::Passes(length) => {
                    this.pass = length.saturating_sub(this.held.len());
                    this.whole = true;
                    continue;
                }
            };
            if this.held.len() >= wanted {
                read(&mut this.held, this.returned.as_deref(), &mut this.outlet);
                this.whole = true;
                continue;
            }
            let mut chunk = [0; 4096];
            let most = chunk.len().min(wanted - this.held.len());
            let reading = Pin::new(&mut this.stream).poll_read(context, &mut chunk[..most]);
            let came = ready!(reading)?;
            if came == 0 {
                return Poll::Ready(Ok(0));
            }
            this.held.extend_from_slice(&chunk[..came]);
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Sift<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(buffer)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let most = match this.outlet.look(buffers) {
            Step::Drop(count) => return Poll::Ready(Ok(count)),
            Step::Write(most) => most,
        };
        // As TLS does it: one buffer after the other.
        let first = buffers.iter().find(|buffer| !buffer.is_empty()).map_or(&[][..], |first| first);
        let stream = Pin::new(&mut this.stream);
        let wrote = ready!(stream.poll_write(context, &first[..most.min(first.len())]))?;
        this.outlet.wrote(wrote);
        Poll::Ready(Ok(wrote))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(context)
    }
}

/// Tokio, with streams that are sifted. It opens none itself.
#[derive(Debug, Clone)]
pub(super) struct Sifting(pub(super) Tokio);

impl Reactor for Sifting {
    type TcpStream = Sift<AsyncTcpStream<Compat<TcpStream>>>;
    type Sleep = <Tokio as Reactor>::Sleep;

    fn register<H: io::Read + io::Write + Send + 'static>(
        &self,
        _socket: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<DummyIO, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(duration)
    }

    fn tcp_connect_addr(
        &self,
        _address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        std::future::ready(Err(io::ErrorKind::Unsupported.into()))
    }
}
