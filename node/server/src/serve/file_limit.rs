//! The limit of open files, and the number of connections that follows from it.
//!
//! A connection takes a file descriptor, and most systems set the soft limit of a process to 1024.
//! A process may raise it up to the hard limit, which only an administrator changes; the server
//! raises it when it starts.

/// Descriptors that are not connections of clients: the store, block files, the listener and the
/// runtime, with a margin (about 15 are open while a practice chain is served)
const RESERVED: usize = 100;
/// Default maximum number of connections where the limit of open files allows more: each takes some
/// 20 KB while it waits, all together 1.3 GB
const MAX_DEFAULT_CONNECTIONS: usize = 65_536;
/// The soft limit that is requested first; some systems report no hard limit and still reject an
/// unlimited soft limit
#[cfg(unix)]
const MAX_FILES: u64 = 1_000_000 + RESERVED as u64;
/// The soft limit that macOS grants (its `OPEN_MAX`) where it rejects [`MAX_FILES`]
#[cfg(unix)]
const FALLBACK_FILES: u64 = 10_240;

/// Raises the soft limit of open files as far as allowed; returns the limit
#[cfg(unix)]
pub(crate) fn raise() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limits = getrlimit(Resource::Nofile);
    let Some(current) = limits.current else { return usize::MAX };
    for wanted in [MAX_FILES, FALLBACK_FILES] {
        let wanted = limits.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        let raised = Rlimit { current: Some(wanted), ..limits };
        if wanted > current && setrlimit(Resource::Nofile, raised).is_ok() {
            return usize::try_from(wanted).unwrap_or(usize::MAX);
        }
    }
    usize::try_from(current).unwrap_or(usize::MAX)
}

/// The limit of open files: none, as sockets are not files here
#[cfg(not(unix))]
pub(crate) const fn raise() -> usize {
    usize::MAX
}

/// The default maximum number of connections for a limit of open files: `files - 100`, at least
/// `files / 2`, at most 65536
pub(crate) fn default_max_connections(files: usize) -> usize {
    files.saturating_sub(RESERVED).max(files / 2).clamp(1, MAX_DEFAULT_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_other_files() {
        let cases = [
            (1024, 924),
            (20_000, 19_900),
            (150, 75),
            (1, 1),
            (usize::MAX, MAX_DEFAULT_CONNECTIONS),
        ];
        for (files, expected) in cases {
            assert_eq!(default_max_connections(files), expected, "{files}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_second_raise_changes_nothing() {
        let soft_limit = || {
            let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
            limits.current.map_or(usize::MAX, |current| current as usize)
        };
        let before = soft_limit();
        let files = raise();
        assert!(files >= before);
        assert_eq!(files, soft_limit());
        assert_eq!(raise(), files);
    }
}
