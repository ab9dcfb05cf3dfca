//! Where connections come from: the sockets of this machine, or what a test puts in their place.
//!
//! A connection is whatever bytes can be read from and written to. What is accepted, for how long,
//! and what it gets is the same for every listener, and not decided here.

use core::net::IpAddr;
#[cfg(any(test, feature = "internal-fuzz"))]
use core::net::Ipv4Addr;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
#[cfg(any(test, feature = "internal-fuzz"))]
use tokio::{io::DuplexStream, sync::mpsc};
use tracing::debug;

/// A source of connections
pub(crate) trait Listener {
    /// A connection
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// The next connection and the address of its client; if this is dropped before it is ready, no
    /// connection is lost
    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Stream, IpAddr)>> + Send;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<(TcpStream, IpAddr)> {
        let (stream, address) = Self::accept(self).await?;
        // Responses are written whole; Nagle's algorithm would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            debug!("cannot set TCP_NODELAY: {error}");
        }
        Ok((stream, address.ip()))
    }
}

/// Accepts pipes in memory
#[cfg(any(test, feature = "internal-fuzz"))]
pub(crate) struct PipeListener(pub(crate) mpsc::UnboundedReceiver<DuplexStream>);

#[cfg(any(test, feature = "internal-fuzz"))]
impl Listener for PipeListener {
    type Stream = DuplexStream;

    async fn accept(&mut self) -> io::Result<(DuplexStream, IpAddr)> {
        match self.0.recv().await {
            Some(stream) => Ok((stream, Ipv4Addr::LOCALHOST.into())),
            None => core::future::pending().await,
        }
    }
}
