//! One connection to the fake server.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::broadcast::error::RecvError;

use super::{Heard, Shared};
use crate::servers::nats::RawMessage;
use crate::servers::nats::wire::{Frame, Wire, broken};

pub(super) async fn run(stream: TcpStream, number: u64, shared: Arc<Shared>) {
    if tell(&shared, Heard::Opened(number)).await.is_err() {
        return;
    }
    // Of the channel's past, nothing: a connection ends by what happens from now on.
    let mut hung_up = shared.hung_up.clone();
    hung_up.mark_unchanged();
    // How it ended does not matter: a test looks at what the client did until then.
    tokio::select! {
        _ = serve(stream, &shared) => {}
        _ = hung_up.changed() => {}
    }
    let _ = tell(&shared, Heard::Closed(number)).await;
}

async fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    // From now on, so that nothing is missed that is said once the client is greeted.
    let mut said = shared.said.subscribe();
    let greeting = shared.config.greeting(shared.address);
    let mut wire = match &shared.acceptor {
        None => {
            let mut plain = Wire::new(stream);
            plain.write(greeting.as_bytes()).await?;
            plain
        }
        Some(acceptor) => {
            let mut plain = Wire::new(stream);
            let first = shared.config.handshake_first;
            if !first {
                plain.write(greeting.as_bytes()).await?;
            }
            let mut secured = match acceptor.accept(plain.into_stream()?).await {
                Ok(stream) => Wire::new(stream),
                Err(error) => return tell(shared, Heard::Unsecured(error.to_string())).await,
            };
            tell(shared, Heard::Secured).await?;
            if first {
                secured.write(greeting.as_bytes()).await?;
            }
            secured
        }
    };
    let mut pongs = shared.config.pongs;
    loop {
        tokio::select! {
            frame = wire.frame() => match frame? {
                None => return Ok(()),
                Some(frame) if frame.split().0 == "PING" => {
                    if pongs > 0 {
                        pongs -= 1;
                        wire.write(b"PONG\r\n").await?;
                    }
                }
                Some(frame) => answer(&mut wire, frame, shared).await?,
            },
            words = said.recv() => match words {
                Ok(words) => wire.write(&words).await?,
                Err(RecvError::Closed) => return Ok(()),
                Err(RecvError::Lagged(_)) => return Err(broken("too much to say")),
            },
        }
    }
}

async fn answer(wire: &mut Wire, frame: Frame, shared: &Shared) -> io::Result<()> {
    let (verb, rest) = frame.split();
    let heard = match verb.as_str() {
        "PONG" => return Ok(()),
        "CONNECT" => match serde_json::from_str(rest) {
            Ok(fields) => Heard::Connect(fields),
            Err(_) => Heard::Line(frame.line),
        },
        "PUB" | "HPUB" => Heard::Publish(published(&verb, rest, &frame)?),
        _ => Heard::Line(frame.line),
    };
    let refusal = matches!(heard, Heard::Connect(_)).then_some(shared.config.refusal.as_ref());
    tell(shared, heard).await?;
    if let Some(reason) = refusal.flatten() {
        wire.write(format!("-ERR '{reason}'\r\n").as_bytes()).await?;
        wire.finish().await?;
        return Err(broken("refused"));
    }
    Ok(())
}

/// Reads `PUB subject [reply] size` and `HPUB subject [reply] headers size`.
fn published(verb: &str, rest: &str, frame: &Frame) -> io::Result<RawMessage> {
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    words.pop();
    let headers = if verb == "HPUB" { words.pop() } else { Some("0") };
    let [subject, reply @ ..] = words.as_slice() else {
        return Err(broken("a publication without a subject"));
    };
    RawMessage::published(subject, reply.first().copied(), headers, frame)
}

/// Waits while the test has much to read.
async fn tell(shared: &Shared, heard: Heard) -> io::Result<()> {
    shared.heard.send(heard).await.map_err(|_| broken("the test is over"))
}
