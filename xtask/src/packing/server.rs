//! A server that was installed, on a loopback address, while it is asked.
//!
//! It runs the practice chain and ends when this is dropped, whatever happened. Leaves out what
//! responses say, which is tested elsewhere: here one has a result, or none came; and the page is
//! the built one, or the plain one.

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
        let address = Self::free_address()?;
        Self::start_at(address, command.env("MILEPOST_LISTEN", address.to_string()))
    }

    /// Starts it by this command line, which has the address
    pub(super) fn start_at(address: SocketAddr, command: &mut Command) -> Result<Self, String> {
        println!("starts {command:?} on {address}");
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Self { child, address })
    }

    /// A port that is free now; nothing else on the machine is given it so soon
    pub(super) fn free_address() -> Result<SocketAddr, String> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
        free.map_err(|error| format!("a free port: {error}"))
    }

    /// Sends one request, again until the server has a block, and reads its page
    pub(super) fn ask(&mut self) -> Result<(), String> {
        self.ask_for_config()?;
        let page = self.exchange("GET / HTTP/1.1", "").map_err(|error| error.to_string())?;
        let script = script_of(&page).ok_or("the page is not the built one: it has no script")?;
        let script = self.exchange(&format!("GET /{script} HTTP/1.1"), "");
        let script = script.map_err(|error| error.to_string())?;
        if !script.starts_with("HTTP/1.1 200 ") {
            return Err("the script of the page is not there".into());
        }
        println!("a page of {} bytes with a script of {} bytes", page.len(), script.len());
        Ok(())
    }

    fn ask_for_config(&mut self) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let response = self.exchange("POST / HTTP/1.1", REQUEST);
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

    /// One request with this body, on a connection of its own; the response with its head
    fn exchange(&self, line: &str, body: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        write!(
            stream,
            "{line}\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    }
}

/// The path of the first script that the build of the page has made
fn script_of(page: &str) -> Option<&str> {
    let (_, tag) = page.split_once("<script ")?;
    let (_, path) = tag.split_once("src=\"./")?;
    let path = path.split_once('"')?.0;
    path.starts_with("assets/").then_some(path)
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to do. SIGTERM, because a program around it
        // ends it then, and would leave it behind after SIGKILL.
        let terminate = format!("kill {}", self.child.id());
        let _ = Command::new("sh").args(["-c", &terminate]).status();
        let start = Instant::now();
        while let Ok(None) = self.child.try_wait()
            && start.elapsed() < TIMEOUT
        {
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::script_of;

    #[test]
    fn the_built_page_has_a_script_and_the_plain_one_has_none() {
        let built = r#"<script type="module" crossorigin src="./assets/index-C1.js"></script>"#;
        assert_eq!(script_of(built), Some("assets/index-C1.js"));
        let plain = std::fs::read(crate::shell::root().join("server/src/http/page/index.html"));
        assert_eq!(script_of(&String::from_utf8(plain.unwrap()).unwrap()), None);
    }
}
