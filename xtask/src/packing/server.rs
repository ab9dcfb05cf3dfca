//! A server that was installed, on a loopback address, while it is asked.
//!
//! It runs the practice chain and ends when this is dropped, whatever happened. Leaves out what
//! responses say, which is tested elsewhere: here one has a result, or none came; and the page is
//! the built one, or the plain one.

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
        let page = self.curl("", &[])?;
        let path = script_of(&page).ok_or("the page is not the built one: it has no script")?;
        let script = self.curl(path, &[])?;
        println!("a page of {} bytes with a script of {} bytes", page.len(), script.len());
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
