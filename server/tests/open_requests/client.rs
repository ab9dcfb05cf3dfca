//! A client as small as one can be, so that ten thousand of them fit beside the server.

use core::net::SocketAddr;
use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::post;

/// A connection
pub(crate) struct Caller {
    stream: TcpStream,
}

/// An answer with its whole body
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Caller {
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream })
    }

    /// Sends a JSON-RPC request, without waiting for its answer
    pub(crate) async fn send(&mut self, body: &str) -> io::Result<()> {
        self.stream.write_all(post("/", body).as_bytes()).await
    }

    /// Reads one answer to its end; an end before that is an error
    pub(crate) async fn receive(&mut self) -> io::Result<Answer> {
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            self.more(&mut bytes).await?;
        };
        let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.and_then(|length| length.trim().parse().ok());
        let (Some(status), Some(length)) = (status, length) else {
            return Err(io::Error::other(format!("no status or no length: {text}")));
        };
        let mut body = bytes.split_off(head);
        while body.len() < length {
            self.more(&mut body).await?;
        }
        Ok(Answer { status, body })
    }

    /// Reads until the server has closed; a reset is an error
    pub(crate) async fn end(&mut self) -> io::Result<()> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).await?;
        if rest.is_empty() { Ok(()) } else { Err(io::Error::other("bytes after the answer")) }
    }

    /// Goes away without a word of farewell: a reset, as a client that is killed may leave
    pub(crate) fn reset(self) -> io::Result<()> {
        self.stream.set_zero_linger()
    }

    async fn more(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        match self.stream.read_buf(bytes).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
