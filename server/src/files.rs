//! Open files: how many the process may have, and how many of them connections may take.
//!
//! A connection is a file to the system, and most systems let a process open 1024 until it asks
//! for more. It may ask up to a limit that only an administrator moves; a service asks at its start.

/// Files that are not connections of clients: the store, block files, the listener, the runtime's
/// own, and some to spare (about 15 are open while a practice chain is served)
const RESERVED: usize = 100;
/// Connections that are allowed when nobody says how many, if there are files for more: each costs
/// some 20 KB while it waits, and so many of them 1.3 GB
const MOST_BY_DEFAULT: usize = 65_536;
/// The most files that are asked for; some systems name no limit and then refuse to go without one
#[cfg(unix)]
const MOST: u64 = 1_000_000 + RESERVED as u64;
/// What macOS grants at least, where it refuses [`MOST`] (its `OPEN_MAX`)
#[cfg(unix)]
const FEWER: u64 = 10_240;

/// Asks for as many open files as the process may have; gives the number it has now
#[cfg(unix)]
pub(crate) fn raise() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limits = getrlimit(Resource::Nofile);
    let Some(current) = limits.current else { return usize::MAX };
    for wanted in [MOST, FEWER] {
        let wanted = limits.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        let raised = Rlimit { current: Some(wanted), ..limits };
        if wanted > current && setrlimit(Resource::Nofile, raised).is_ok() {
            return usize::try_from(wanted).unwrap_or(usize::MAX);
        }
    }
    usize::try_from(current).unwrap_or(usize::MAX)
}

/// The number of open files that the process may have: sockets are no files here, so without end
#[cfg(not(unix))]
pub(crate) const fn raise() -> usize {
    usize::MAX
}

/// The connections that are allowed when nobody says how many: `files - 100`, at most 65536; half
/// of the files where that leaves less
pub(crate) fn connections(files: usize) -> usize {
    files.saturating_sub(RESERVED).max(files / 2).clamp(1, MOST_BY_DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_to_others() {
        let cases =
            [(1024, 924), (20_000, 19_900), (150, 75), (1, 1), (usize::MAX, MOST_BY_DEFAULT)];
        for (files, expected) in cases {
            assert_eq!(connections(files), expected, "{files}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn raising_once_is_enough() {
        let soft = || {
            let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
            limits.current.map_or(usize::MAX, |current| current as usize)
        };
        let before = soft();
        let files = raise();
        assert!(files >= before);
        assert_eq!(files, soft());
        assert_eq!(raise(), files);
    }
}
