//! The address of an archive: nodes, keyspace, data centre, and where the secrets are.
//!
//! `cassandra://HOST,HOST/KEYSPACE?dc=NAME`. An address is shown in logs and process lists, so it
//! never holds a password, only the file that does. Names that become part of a statement have a
//! narrow alphabet, so nothing has to be quoted.

use core::fmt;
use core::num::NonZeroU8;
use core::str::FromStr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use milepost::{Error, ErrorKind};

/// The environment variable with the password, if the address names no file
pub const PASSWORD_VARIABLE: &str = "MILEPOST_CASSANDRA_PASSWORD";

const SCHEME: &str = "cassandra://";
const DEFAULT_PORT: u16 = 9042;
const DEFAULT_REPLICATION: NonZeroU8 = NonZeroU8::new(3).expect("3 is not 0");
/// Of Cassandra
const MAX_KEYSPACE_LEN: usize = 48;
const SHAPE: &str = "expected cassandra://HOST[:PORT],HOST/KEYSPACE?dc=DATA_CENTRE";

/// The address of an archive
///
/// | part | meaning |
/// |---|---|
/// | `user@` | the name to log in with; its password is in `password-file` or [`PASSWORD_VARIABLE`] |
/// | hosts | one node or several, by comma; the others are found through them. Port 9042 by default |
/// | path | the keyspace: `a` to `z`, digits, `_` |
/// | `dc` | the data centre whose nodes are asked; required |
/// | `replication` | copies of each row, when the keyspace is created; 3 by default |
/// | `password-file` | a file with the password |
/// | `tls-ca` | a PEM file with the authorities that sign the nodes' certificates; turns on TLS |
///
/// The four parameters are encoded as in the query of a URL: `+` in a path is written `%2B`.
///
/// ```
/// use milepost_cassandra::Address;
///
/// let address: Address = "cassandra://reader@10.0.0.1,10.0.0.2:9043/milepost?dc=dc1".parse()?;
/// assert_eq!(address.nodes(), ["10.0.0.1:9042", "10.0.0.2:9043"]);
/// assert_eq!((address.keyspace(), address.data_center()), ("milepost", "dc1"));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    nodes: Vec<String>,
    keyspace: String,
    data_center: String,
    replication: NonZeroU8,
    user: Option<String>,
    password_file: Option<PathBuf>,
    certificate_authorities: Option<PathBuf>,
}

impl Address {
    /// Host and port of each node that is named
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The keyspace
    pub fn keyspace(&self) -> &str {
        &self.keyspace
    }

    /// The data centre whose nodes are asked
    pub fn data_center(&self) -> &str {
        &self.data_center
    }

    /// Copies of each row in a keyspace that is created
    pub(crate) const fn replication(&self) -> NonZeroU8 {
        self.replication
    }

    pub(crate) fn certificate_authorities(&self) -> Option<&Path> {
        self.certificate_authorities.as_deref()
    }

    /// User and password, if the address names a user
    pub(crate) fn credentials(&self) -> Result<Option<(&str, String)>, Error> {
        let Some(user) = &self.user else { return Ok(None) };
        let password = match &self.password_file {
            Some(path) => fs::read_to_string(path).map_err(|error| {
                let detail = format_args!("password file {}: {error}", path.display());
                Error::new(ErrorKind::Storage, detail)
            })?,
            None => env::var(PASSWORD_VARIABLE).map_err(|_| {
                let detail = format_args!(
                    "no password for the user {user}: set {PASSWORD_VARIABLE} or name a file in \
                     `password-file`"
                );
                Error::new(ErrorKind::Storage, detail)
            })?,
        };
        // An editor ends the file with a line break, which no one means.
        Ok(Some((user, password.trim_end_matches(['\r', '\n']).to_owned())))
    }
}

/// Without user and files; `cassandra://HOST:PORT,HOST:PORT/KEYSPACE?dc=NAME`
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, keyspace, data_center, .. } = self;
        write!(formatter, "{SCHEME}{}/{keyspace}?dc={data_center}", nodes.join(","))
    }
}

impl FromStr for Address {
    type Err = Error;

    /// # Errors
    ///
    /// [`ErrorKind::Value`] with the part that is wrong
    fn from_str(text: &str) -> Result<Self, Error> {
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| invalid(SHAPE))?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, keyspace) = rest.split_once('/').ok_or_else(|| invalid(SHAPE))?;
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(parse_user(user)?), hosts),
            None => (None, authority),
        };
        let nodes = hosts.split(',').map(parse_node).collect::<Result<_, _>>()?;
        let mut parsed = Parameters::default();
        for (name, value) in form_urlencoded::parse(parameters.as_bytes()) {
            parsed.add(&name, &value)?;
        }
        if parsed.password_file.is_some() && user.is_none() {
            return Err(invalid("`password-file` without a user: write user@ before the hosts"));
        }
        Ok(Self {
            nodes,
            keyspace: parse_keyspace(keyspace)?,
            data_center: parsed.data_center.ok_or_else(|| {
                invalid("the data centre is missing: `nodetool status` shows it, write ?dc=NAME")
            })?,
            replication: parsed.replication.unwrap_or(DEFAULT_REPLICATION),
            user,
            password_file: parsed.password_file,
            certificate_authorities: parsed.certificate_authorities,
        })
    }
}

/// What follows the question mark; each parameter at most once
#[derive(Default)]
struct Parameters {
    data_center: Option<String>,
    replication: Option<NonZeroU8>,
    password_file: Option<PathBuf>,
    certificate_authorities: Option<PathBuf>,
}

