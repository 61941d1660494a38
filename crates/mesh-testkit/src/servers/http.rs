//! As much HTTP as a server's monitoring or management port needs.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer that is read.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

/// A question. HTTP/1.0: the answer ends with the connection.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// With the query, all of it encoded.
    pub(crate) path: &'a str,
    /// What the header `Authorization` says.
    pub(crate) authorization: Option<&'a str>,
    /// JSON.
    pub(crate) body: Option<&'a [u8]>,
    pub(crate) patience: Duration,
}

impl Request<'_> {
    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let Self { method, path, .. } = self;
        let mut bytes = format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\n").into_bytes();
        if let Some(text) = self.authorization {
            bytes.extend_from_slice(format!("Authorization: {text}\r\n").as_bytes());
        }
        if let Some(body) = self.body {
            let length = body.len();
            let kind = "Content-Type: application/json";
            bytes.extend_from_slice(format!("{kind}\r\nContent-Length: {length}\r\n").as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(self.body.unwrap_or_default());
        bytes
    }

    fn late(&self) -> io::Error {
        let Self { method, path, patience, .. } = self;
        let told = format!("no answer to {method} {path} in {patience:?}");
        io::Error::new(io::ErrorKind::TimedOut, told)
    }

    fn read(&self, answer: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let Self { method, path, .. } = self;
        if answer.len() as u64 == MAX_ANSWER {
            let told = format!("the answer to {method} {path} is over {MAX_ANSWER} bytes");
            return Err(io::Error::other(told));
        }
        split(answer).ok_or_else(|| io::Error::other(format!("no HTTP answer to {method} {path}")))
    }
}

/// The status and the body of `GET path`.
pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<(u16, Vec<u8>)> {
    let request =
        Request { method: "GET", path, authorization: None, body: None, patience: PATIENCE };
    ask(address, request).await
}

/// The status and the body of the answer.
pub(crate) async fn ask(address: SocketAddr, request: Request<'_>) -> io::Result<(u16, Vec<u8>)> {
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(&request.bytes(address)).await?;
        let mut answer = Vec::new();
        stream.take(MAX_ANSWER).read_to_end(&mut answer).await?;
        request.read(&answer)
    };
    timeout(request.patience, asked).await.unwrap_or_else(|_| Err(request.late()))
}

/// The same without a runtime, for what is dropped. Each step may take the patience.
pub(crate) fn ask_blocking(
    address: SocketAddr,
    request: Request<'_>,
) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = std::net::TcpStream::connect_timeout(&address, request.patience)?;
    stream.set_read_timeout(Some(request.patience))?;
    stream.set_write_timeout(Some(request.patience))?;
    stream.write_all(&request.bytes(address))?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
    request.read(&answer)
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

    #[test]
    fn a_body_is_sent_with_its_length_and_what_authorizes_it() {
        let request = Request {
            method: "PUT",
            path: "/api/a%2Fb",
            authorization: Some("Basic eA=="),
            body: Some(b"{}"),
            patience: PATIENCE,
        };
        let bytes = request.bytes(SocketAddr::from(([127, 0, 0, 1], 80)));
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            text,
            "PUT /api/a%2Fb HTTP/1.0\r\nHost: 127.0.0.1:80\r\nAuthorization: Basic eA==\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        );
    }
}
