//! The path below which the server answers, for proxies that pass on a part of their paths.
//!
//! Also removes the trailing slash of a path, which many clients and proxies add.

use core::fmt;
use core::str::FromStr;

/// The start of paths that end in a list, which may be empty
const BLOCKS: &str = "/blocks";

/// A path such as `/near`, without a trailing slash; empty if everything is served from `/`
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct BasePath(String);

impl BasePath {
    /// The rest of a path, without a trailing slash; `None` if the path is not below this one
    ///
    /// The rest is `/` for the path that is served, and empty if that lacks its slash: relative
    /// links lead elsewhere from there.
    pub(super) fn strip<'path>(&self, path: &'path str) -> Option<&'path str> {
        let rest = path.strip_prefix(self.0.as_str())?;
        if !rest.starts_with('/') && !rest.is_empty() {
            return None;
        }
        let is_name = |rest: &&str| !rest.is_empty() && !rest.ends_with('/') && *rest != BLOCKS;
        Some(rest.strip_suffix('/').filter(is_name).unwrap_or(rest))
    }
}

impl FromStr for BasePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.strip_suffix('/').unwrap_or(text);
        let is_segment = |segment: &str| {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            // Clients resolve `.` and `..` before they send a path.
            !matches!(segment, "" | "." | "..") && segment.bytes().all(is_name)
        };
        let mut segments = path.split('/');
        let is_absolute = segments.next() == Some("") && text.starts_with('/');
        if is_absolute && segments.all(is_segment) {
            return Ok(Self(path.to_owned()));
        }
        Err(format!(
            "`{text}` is not a path such as /near: letters, digits, `-`, `.`, `_` and `~` between \
             slashes"
        ))
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::BasePath;

    #[test]
    fn paths_below_the_base_path_are_served() {
        for (base, path, rest) in [
            ("/", "/", Some("/")),
            ("/", "/tx/", Some("/tx")),
            ("/", "//", Some("//")),
            ("/", "/tx//", Some("/tx//")),
            ("/", "/blocks/", Some("/blocks/")),
            ("/", "/blocks/x/", Some("/blocks/x")),
            ("/", "*", None),
            ("/near/rpc/", "/near/rpc", Some("")),
            ("/near/rpc/", "/near/rpc/", Some("/")),
            ("/near/rpc/", "/near/rpc/tx", Some("/tx")),
            ("/near/rpc/", "/near/rpc/tx/", Some("/tx")),
            ("/near/rpc/", "/near/rpcs", None),
            ("/near/rpc/", "/near", None),
            ("/near/rpc/", "/", None),
        ] {
            assert_eq!(base.parse::<BasePath>().unwrap().strip(path), rest, "{base} {path}");
        }
    }

    #[test]
    fn a_base_path_has_plain_segments() {
        for invalid in ["", "near", "//", "/a//b", "/a?b", "/a/../b", "/%41", "/ü", "http://x/y"] {
            assert!(invalid.parse::<BasePath>().is_err(), "{invalid}");
        }
    }
}
