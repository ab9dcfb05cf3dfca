//! One node: its files, its process, and what tests do to it.
//!
//! A shell is between the test and the node. It ends the node by its id as soon as the pipe to the
//! test closes, so a test that is killed leaves no node behind.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::io::{self, BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;
use std::{fs, thread};

use super::{KEYS, KEYS_PASSWORD, Security};

const PORT: u16 = 9042;
/// A machine with other work starts three nodes in a minute.
const START: Duration = Duration::from_secs(300);
/// A node writes out what it has in memory before it ends.
const STOP: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(100);

/// Starts the program in its arguments, prints its id, and kills it when the input ends
const KEEPER: &str = r#"exec 3<&0 2>/dev/null
"$@" </dev/null 3<&- >>log 2>&1 &
node=$!
echo $node
{ read -r line; kill -KILL $node; } <&3 >/dev/null &
keeper=$!
wait $node
kill -KILL $keeper
"#;

/// A node that ends when it is dropped
#[derive(Debug)]
pub struct Node {
    java: PathBuf,
    jars: PathBuf,
    folder: PathBuf,
    address: Ipv4Addr,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    keeper: Child,
    /// Closed to end the node
    pipe: ChildStdin,
    id: String,
}

impl Node {
    /// Writes the files of a node that does not run
    pub(crate) fn new(
        java: PathBuf,
        jars: PathBuf,
        folder: PathBuf,
        address: Ipv4Addr,
        token: i64,
        seeds: &str,
        security: Security,
    ) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let mut configuration = CONFIGURATION
            .replace("@ADDRESS@", &address.to_string())
            .replace("@TOKEN@", &token.to_string())
            .replace("@FOLDER@", &folder.to_string_lossy())
            .replace("@SEEDS@", seeds);
        if security == Security::PasswordAndTls {
            let keys = folder.with_file_name(KEYS);
            configuration = configuration.replace("AllowAllAuthenticator", "PasswordAuthenticator");
            configuration.push_str(&format!(
                "client_encryption_options: {{enabled: true, optional: true, keystore: \"{}\", \
                 keystore_password: \"{KEYS_PASSWORD}\"}}\n",
                keys.display()
            ));
        }
        fs::write(folder.join("cassandra.yaml"), configuration)?;
        fs::write(folder.join("logback.xml"), LOGGING)?;
        Ok(Self { java, jars, folder, address, process: None })
    }

    /// Where clients connect, on port 9042
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Starts the process; see [`wait`](Self::wait)
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(&mut self) -> io::Result<()> {
        let setting = |name: &str, file: &str| {
            format!("-D{name}=file://{}", self.folder.join(file).display())
        };
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).arg("nice").args(["-n", "5"]).arg(&self.java);
        for package in EXPORTED {
            command.arg("--add-exports").arg(format!("{package}=ALL-UNNAMED"));
        }
        for package in OPENED {
            command.arg("--add-opens").arg(format!("{package}=ALL-UNNAMED"));
        }
        command.args(OPTIONS).arg(format!("-javaagent:{}", self.agent()?.display()));
        command.arg(setting("cassandra.config", "cassandra.yaml"));
        command.arg(setting("logback.configurationFile", "logback.xml"));
        for name in ["cassandra.storagedir", "cassandra.logdir"] {
            command.arg(format!("-D{name}={}", self.folder.display()));
        }
        command.arg("-cp").arg(self.jars.join("*"));
        command.arg("org.apache.cassandra.service.CassandraDaemon");
        command.current_dir(&self.folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn()?;
        let (Some(pipe), Some(output)) = (keeper.stdin.take(), keeper.stdout.take()) else {
            return Err(io::Error::other("a shell without pipes"));
        };
        let mut id = String::new();
        BufReader::new(output).read_line(&mut id)?;
        self.process = Some(Process { keeper, pipe, id: id.trim().to_owned() });
        Ok(())
    }

    /// Waits until it serves
    ///
    /// # Errors
    ///
    /// When it ends before, with the end of its log, or takes five minutes.
    pub fn wait(&mut self) -> io::Result<()> {
        let (begin, address) = (Instant::now(), SocketAddr::from((self.address, PORT)));
        loop {
            if TcpStream::connect_timeout(&address, POLL).is_ok() {
                return Ok(());
            }
            let process = self.process.as_mut();
            let process = process.ok_or_else(|| io::Error::other("the node was not started"))?;
            if process.keeper.try_wait()?.is_some() || begin.elapsed() > START {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let end = lines[lines.len().saturating_sub(30)..].join("\n");
                return Err(io::Error::other(format!("{} does not serve:\n{end}", self.address)));
            }
            thread::sleep(POLL);
        }
    }

    /// Ends it at once, as a crash does
    ///
    /// # Errors
    ///
    /// When it is not known whether it has ended.
    pub fn kill(&mut self) -> io::Result<()> {
        let Some(Process { mut keeper, pipe, .. }) = self.process.take() else { return Ok(()) };
        drop(pipe);
        keeper.wait().map(|_| ())
    }

    /// Ends it as an operator does: what it has in memory is written out
    ///
    /// # Errors
    ///
    /// When it has not ended after two minutes; it is killed then.
    pub fn stop(&mut self) -> io::Result<()> {
        self.signal("TERM")?;
        let begin = Instant::now();
        while let Some(process) = &mut self.process {
            if process.keeper.try_wait()?.is_some() {
                self.process = None;
            } else if begin.elapsed() > STOP {
                self.kill()?;
                return Err(io::Error::other(format!("{} does not stop", self.address)));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Stops it in the middle of its work, with its connections open
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn pause(&self) -> io::Result<()> {
        self.signal("STOP")
    }

    /// Goes on after [`pause`](Self::pause)
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn resume(&self) -> io::Result<()> {
        self.signal("CONT")
    }

    /// Lets each write to the disk that the node waits for take this much longer, until what is
    /// returned is dropped
    ///
    /// By `strace`, which delays the calls that synchronize files; every other call of the node
    /// becomes slower too.
    ///
    /// # Errors
    ///
    /// When it does not run, or `strace` cannot be started.
    pub fn slow_disk(&self, delay: Duration) -> io::Result<SlowDisk> {
        let process = self.process.as_ref();
        let process = process.ok_or_else(|| io::Error::other("the node does not run"))?;
        let calls = "fsync,fdatasync,msync";
        let delay = format!("inject={calls}:delay_enter={}", delay.as_micros());
        let mut tracer = Command::new("strace");
        tracer.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}")]);
        tracer.args(["-e", &delay, "-p", &process.id]).stdin(Stdio::null());
        tracer.spawn().map(SlowDisk)
    }

    fn signal(&self, name: &str) -> io::Result<()> {
        let process = self.process.as_ref();
        let process = process.ok_or_else(|| io::Error::other("the node does not run"))?;
        let status = Command::new("kill").arg(format!("-{name}")).arg(&process.id).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("kill: {status}"))) }
    }

    /// The jar that measures objects for the node
    fn agent(&self) -> io::Result<PathBuf> {
        let mut files = fs::read_dir(&self.jars)?.filter_map(Result::ok).map(|file| file.path());
        let is_agent = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("jamm-"))
        };
        files.find(is_agent).ok_or_else(|| io::Error::other("no jar jamm-*"))
    }
}

