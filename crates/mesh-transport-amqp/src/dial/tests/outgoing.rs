//! What reaches the broker of what the client library writes.

use std::collections::BTreeSet;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::sift::Sift;

/// Takes so many bytes at a time, and then all that come.
struct Broker(Vec<u8>, Vec<usize>);

impl AsyncWrite for Broker {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = self.1.pop().unwrap_or(usize::MAX).min(bytes.len());
        self.0.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Closes a channel.
impl AsyncRead for Broker {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let close = Word::Close.frame(1);
        buffer[..close.len()].copy_from_slice(&close);
        Poll::Ready(Ok(close.len()))
    }
}

/// What a client writes of a channel, or a broker.
#[derive(Debug, Clone)]
enum Word {
    Open,
    Close,
    CloseOk,
    Publish,
    Header(Vec<u8>),
    Body(Vec<u8>),
    Heartbeat,
}

impl Word {
    fn frame(&self, channel: u16) -> Vec<u8> {
        let method = |number: u8, class: u8| vec![0, class, 0, number, 7, 7];
        let (kind, payload) = match self {
            Self::Open => (1, method(10, 20)),
            Self::Close => (1, method(40, 20)),
            Self::CloseOk => (1, method(41, 20)[..4].to_vec()),
            Self::Publish => (1, method(40, 60)),
            Self::Header(payload) => (2, payload.clone()),
            Self::Body(payload) => (3, payload.clone()),
            Self::Heartbeat => (8, Vec::new()),
        };
        let size = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&[kind], &channel.to_be_bytes()[..], &size, &payload, &[0xce]].concat()
    }
}

fn word() -> impl Strategy<Value = Word> {
    // Payloads that look like methods are none.
    let payload = || prop_oneof![vec(any::<u8>(), 0..20), Just(vec![0, 20, 0, 41])];
    prop_oneof![
        Just(Word::Open),
        Just(Word::Close),
        Just(Word::CloseOk),
        Just(Word::Publish),
        payload().prop_map(Word::Header),
        payload().prop_map(Word::Body),
        Just(Word::Heartbeat),
    ]
}

/// Writes whole frames, in as many buffers as the client has them: it has a ring, which may end anywhere.
fn write(sift: &mut Sift<Broker>, bytes: &[u8], ring: usize) {
    let mut left = bytes;
    let mut end = ring.min(bytes.len());
    while !left.is_empty() {
        let slices = left.split_at(end);
        let buffers = [io::IoSlice::new(slices.0), io::IoSlice::new(slices.1)];
        let count = match end {
            0 => sift.write(left).now_or_never(),
            _ => sift.write_vectored(&buffers).now_or_never(),
        };
        let count = count.unwrap().unwrap();
        assert!(count > 0, "it would be asked for ever");
        left = &left[count..];
        end = end.saturating_sub(count);
    }
}

proptest! {
    #[test]
    fn nothing_goes_out_on_a_channel_that_is_closed_and_everything_else_does(
        writes in vec((vec((1_u16..4, word()), 1..8), 0_usize..200), 0..8),
        quiet in 0_usize..3,
        taken in vec(1_usize..40, 0..60),
    ) {
        let mut sift = Sift::new(Broker(Vec::new(), taken), None);
        let mut wanted = b"AMQP\x00\x00\x09\x01".to_vec();
        write(&mut sift, &wanted.clone(), 3);
        let mut closed = BTreeSet::new();
        for (turn, (words, ring)) in writes.into_iter().enumerate() {
            // No channel was closed by the broker before.
            let quiet = turn < quiet;
            if !quiet {
                let read = sift.read(&mut [0; 64]).now_or_never().unwrap();
                prop_assert_eq!(read.unwrap(), Word::Close.frame(1).len());
            }
            let mut bytes = Vec::new();
            for (channel, word) in words {
                let frame = word.frame(channel);
                bytes.extend_from_slice(&frame);
                let ends = !quiet && matches!(word, Word::CloseOk);
                if matches!(word, Word::Open) {
                    closed.remove(&channel);
                }
                if ends || !closed.contains(&channel) {
                    wanted.extend(frame);
                }
                if ends {
                    closed.insert(channel);
                }
            }
            write(&mut sift, &bytes, ring);
        }
        prop_assert_eq!(&sift.into_inner().0, &wanted);
    }
}
