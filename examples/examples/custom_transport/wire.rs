//! The wire: a frame is a head in JSON and the bytes of a payload, each after its length.

use std::io;

use bytes::Bytes;
use mesh_core::message::{HeaderName, HeaderValue, Headers, Message, MessageParts};
use mesh_core::subject::Subject;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Nobody is made to hold more than this for a stranger. A header's character takes at most two in JSON.
const MAX_HEAD: usize = 128 * 1024;
const MAX_PAYLOAD: usize = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) head: Head,
    pub(crate) payload: Bytes,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Head {
    /// To the broker, who answers it with `Done`, as the next two, in their order.
    Publish(Letter),
    Subscribe {
        number: u64,
        subject: String,
    },
    Flush,
    /// To the broker, who says nothing to that.
    Unsubscribe {
        number: u64,
    },
    /// From the broker.
    Done,
    Deliver {
        number: u64,
        letter: Letter,
    },
}

/// A message without its payload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) subject: String,
    reply: Option<String>,
    headers: Vec<(String, String)>,
}

impl Letter {
    pub(crate) fn of(message: &Message) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            subject: message.subject().to_string(),
            reply: message.reply().map(Subject::to_string),
            headers: message.headers().iter().map(owned).collect(),
        }
    }

    /// Nothing, where it is no message: what came over a wire is checked like any stranger's text.
    pub(crate) fn into_message(self, payload: Bytes) -> Option<Message> {
        let mut headers = Headers::with_capacity(self.headers.len());
        for (name, value) in self.headers {
            headers.append(HeaderName::new(name).ok()?, HeaderValue::new(value).ok()?);
        }
        let reply = self.reply.map(Subject::new).transpose().ok()?;
        let subject = Subject::new(self.subject).ok()?;
        Some(MessageParts { subject, reply, headers, payload }.into())
    }
}

impl From<Head> for Frame {
    fn from(head: Head) -> Self {
        Self { head, payload: Bytes::new() }
    }
}

pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Frame> {
    let head = part(from, MAX_HEAD).await?;
    let payload = part(from, MAX_PAYLOAD).await?;
    Ok(Frame { head: serde_json::from_slice(&head)?, payload: payload.into() })
}

async fn part(from: &mut (impl AsyncRead + Unpin), most: usize) -> io::Result<Vec<u8>> {
    let length = from.read_u32().await? as usize;
    if length > most {
        return Err(io::Error::other(format!("{length} bytes, where {most} are the most")));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).await?;
    Ok(bytes)
}

pub(crate) async fn write(to: &mut (impl AsyncWrite + Unpin), frame: &Frame) -> io::Result<()> {
    for bytes in [&serde_json::to_vec(&frame.head)?[..], &frame.payload] {
        to.write_u32(u32::try_from(bytes.len()).map_err(io::Error::other)?).await?;
        to.write_all(bytes).await?;
    }
    to.flush().await
}