/// A node whose disk is slow, until this is dropped
#[derive(Debug)]
pub struct SlowDisk(Child);

impl Drop for SlowDisk {
    fn drop(&mut self) {
        // By the signal for which it leaves the node running. It may have ended with the node.
        let _ = Command::new("kill").arg("-INT").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Nothing can be done about a failure; the pipe is closed in any case.
        let _ = self.kill();
    }
}

/// What Java hides since version 9 and Cassandra uses
const EXPORTED: [&str; 8] = [
    "java.base/jdk.internal.misc",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "java.base/java.lang.ref",
    "jdk.unsupported/sun.misc",
    "jdk.attach/sun.tools.attach",
];
const OPENED: [&str; 16] = [
    "java.base/java.lang.module",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "java.base/java.io",
    "java.base/java.nio",
    "java.base/java.lang",
    "java.base/java.lang.reflect",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "jdk.management/com.sun.management.internal",
];

/// A small node that starts quickly and reports to no one
///
/// With less memory than this, a row of 16 MiB ends the node.
const OPTIONS: [&str; 21] = [
    "-Xms256m",
    "-Xmx256m",
    "-Xmn96m",
    "-Xss256k",
    "-XX:MaxDirectMemorySize=192m",
    "-XX:ReservedCodeCacheSize=96m",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.security.manager=allow",
    "-Djdk.attach.allowAttachSelf=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dchronicle.analytics.disable=true",
    "-Dchronicle.announcer.disable=true",
    "-Dcassandra-foreground=yes",
    // Nodes of a new cluster need not wait for others that may be there.
    "-Dcassandra.ring_delay_ms=2000",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.superuser_setup_delay_ms=0",
    "-Dcassandra.consistent.rangemovement=false",
    "-Dcassandra.available_processors=2",
];

/// Acknowledges what is in its log on disk: by default a node that is killed forgets what came
/// after the last marker in its log (CASSANDRA-13987), also when it was acknowledged
const CONFIGURATION: &str = r#"cluster_name: milepost
num_tokens: 1
initial_token: "@TOKEN@"
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{seeds: "@SEEDS@"}]
listen_address: @ADDRESS@
rpc_address: @ADDRESS@
data_file_directories: ["@FOLDER@/data"]
commitlog_directory: "@FOLDER@/commitlog"
saved_caches_directory: "@FOLDER@/caches"
hints_directory: "@FOLDER@/hints"
cdc_raw_directory: "@FOLDER@/cdc"
commitlog_sync: group
commitlog_sync_group_window: 5ms
commitlog_total_space: 128MiB
memtable_heap_space: 40MiB
memtable_offheap_space: 48MiB
memtable_allocation_type: offheap_objects
memtable_flush_writers: 1
concurrent_reads: 8
concurrent_writes: 32
concurrent_compactors: 1
file_cache_size: 32MiB
networking_cache_size: 16MiB
key_cache_size: 4MiB
native_transport_max_threads: 16
auto_snapshot: false
authenticator: AllowAllAuthenticator
authorizer: AllowAllAuthorizer
"#;

const LOGGING: &str = r#"<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %d{HH:mm:ss.SSS} [%thread] %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
"#;
