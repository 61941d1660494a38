//! Moves the bytes of one direction, as far as the valve lets them.

use std::io;
use std::sync::atomic::Ordering;

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::sleep;

use super::valve::{Gate, Passing};
use super::{Direction, Shared};

/// The most that is held.
const CHUNK: usize = 16 * 1024;

/// Until the sender has ended, or the test ends this direction. An error breaks the connection.
pub(super) async fn run(
    reader: ReadHalf<'_>,
    mut writer: WriteHalf<'_>,
    direction: Direction,
    shared: &Shared,
) -> io::Result<()> {
    let mut gate = shared.valve.gate(direction);
    let mut chunk = vec![0; CHUNK];
    while let Some(count) = read(&reader, &mut chunk, &mut gate).await? {
        let delay = gate.delay();
        if !delay.is_zero() {
            sleep(delay).await;
        }
        let mut rest = &chunk[..count];
        while !rest.is_empty() {
            let Some(written) = write(&writer, rest, &mut gate).await? else {
                return writer.shutdown().await;
            };
            shared.bytes[direction as usize].fetch_add(written as u64, Ordering::Relaxed);
            rest = &rest[written..];
        }
    }
    writer.shutdown().await
}

/// The next bytes, or nothing more.
async fn read(
    reader: &ReadHalf<'_>,
    chunk: &mut [u8],
    gate: &mut Gate,
) -> io::Result<Option<usize>> {
    loop {
        match gate.pass(|| reader.try_read(chunk)) {
            Passing::Done(Ok(0)) | Passing::Closed => return Ok(None),
            Passing::Done(Ok(count)) => return Ok(Some(count)),
            Passing::Done(Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                return Err(error);
            }
            Passing::Done(Err(_)) => tokio::select! {
                ready = reader.readable() => ready?,
                () = gate.changed() => {}
            },
            Passing::Stalled => gate.changed().await,
        }
    }
}

/// How many of the bytes were taken, or that none will be.
async fn write(writer: &WriteHalf<'_>, rest: &[u8], gate: &mut Gate) -> io::Result<Option<usize>> {
    loop {
        match gate.pass(|| writer.try_write(rest)) {
            Passing::Closed => return Ok(None),
            Passing::Done(Ok(count)) => return Ok(Some(count)),
            Passing::Done(Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                return Err(error);
            }
            Passing::Done(Err(_)) => tokio::select! {
                ready = writer.writable() => ready?,
                () = gate.changed() => {}
            },
            Passing::Stalled => gate.changed().await,
        }
    }
}
