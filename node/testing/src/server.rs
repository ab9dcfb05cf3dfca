//! Runs vectors over HTTP, on the server.
//!
//! A server is started for a fixture, on a free port, and stopped when its [`Server`] is dropped.
//! It has no options to import blocks while a request is pending, for the limits of the engine, or
//! for configurations without blocks, so [`is_supported`] excludes such vectors.

use core::net::SocketAddr;
use core::time::Duration;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use milepost::config::ConfigScope;
use milepost_tests::vectors::{Fixture, Vector, Wait, compare, with_path};

/// The timeout of a request: every vector here that waits ends at its deadline
const WAIT_TIMEOUT: &str = "100ms";
/// The time after which a read fails; the result of a test does not depend on it otherwise
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// Whether the command line can express this vector
pub fn is_supported(vector: &Vector, fixture: &Fixture) -> bool {
    !matches!(vector.wait, Wait::Blocks(_))
        && vector.max_batch.is_none()
        && vector.max_id_bytes.is_none()
        && vector.max_receipts.is_none()
        && !fixture.blocks.is_empty()
}

/// The flags of a server with the settings of this vector
pub fn flags(vector: &Vector) -> Vec<String> {
    let mut flags = Vec::new();
    if vector.timeout_cause {
        flags.push("--timeout-cause".into());
    }
    if vector.unknown_at_once {
        flags.push("--unknown=immediate".into());
    }
    if let Some(max_waiting) = vector.max_waiting {
        flags.push(format!("--max-waiting={max_waiting}"));
    }
    flags
}

/// The variable with the path of the server
const PROGRAM: &str = "SERVER_PROGRAM";

/// The path of the server: that of the variable `SERVER_PROGRAM`, or it is built in the profile of
/// the running test
///
/// # Errors
///
/// The build failed.
pub fn program() -> Result<PathBuf, String> {
    if let Some(program) = env::var_os(PROGRAM) {
        return Ok(program.into());
    }
    let test = env::current_exe().map_err(|error| error.to_string())?;
    // A test runs in `<target>/<profile>/deps`.
    let profile = test.parent().and_then(Path::parent).ok_or("the test is in no directory")?;
    let target = profile.parent().ok_or("the test is in no target directory")?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "milepost-server", "--target-dir"]).arg(target);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
    match status {
        Ok(status) if status.success() => {
            Ok(profile.join("milepost").with_extension(env::consts::EXE_EXTENSION))
        }
        Ok(status) => Err(format!("building the server failed: {status}")),
        Err(error) => Err(format!("building the server: {error}")),
    }
}

/// A running server; it is stopped when this is dropped
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if the program has ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts a server over a fixture with these flags; `directory` is empty, for its files
    ///
    /// # Errors
    ///
    /// A file cannot be copied, or the server ended before it listened.
    pub fn start(
        program: &Path,
        fixture: &Fixture,
        flags: &[String],
        directory: &Path,
    ) -> Result<Self, String> {
        let mut command = Self::command(program, fixture, flags);
        for block in &fixture.blocks {
            command.arg("--blocks").arg(block);
        }
        if !fixture.configs.is_empty() {
            for (scope, file) in &fixture.configs {
                let name = match scope {
                    ConfigScope::From(height) => height.to_string(),
                    ConfigScope::Epoch(epoch_id) => epoch_id.to_string(),
                };
                fs::copy(file, directory.join(name + ".json")).map_err(|e| with_path(file, &e))?;
            }
            command.arg("--configs").arg(directory);
        }
        Self::spawn(command)
    }

    /// Starts a server over a fixture in a store, with an archive that it only reads
    ///
    /// # Errors
    ///
    /// The server ended before it listened.
    pub fn over(
        program: &Path,
        fixture: &Fixture,
        flags: &[String],
        store: &Path,
        archive: &str,
    ) -> Result<Self, String> {
        let mut command = Self::command(program, fixture, flags);
        command.arg("--store").arg(store).args(["--archive", archive, "--archive-write", "off"]);
        Self::spawn(command)
    }

    /// Starts a server on the practice chain
    ///
    /// # Errors
    ///
    /// The server ended before it listened.
    pub fn practice(program: &Path) -> Result<Self, String> {
        Self::with_flags(program, &[])
    }

    /// Starts a server with these flags alone
    ///
    /// # Errors
    ///
    /// The server ended before it listened.
    pub fn with_flags(program: &Path, flags: &[&str]) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0"]).args(flags);
        Self::spawn(command)
    }

    /// What starts a server with the settings of a fixture
    fn command(program: &Path, fixture: &Fixture, flags: &[String]) -> Command {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--timeout", WAIT_TIMEOUT]);
        command.args(["--finality", if fixture.all_final { "all" } else { "headers" }]);
        if !fixture.track_shards.is_empty() {
            let ids: Vec<String> = fixture.track_shards.iter().map(u64::to_string).collect();
            command.args(["--track-shards", &ids.join(",")]);
        }
        command.args(flags);
        command
    }

    /// The URL of the server
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn spawn(mut command: Command) -> Result<Self, String> {
        // Only warnings are of interest in the output of a test.
        command.env("MILEPOST_LOG", "warn");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| with_path(Path::new(command.get_program()), &error))?;
        let output = child.stdout.take();
        let server = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        server.wait_until_listening(output.ok_or("the server has no output")?)
    }

    /// Reads the address from the first lines of output
    fn wait_until_listening(mut self, output: impl Read) -> Result<Self, String> {
        let mut printed = String::new();
        for line in BufReader::new(output).lines() {
            let line = line.map_err(|error| error.to_string())?;
            let url = line.split("http://").nth(1);
            let address = url.and_then(|rest| rest.split('/').next()?.parse().ok());
            if let Some(address) = address {
                self.address = address;
                return Ok(self);
            }
            printed.push_str(&line);
            printed.push('\n');
        }
        Err(format!("the server ended before it listened; it printed {printed:?}"))
    }

    /// Sends the request of a vector and compares the response with the expected one
    ///
    /// # Errors
    ///
    /// The response differs, or there is none.
    pub fn run(&self, vector: &Vector) -> Result<(), String> {
        let path = vector.url_method.as_deref().unwrap_or_default();
        let (status, body) = self.post(path, &vector.request).map_err(|e| e.to_string())?;
        if status != vector.http_status {
            let body = String::from_utf8_lossy(&body);
            return Err(format!("HTTP status {status}, expected {}: {body}", vector.http_status));
        }
        compare(&body, &vector.response)
    }

    /// Posts a body and returns the status and the body of the response
    ///
    /// # Errors
    ///
    /// The connection failed, or the response does not have its `content-length`.
    pub fn post(&self, path: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        self.send("POST", path, body)
    }

    /// Gets a path and returns the status and the body of the response
    ///
    /// # Errors
    ///
    /// As of [`post`](Self::post).
    pub fn get(&self, path: &str) -> io::Result<(u16, Vec<u8>)> {
        self.send("GET", path, &[])
    }

    fn send(&self, verb: &str, path: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        let length = body.len();
        let head = format!(
            "{verb} /{path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response)?;
        split(&response).ok_or_else(|| {
            let text = String::from_utf8_lossy(&response).into_owned();
            io::Error::other(format!("response without its content-length: {text:?}"))
        })
    }
}

/// The status and the body of a response whose length is its `content-length`
fn split(response: &[u8]) -> Option<(u16, Vec<u8>)> {
    let end = response.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = str::from_utf8(response.get(..end)?).ok()?;
    let body = response.get(end + 4..)?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length: usize = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })?;
    (body.len() == length).then(|| (status, body.to_vec()))
}
