//! A server that was installed, on a loopback address, while it is asked.
//!
//! It runs the practice chain and ends when this is dropped, whatever happened.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::net::TcpListener;
use std::process::{Child, Command};
use std::thread;
use std::time::Instant;

use crate::shell::{output, program_at_root};

/// How long a server may take to end
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

    /// Sends one request when the server has a block, and reads its page
    pub(super) fn ask(&self) -> Result<(), String> {
        self.curl("ready", &[])?;
        let response = self.curl("", &["--data", REQUEST])?;
        if !response.contains(r#""result":{"#) {
            return Err(format!("no result: {response}"));
        }
        println!("a page of {} bytes", self.curl("", &[])?.len());
        Ok(())
    }

    /// The body of a successful response; repeats a request for two minutes while the server starts
    fn curl(&self, path: &str, arguments: &[&str]) -> Result<String, String> {
        let mut curl = program_at_root("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--fail",
            "--header",
            "content-type: application/json",
        ]);
        curl.args(["--retry", "120", "--retry-delay", "1", "--retry-connrefused"]);
        output(curl.args(arguments).arg(format!("http://{}/{path}", self.address)))
    }
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
