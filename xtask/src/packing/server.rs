//! A server that was installed, on a loopback address, while it is asked.
//!
//! It runs the practice chain and ends when this is dropped, whatever happened. Leaves out what
//! responses say, which is tested elsewhere: here one has a result, or none came.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::thread;
use std::time::Instant;

/// How long a server may take until it responds; a busy machine needs some seconds
const TIMEOUT: Duration = Duration::from_secs(120);

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;

/// A running server
pub(super) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts it by this command line, to which the address is added by its variable
    pub(super) fn start(command: &mut Command) -> Result<Self, String> {
        // A port that is free now; nothing else on the machine is given it so soon.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
        let address = free.map_err(|error| format!("a free port: {error}"))?;
        println!("starts {command:?} on {address}");
        let child = command.env("MILEPOST_LISTEN", address.to_string()).spawn();
        let child = child.map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Self { child, address })
    }

    /// Sends one request, again until the server has a block
    pub(super) fn ask(&mut self) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let response = self.post();
            if let Ok(response) = &response
                && response.contains(r#""result":{"#)
            {
                println!("one response of {} bytes", response.len());
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the server ended with {status}"));
            }
            if start.elapsed() > TIMEOUT {
                return Err(format!("no result in {} s: {response:?}", TIMEOUT.as_secs()));
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn post(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        write!(
            stream,
            "POST / HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{REQUEST}",
            self.address,
            REQUEST.len()
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
