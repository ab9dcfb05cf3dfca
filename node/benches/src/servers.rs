//! The servers of the bench over HTTP, and their files.
//!
//! Each server is a process that prints its address, and is killed when its value is dropped. With
//! two processors, the servers run on one and the client on the other.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The time without processor time after which a server is idle
const IDLE_TIME: Duration = Duration::from_millis(100);
/// Clock ticks per second in `/proc`, on every Linux
const TICKS: f64 = 100.0;

/// The paths of the programs and of the bench's files
pub(crate) struct Folder {
    /// The folder of the programs `milepost` and `http-bench`
    programs: PathBuf,
    /// The program of the node's path
    peer: PathBuf,
    /// The folder for files of this bench, empty at its start
    files: PathBuf,
}

impl Folder {
    pub(crate) fn new(programs: &Path, peer: &Path) -> Result<Self, String> {
        let files = programs.join("http-bench-files");
        // Left by an earlier run.
        let _ = fs::remove_dir_all(&files);
        fs::create_dir_all(&files).map_err(|error| format!("{}: {error}", files.display()))?;
        Ok(Self { programs: programs.to_owned(), peer: peer.to_owned(), files })
    }

    pub(crate) fn path(&self, name: &str) -> Result<String, String> {
        let path = self.files.join(name).into_os_string();
        path.into_string().map_err(|path| format!("{}: not UTF-8", path.display()))
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        let path = self.path(name)?;
        fs::write(&path, bytes).map_err(|error| format!("{path}: {error}"))?;
        Ok(path)
    }

    /// Writes the block messages; returns the transactions that they contain
    pub(crate) fn feed(&self) -> Result<Vec<Transaction>, String> {
        let lines = output(
            Command::new(self.programs.join("http-bench")).args(["feed", &self.path("feed")?]),
        )?;
        lines.lines().map(Transaction::read).collect()
    }

    /// `milepost` on this store
    pub(crate) fn milepost(&self, store: &str) -> Result<Server, String> {
        let feed = self.path("feed")?;
        let serve = ["serve", "--listen", "127.0.0.1:0", "--finality", "all", "--blocks", &feed];
        Server::start(
            pinned(0, self.programs.join("milepost")).args(serve).args(["--store", store]),
        )
    }

    /// The node's path, from rows in memory
    pub(crate) fn peer(&self) -> Result<Server, String> {
        let feed = self.path("feed")?;
        Server::start(pinned(0, &self.peer).args([&feed]))
    }

    /// A server that always sends these bytes
    pub(crate) fn constant(&self, response: &[u8]) -> Result<Server, String> {
        let file = self.write("response.json", response)?;
        Server::start(pinned(0, self.programs.join("http-bench")).args(["constant", &file]))
    }

    /// The path of a script with which the client sends this body
    pub(crate) fn script(&self, body: &str) -> Result<String, String> {
        let script = format!(
            "wrk.method = \"POST\"\nwrk.body = [[{body}]]\nwrk.headers[\"Content-Type\"] = \"application/json\"\n"
        );
        self.write("request.lua", script.as_bytes())
    }
}

/// A program pinned to this processor, if there is one for the servers and one for the client
pub(crate) fn pinned(processor: usize, program: impl AsRef<Path>) -> Command {
    if !pins() {
        return Command::new(program.as_ref());
    }
    let mut command = Command::new("taskset");
    command.args(["-c", &processor.to_string()]).arg(program.as_ref());
    command
}

/// Whether servers and client are pinned to different processors
fn pins() -> bool {
    let starts = |command: &mut Command| {
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    starts(Command::new("taskset").args(["-c", "0,1", "true"]))
}

/// Returns what a program prints on its standard output
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed, {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A transaction that the servers imported
pub(crate) struct Transaction {
    pub(crate) receipts: usize,
    hash: String,
    signer: String,
}

impl Transaction {
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let mut fields = line.split(' ');
        let receipts = fields.next().and_then(|field| field.parse().ok());
        match (receipts, fields.next(), fields.next()) {
            (Some(receipts), Some(hash), Some(signer)) => {
                Ok(Self { receipts, hash: hash.to_owned(), signer: signer.to_owned() })
            }
            _ => Err(format!("`{line}` is not a transaction")),
        }
    }

    pub(crate) fn request(&self) -> String {
        let Self { hash, signer, .. } = self;
        format!(
            r#"{{"jsonrpc":"2.0","id":"dontcare","method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{hash}","sender_account_id":"{signer}","wait_until":"FINAL"}}}}"#
        )
    }
}

/// A server that is killed when this value is dropped
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// Kept open, so that the server can print more
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a server that prints its address
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("a server does not start: {error}");
        let mut child = command
            .env("MILEPOST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stdout = child.stdout.take().ok_or("a server has no output")?;
        let mut server = Self { child, address: String::new(), _stdout: BufReader::new(stdout) };
        let mut line = String::new();
        server._stdout.read_line(&mut line).map_err(failed)?;
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(['/', '\n']).next());
        server.address = address.ok_or("a server ended before it printed its address")?.to_owned();
        Ok(server)
    }

    /// Sends a body by POST and returns the body of the response
    pub(crate) fn respond(&self, body: &str) -> Result<Vec<u8>, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.address);
        let mut stream = TcpStream::connect(&self.address).map_err(failed)?;
        let length = body.len();
        let request = format!(
            "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).map_err(failed)?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response).map_err(failed)?;
        let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        match end {
            Some(end) if response.starts_with(b"HTTP/1.1 200 ") => Ok(response.split_off(end + 4)),
            _ => Err(format!("{}: {}", self.address, String::from_utf8_lossy(&response))),
        }
    }

    /// Processor time so far, in seconds
    pub(crate) fn processor_seconds(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = fs::read_to_string(&path).map_err(|error| {
            format!("{path}: {error}; the bench reads processor time from Linux's /proc")
        })?;
        // The name, which may contain spaces, ends with the last `)`; user and system time are the
        // 12th and 13th field after it.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: Vec<u64> =
            fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
        Ok(ticks.iter().sum::<u64>() as f64 / TICKS)
    }

    /// Waits until the server is idle
    pub(crate) fn wait_until_idle(&self) -> Result<(), String> {
        loop {
            let before = self.processor_seconds()?;
            std::thread::sleep(IDLE_TIME);
            if self.processor_seconds()? <= before {
                return Ok(());
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::Transaction;

    #[test]
    fn transactions_are_read_from_the_output_of_the_feed() {
        let transaction = Transaction::read("10 8raF alice.near").unwrap();
        assert_eq!((transaction.receipts, transaction.hash.as_str()), (10, "8raF"));
        assert!(transaction.request().contains(r#""sender_account_id":"alice.near""#));
        assert!(Transaction::read("ten").is_err());
    }
}
