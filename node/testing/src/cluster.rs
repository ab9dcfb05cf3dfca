//! Nodes of Apache Cassandra on loopback addresses, for tests.
//!
//! A cluster is started in a temporary directory with small heaps, on addresses that no other test
//! uses at the time, and ends with its value, also if the process is killed. `cargo xtask` installs
//! the programs and names them in the environment. A cluster for tests only: nodes know their
//! tokens, so they need not agree on them, and trust each other.

mod calls;
mod node;

use core::net::Ipv4Addr;
use std::io;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use calls::Calls;
pub use node::{Node, SlowDisk};
use tempfile::TempDir;

/// The environment variables with the `java` of a Java 17 and the folder of Cassandra's jars
pub const JAVA_VARIABLE: &str = "JAVA_17";
/// See [`JAVA_VARIABLE`]
pub const JARS_VARIABLE: &str = "CASSANDRA_JARS";

/// The name of the only data centre
pub const DATA_CENTER: &str = "datacenter1";
/// The only user of a cluster [with passwords](Security), and the password
pub const USER: &str = "cassandra";
/// See [`USER`]
pub const PASSWORD: &str = "cassandra";

/// Who may connect, and how
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Security {
    /// Everybody
    None,
    /// [`USER`] with its password, also by TLS with the certificate in
    /// [`Cluster::certificate`], for one node
    PasswordAndTls,
}

/// A cluster that ends when it is dropped
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    folder: TempDir,
}

impl Cluster {
    /// Starts this many nodes, up to 200, and waits until they serve
    ///
    /// # Errors
    ///
    /// When the environment does not name the programs, or a node ends before it serves.
    pub fn start(nodes: u8, security: Security) -> io::Result<Self> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.ok_or_else(|| io::Error::other(format!("{name} is not set; run `cargo xtask`")))
        };
        let (java, jars) = (variable(JAVA_VARIABLE)?, variable(JARS_VARIABLE)?);
        let folder = tempfile::tempdir()?;
        // A network of its own for each process, out of the 65,000 of loopback.
        let [.., high, low] = std::process::id().to_be_bytes();
        let address = |node| Ipv4Addr::new(127, high, low, node);
        if security == Security::PasswordAndTls {
            make_certificate(&java, folder.path(), address(1))?;
        }
        let seeds: Vec<String> = (1..=nodes).map(|node| address(node).to_string()).collect();
        let mut cluster = Self { nodes: Vec::new(), folder };
        for number in 0..nodes {
            let node = Node::new(
                java.clone(),
                jars.clone(),
                cluster.folder.path().join(format!("node{}", number + 1)),
                address(number + 1),
                token(number, nodes),
                &seeds.join(","),
                security,
            )?;
            cluster.nodes.push(node);
        }
        cluster.nodes.iter_mut().try_for_each(Node::start)?;
        cluster.nodes.iter_mut().try_for_each(Node::wait)?;
        Ok(cluster)
    }

    /// The nodes
    pub fn nodes(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// The hosts of all nodes, by comma
    pub fn hosts(&self) -> String {
        let hosts: Vec<String> = self.nodes.iter().map(|node| node.address().to_string()).collect();
        hosts.join(",")
    }

    /// The certificate of the node, in PEM
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join(CERTIFICATE)
    }
}

/// The first token of a node: the ring in equal parts
fn token(node: u8, nodes: u8) -> i64 {
    let part = (1_i128 << 64) / i128::from(nodes.max(1));
    // The smallest number is not a token.
    (i128::from(i64::MIN) + 1 + i128::from(node) * part) as i64
}

const KEYS: &str = "node.p12";
const KEYS_PASSWORD: &str = "only for tests";
const CERTIFICATE: &str = "node.pem";

/// Makes a key with a certificate that it signs itself, which names the address of the node
fn make_certificate(java: &Path, folder: &Path, address: Ipv4Addr) -> io::Result<()> {
    let tool = java.with_file_name("keytool");
    let (keys, certificate) = (folder.join(KEYS), folder.join(CERTIFICATE));
    let run = |words: &[&str]| {
        let mut command = Command::new(&tool);
        command.args(words).args(["-alias", "node", "-storepass", KEYS_PASSWORD, "-keystore"]);
        let output = command.arg(&keys).output()?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Err(io::Error::other(format!("keytool {}: {text}", words.join(" "))))
    };
    let name = format!("san=ip:{address}");
    let key = ["-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "2"];
    run(&[&key[..], &["-storetype", "PKCS12", "-dname", "CN=node", "-ext", &name]].concat())?;
    run(&["-exportcert", "-rfc", "-file", &certificate.to_string_lossy()])
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn nodes_own_equal_parts_of_the_ring() {
        assert_eq!(token(0, 1), i64::MIN + 1);
        let tokens = [0, 1, 2].map(|node| i128::from(token(node, 3)));
        assert_eq!(tokens[2] - tokens[1], tokens[1] - tokens[0]);
        assert_eq!(tokens[1] - tokens[0], (1 << 64) / 3);
    }
}
