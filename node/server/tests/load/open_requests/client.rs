//! A minimal HTTP client, so that ten thousand of them fit next to the server.

use core::net::SocketAddr;
use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::post;

/// A connection
pub(crate) struct Client {
    stream: TcpStream,
}

/// A response with its whole body
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream })
    }

    /// Sends a JSON-RPC request, without waiting for its response
    pub(crate) async fn send(&mut self, body: &str) -> io::Result<()> {
        self.stream.write_all(post("/", body).as_bytes()).await
    }

    /// Reads one response; an end of the connection before its end is an error
    pub(crate) async fn receive(&mut self) -> io::Result<Response> {
        let mut bytes = Vec::new();
        let head_len = loop {
            if let Some(index) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break index + 4;
            }
            self.read_some(&mut bytes).await?;
        };
        let text = String::from_utf8_lossy(&bytes[..head_len]).to_lowercase();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.and_then(|length| length.trim().parse().ok());
        let (Some(status), Some(length)) = (status, length) else {
            return Err(io::Error::other(format!("no status or no length: {text}")));
        };
        let mut body = bytes.split_off(head_len);
        while body.len() < length {
            self.read_some(&mut body).await?;
        }
        Ok(Response { status, body })
    }

    /// Reads until the server closes the connection; a reset is an error
    pub(crate) async fn end(&mut self) -> io::Result<()> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).await?;
        if rest.is_empty() { Ok(()) } else { Err(io::Error::other("bytes after the response")) }
    }

    /// Closes the connection by a reset, as a killed client does
    pub(crate) fn reset(self) -> io::Result<()> {
        self.stream.set_zero_linger()
    }

    async fn read_some(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        match self.stream.read_buf(bytes).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
