//! The NATS protocol's frames, as both sides write them: a line, and bytes after it where the line
//! says how many.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, sink};
use tokio::time::timeout;

/// The longest line. A server with many accounts has INFO lines of some kilobytes.
const MAX_LINE: usize = 64 * 1024;

/// The longest payload: what nats-server itself never goes beyond.
const MAX_PAYLOAD: usize = 64 * 1024 * 1024;

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for T {}

/// A line without its end, and its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) line: String,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// The first word, upper-case, and the rest.
    pub(super) fn split(&self) -> (String, &str) {
        let (verb, rest) = self.line.split_once([' ', '\t']).unwrap_or((&self.line, ""));
        (verb.to_ascii_uppercase(), rest.trim())
    }
}

pub(super) struct Wire {
    stream: Box<dyn Stream>,
    read: Vec<u8>,
}

impl Wire {
    pub(super) fn new(stream: impl Stream + 'static) -> Self {
        Self { stream: Box::new(stream), read: Vec::new() }
    }

    /// The stream again, for TLS.
    pub(super) fn into_stream(self) -> io::Result<Box<dyn Stream>> {
        if self.read.is_empty() {
            return Ok(self.stream);
        }
        Err(broken("bytes came before the TLS handshake"))
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Says that nothing more comes, and reads on until the other side ends, too, or for a second:
    /// closing with bytes unread would reset the connection, and what was said last could be lost.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        let mut rest = (&mut self.stream).take(MAX_PAYLOAD as u64);
        match timeout(Duration::from_secs(1), copy(&mut rest, &mut sink())).await {
            Ok(read) => read.map(drop),
            Err(_) => Ok(()),
        }
    }

    /// The next frame, or nothing at the end. May be dropped while it waits: nothing is lost.
    pub(super) async fn frame(&mut self) -> io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = take(&mut self.read)? {
                return Ok(Some(frame));
            }
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return if self.read.is_empty() {
                    Ok(None)
                } else {
                    Err(broken("the connection ended within a frame"))
                };
            }
        }
    }
}

/// Takes a whole frame from the front, if one is there.
fn take(read: &mut Vec<u8>) -> io::Result<Option<Frame>> {
    let Some(end) = read.iter().take(MAX_LINE).position(|byte| *byte == b'\n') else {
        return if read.len() < MAX_LINE { Ok(None) } else { Err(broken("a line is too long")) };
    };
    let line = String::from_utf8_lossy(&read[..end]).trim_end_matches('\r').to_owned();
    let frame = Frame { line, payload: Vec::new() };
    let (verb, rest) = frame.split();
    if !["PUB", "HPUB", "MSG", "HMSG"].contains(&verb.as_str()) {
        read.drain(..=end);
        return Ok(Some(frame));
    }
    let size = rest.split_whitespace().last().and_then(|word| word.parse().ok());
    let size: usize = size.ok_or_else(|| broken("a message does not say its size"))?;
    if size > MAX_PAYLOAD {
        return Err(broken("a message is too long"));
    }
    let begin = end + 1;
    let Some(after) = read.get(begin + size..begin + size + 2) else {
        return Ok(None);
    };
    if after != b"\r\n" {
        return Err(broken("a message is not as long as it says"));
    }
    let payload = read[begin..begin + size].to_vec();
    read.drain(..begin + size + 2);
    Ok(Some(Frame { payload, ..frame }))
}

pub(super) fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_taken_whole_and_one_by_one() {
        let mut read = b"PING\r\nMSG a.b 1 _INBOX.x 5\r\nhe\r\no\r\npub c 0\r\n\r\nPON".to_vec();
        let mut next = || take(&mut read).unwrap().map(|frame| (frame.line, frame.payload));
        assert_eq!(next(), Some(("PING".into(), vec![])));
        assert_eq!(next(), Some(("MSG a.b 1 _INBOX.x 5".into(), b"he\r\no".to_vec())));
        assert_eq!(next(), Some(("pub c 0".into(), vec![])));
        assert_eq!(next(), None);
        assert_eq!(read, b"PON");
    }

    #[test]
    fn a_frame_that_is_not_there_yet_is_waited_for() {
        for part in ["", "MSG a 1 3", "MSG a 1 3\r\nab", "MSG a 1 3\r\nabc", "MSG a 1 3\r\nabc\r"] {
            let mut read = part.as_bytes().to_vec();
            assert_eq!(take(&mut read).unwrap(), None, "{part:?}");
            assert_eq!(read, part.as_bytes());
        }
    }

    #[test]
    fn what_is_no_frame_is_an_error_and_lengths_are_bounded() {
        let long = "x".repeat(MAX_LINE);
        for other in
            ["MSG a 1 x\r\n", "MSG\r\n", "MSG a 1 1\r\nabc", "PUB a 99999999999\r\n", &long]
        {
            assert!(take(&mut other.as_bytes().to_vec()).is_err());
        }
    }
}