impl Parameters {
    fn add(&mut self, name: &str, value: &str) -> Result<(), Error> {
        if value.is_empty() {
            return Err(invalid(format_args!("`{name}` has no value")));
        }
        let is_again = match name {
            "dc" => self.data_center.replace(parse_data_center(value)?).is_some(),
            "replication" => {
                let number = value.parse().map_err(|_| {
                    invalid(format_args!("`replication` is `{value}`, expected 1 to 255"))
                })?;
                self.replication.replace(number).is_some()
            }
            "password-file" => self.password_file.replace(value.into()).is_some(),
            "tls-ca" => self.certificate_authorities.replace(value.into()).is_some(),
            "password" => return Err(no_password_here()),
            _ => {
                return Err(invalid(format_args!(
                    "no parameter is called `{name}`; there are dc, replication, password-file and \
                     tls-ca"
                )));
            }
        };
        if is_again { Err(invalid(format_args!("`{name}` is there twice"))) } else { Ok(()) }
    }
}

fn parse_user(user: &str) -> Result<String, Error> {
    if user.contains(':') {
        return Err(no_password_here());
    }
    if user.is_empty() {
        return Err(invalid("the user before `@` is empty"));
    }
    Ok(user.to_owned())
}

/// Host and port; an IPv6 address is in brackets
fn parse_node(node: &str) -> Result<String, Error> {
    let (host, port) = match node.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (node, None),
    };
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    let is_host = |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
    if host.is_empty() || !(is_bracketed || host.chars().all(is_host)) {
        return Err(invalid(format_args!("`{node}` is not a host")));
    }
    let port = port.map_or(Ok(DEFAULT_PORT), str::parse);
    let port = port.map_err(|_| invalid(format_args!("the port of `{node}` is not a number")))?;
    Ok(format!("{host}:{port}"))
}

fn parse_keyspace(keyspace: &str) -> Result<String, Error> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts = keyspace.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    if starts && keyspace.len() <= MAX_KEYSPACE_LEN && keyspace.bytes().all(is_part) {
        return Ok(keyspace.to_owned());
    }
    Err(invalid(format_args!(
        "the keyspace `{keyspace}` is not a letter, then at most {} of a to z, 0 to 9 and _",
        MAX_KEYSPACE_LEN - 1
    )))
}

fn parse_data_center(name: &str) -> Result<String, Error> {
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        return Ok(name.to_owned());
    }
    Err(invalid(format_args!("the data centre `{name}` is not of letters, digits, -, _ and .")))
}

fn no_password_here() -> Error {
    invalid(format_args!(
        "a password in an address ends up in logs: put it into a file that `password-file` names, \
         or into {PASSWORD_VARIABLE}"
    ))
}

fn invalid(detail: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Value, detail).at("archive address")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, Error> {
        text.parse()
    }

    #[test]
    fn every_part_of_an_address_is_read() {
        let text = "cassandra://me@one,[::1],[::2]:1,10.0.0.1:2/k_1?dc=dc-1&replication=5\
                    &password-file=/p%2Bq/w&tls-ca=ca.pem";
        let address = parse(text).unwrap();
        assert_eq!(address.nodes, ["one:9042", "[::1]:9042", "[::2]:1", "10.0.0.1:2"]);
        assert_eq!((address.keyspace(), address.data_center()), ("k_1", "dc-1"));
        assert_eq!((address.replication().get(), address.user.as_deref()), (5, Some("me")));
        assert_eq!(address.password_file.as_deref(), Some(Path::new("/p+q/w")));
        assert_eq!(address.certificate_authorities(), Some(Path::new("ca.pem")));
        let least = parse("cassandra://one/k?dc=a").unwrap();
        assert_eq!((least.replication().get(), least.credentials().unwrap()), (3, None));
        assert_eq!(least.to_string(), "cassandra://one:9042/k?dc=a");
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said() {
        for (text, part) in [
            ("redb://one/k?dc=a", "expected cassandra://"),
            ("cassandra://one?dc=a", "expected cassandra://"),
            ("cassandra:///k?dc=a", "`` is not a host"),
            ("cassandra://one,/k?dc=a", "`` is not a host"),
            ("cassandra://one two/k?dc=a", "`one two` is not a host"),
            ("cassandra://one:x/k?dc=a", "the port of `one:x`"),
            ("cassandra://one/?dc=a", "the keyspace ``"),
            ("cassandra://one/Upper?dc=a", "the keyspace `Upper`"),
            ("cassandra://one/k;drop?dc=a", "the keyspace `k;drop`"),
            ("cassandra://one/k", "the data centre is missing"),
            ("cassandra://one/k?dc=a'b", "the data centre `a'b`"),
            ("cassandra://one/k?dc=a&dc=b", "`dc` is there twice"),
            ("cassandra://one/k?dc", "`dc` has no value"),
            ("cassandra://one/k?dc=a&replication=0", "`replication` is `0`"),
            ("cassandra://one/k?dc=a&color=red", "no parameter is called `color`"),
            ("cassandra://one/k?dc=a&password-file=p", "without a user"),
            ("cassandra://@one/k?dc=a", "the user before `@` is empty"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.detail().contains(part), "{text}: {error}");
            assert_eq!((error.kind(), error.path()), (ErrorKind::Value, "archive address"));
        }
    }

    #[test]
    fn an_address_holds_no_password() {
        for text in ["cassandra://me:secret@one/k?dc=a", "cassandra://one/k?dc=a&password=secret"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("password-file") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_password_is_the_content_of_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, "p w \r\n").unwrap();
        let path = file.path().display();
        let address = parse(&format!("cassandra://me@one/k?dc=a&password-file={path}")).unwrap();
        assert_eq!(address.credentials().unwrap(), Some(("me", "p w ".to_owned())));
        assert!(!format!("{address:?} {address}").contains("p w"));
        file.close().unwrap();
        let error = address.credentials().unwrap_err();
        assert!(error.detail().starts_with("password file /"), "{error}");
    }
}
