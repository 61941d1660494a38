//! As much HTTP as a server's monitoring port needs.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer that is read.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

/// The status and the body of `GET path`. HTTP/1.0: the answer ends with the connection.
pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<(u16, Vec<u8>)> {
    match timeout(PATIENCE, ask(address, path)).await {
        Ok(answer) => answer,
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer to GET {path} in {PATIENCE:?}"),
        )),
    }
}

async fn ask(address: SocketAddr, path: &str) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let read = stream.take(MAX_ANSWER).read_to_end(&mut answer).await?;
    if read as u64 == MAX_ANSWER {
        return Err(io::Error::other(format!(
            "the answer to GET {path} is over {MAX_ANSWER} bytes"
        )));
    }
    split(&answer).ok_or_else(|| io::Error::other(format!("no HTTP answer to GET {path}")))
}

fn split(answer: &[u8]) -> Option<(u16, Vec<u8>)> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.lines().next()?.split(' ').nth(1)?.parse().ok()?;
    Some((status, answer[end + 4..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_body_are_found() {
        let answer = b"HTTP/1.0 503 Service Unavailable\r\nX-A: b\r\n\r\n{\"a\":\r\n\r\n1}";
        assert_eq!(split(answer), Some((503, b"{\"a\":\r\n\r\n1}".to_vec())));
        assert_eq!(split(b"HTTP/1.0 200 OK\r\n\r\n"), Some((200, Vec::new())));
        for other in [&b"HTTP/1.0 200 OK\r\n"[..], b"INFO {}\r\n\r\n", b""] {
            assert_eq!(split(other), None);
        }
    }
}
