//! Runs vectors over HTTP, on the node's own program.
//!
//! A node is started for a scene, on a free port, and ends with its [`Node`]. Its command line has
//! no word for blocks that come in while a request waits, for the limits of the engine, or for
//! configurations without any block, so [`can_ask`] says which vectors are left to the crate.

use core::net::SocketAddr;
use core::time::Duration;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Scene, Vector, Wait, told};

/// How long a request waits before it expires: no vector that is asked here ends a wait otherwise
const WAIT: &str = "100ms";
/// How long an answer may take before the node counts as dead; no verdict depends on it otherwise
const PATIENCE: Duration = Duration::from_secs(120);

/// Whether a node can be asked this
pub fn can_ask(vector: &Vector, scene: &Scene) -> bool {
    !matches!(vector.wait, Wait::Blocks(_))
        && vector.max_batch.is_none()
        && vector.max_receipts.is_none()
        && !scene.blocks.is_empty()
}

/// The flags of a node that has the settings of this vector
pub fn flags(vector: &Vector) -> Vec<String> {
    let mut flags = Vec::new();
    if vector.timeout_cause {
        flags.push("--timeout-cause".into());
    }
    if vector.unknown_at_once {
        flags.push("--unknown=immediate".into());
    }
    if let Some(most) = vector.max_waiting {
        flags.push(format!("--max-waiting={most}"));
    }
    flags
}

/// Builds the node's program beside the running test and says where it is
///
/// # Errors
///
/// What went wrong with the build.
pub fn program() -> Result<PathBuf, String> {
    let test = env::current_exe().map_err(|error| error.to_string())?;
    // A test runs in `<target>/<profile>/deps`.
    let profile = test.parent().and_then(Path::parent).ok_or("the test is nowhere")?;
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
        Ok(status) => Err(format!("building the node failed: {status}")),
        Err(error) => Err(format!("building the node: {error}")),
    }
}

/// A node that runs; it ends when this is dropped
#[derive(Debug)]
pub struct Node {
    child: Child,
    address: SocketAddr,
}

impl Drop for Node {
    fn drop(&mut self) {
        // The program may have ended by itself; there is nothing left to do then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Node {
    /// Starts a node over a scene with these flags; `work` is an empty directory for its files
    ///
    /// # Errors
    ///
    /// What could not be prepared, or that the node ended before it listened.
    pub fn start(
        program: &Path,
        scene: &Scene,
        flags: &[String],
        work: &Path,
    ) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--wait-timeout", WAIT]);
        command.args(["--finality", if scene.all_final { "final" } else { "headers" }]);
        command.args(flags);
        for block in &scene.blocks {
            command.arg("--blocks").arg(block);
        }
        if !scene.configs.is_empty() {
            for (height, file) in &scene.configs {
                fs::copy(file, work.join(format!("{height}.json"))).map_err(|e| told(file, &e))?;
            }
            command.arg("--configs").arg(work);
        }
        Self::spawn(command)
    }

    /// Starts a node that plays the practice chain
    ///
    /// # Errors
    ///
    /// That the node ended before it listened.
    pub fn practice(program: &Path) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0"]);
        Self::spawn(command)
    }

    /// Where the node listens
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn spawn(mut command: Command) -> Result<Self, String> {
        // Warnings go where the test's own go; the rest would bury them.
        command.env("MILEPOST_LOG", "warn");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| told(Path::new(command.get_program()), &error))?;
        let output = child.stdout.take();
        let node = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        node.listening(output.ok_or("the node has no output")?)
    }

    /// Reads the address out of what the node says first
    fn listening(mut self, output: impl Read) -> Result<Self, String> {
        let mut said = String::new();
        for line in BufReader::new(output).lines() {
            let line = line.map_err(|error| error.to_string())?;
            let address = line.split("http://").nth(1).and_then(|rest| rest.parse().ok());
            if let Some(address) = address {
                self.address = address;
                return Ok(self);
            }
            said.push_str(&line);
            said.push('\n');
        }
        Err(format!("the node ended before it listened; it said {said:?}"))
    }

    /// Asks what a vector asks and compares the answer with what the vector says
    ///
    /// # Errors
    ///
    /// How the answer differs, or that there was none.
    pub fn run(&self, vector: &Vector) -> Result<(), String> {
        let path = vector.path_method.as_deref().unwrap_or_default();
        let (status, body) = self.post(path, &vector.request).map_err(|e| e.to_string())?;
        if status != vector.http_status {
            let body = String::from_utf8_lossy(&body);
            return Err(format!("HTTP status {status}, expected {}: {body}", vector.http_status));
        }
        super::compare(&body, &vector.answer)
    }

    /// Posts a body and reads the status and the body of the response
    ///
    /// # Errors
    ///
    /// The connection's, or a response whose length is not the one it says.
    pub fn post(&self, path: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let length = body.len();
        let head = format!(
            "POST /{path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response)?;
        split(&response).ok_or_else(|| {
            let text = String::from_utf8_lossy(&response).into_owned();
            io::Error::other(format!("not a response with a length: {text:?}"))
        })
    }
}

/// The status and the body of a response that says how long its body is
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
