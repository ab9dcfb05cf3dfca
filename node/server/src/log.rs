//! Logging to standard error, and the output of commands on standard output.
//!
//! Requests and blocks are not logged one by one at the default level. A panic is logged with its
//! place, whatever catches it.

use core::any::Any;
use core::panic::Location;
use core::str::FromStr;
use core::sync::atomic::{AtomicBool, Ordering};
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal as _, Write as _};
use std::panic;

use tracing::error;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::with_default;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{fmt, registry};

/// What is written to standard error: levels by target, which is the path of a module
///
/// A level alone is that of our own crates, whose names all begin alike; without one they have the
/// default, so that a wrong path silences nothing. A library logs nothing unless a directive names
/// it. Some write a line for each connection of a client, and others repeat each second what the
/// feed or the archive logs once.
#[derive(Clone, Debug)]
pub(crate) struct LogFilter(Targets);

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut targets = Targets::new().with_target(OWN_CRATES, DEFAULT_LEVEL);
        let directives = text.split(',').map(str::trim).filter(|directive| !directive.is_empty());
        let mut directives = directives.peekable();
        if directives.peek().is_none() {
            return Err("there is neither a level nor the path of a module".to_owned());
        }
        for directive in directives {
            let (target, level) = match (directive.parse(), directive.split_once('=')) {
                (Ok(level), _) => (OWN_CRATES, level),
                (Err(_), None) => {
                    return Err(format!("`{directive}`: expected {LEVELS}, or MODULE=LEVEL"));
                }
                (Err(_), Some((target, level))) => {
                    let failed = |error| format!("`{directive}`: {error}");
                    (target, level.parse::<LevelFilter>().map_err(failed)?)
                }
            };
            let is_in_paths = |byte: u8| byte.is_ascii_alphanumeric() || b"_:-.".contains(&byte);
            if target.is_empty() || !target.bytes().all(is_in_paths) {
                return Err(format!("`{directive}`: expected a level, or the path of a module"));
            }
            targets = targets.with_target(target, level);
        }
        Ok(Self(targets))
    }
}

/// How lines on standard error are written
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One object a line
    Json,
}

/// The prefix of our own crates as targets of `tracing`
const OWN_CRATES: &str = "milepost";
/// Their level if no directive is a level alone
const DEFAULT_LEVEL: LevelFilter = LevelFilter::INFO;
/// The levels, for people
const LEVELS: &str = "error, warn, info, debug, trace, off";

/// Whether logs are JSON, in which spans are written
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Whether logs are JSON
pub(crate) fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Starts logging to standard error
pub(crate) fn init(filter: &LogFilter, format: LogFormat) {
    let filter = filter.0.clone();
    let lines = fmt::layer().with_writer(io::stderr);
    match format {
        LogFormat::Text => {
            let lines = lines.with_ansi(io::stderr().is_terminal()).with_target(false);
            registry().with(filter).with(lines).init();
        }
        LogFormat::Json => {
            IS_JSON.store(true, Ordering::Relaxed);
            let lines = lines.json().flatten_event(true).with_span_list(false);
            registry().with(filter).with(lines).init();
        }
    }
    panic::set_hook(Box::new(|panic| {
        error!("{}", describe_panic(panic.payload(), panic.location()));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            error!("backtrace of the panic:\n{backtrace}");
        }
    }));
}

/// Prints the error that a command ends with on standard error, whatever is logged
pub(crate) fn print_error(text: &str) {
    if is_json() {
        let all = fmt().with_writer(io::stderr).json().flatten_event(true);
        with_default(all.finish(), || error!("{text}"));
    } else {
        eprintln!("milepost: {text}");
    }
}

fn describe_panic(payload: &dyn Any, location: Option<&Location<'_>>) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    match location {
        Some(location) => format!("panic at {location}: {text}"),
        None => format!("panic: {text}"),
    }
}

/// Prints a line on standard output and flushes it
///
/// # Errors
///
/// It cannot be written, unless the reader has closed the pipe.
pub(crate) fn print_line(line: impl core::fmt::Display) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot print: {error}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use tracing::{Level, enabled};

    use super::*;

    #[test]
    fn a_library_is_logged_only_where_a_directive_names_it() {
        // A line of the server at `info`, of the feeds at `debug`, and of a library at `error`.
        for (directives, expected) in [
            ("info", [true, false, false]),
            ("trace", [true, true, false]),
            ("warn", [false, false, false]),
            ("warn,milepost_feeds=debug", [false, true, false]),
            ("info,h2=warn", [true, false, true]),
            ("milepost_feeds=debug", [true, true, false]),
            ("milepost_feedz=debug", [true, false, false]),
            ("h2=debug", [true, false, true]),
            ("off,h2=error", [false, false, true]),
            ("h2=error,off", [false, false, true]),
            (" info , h2=warn,", [true, false, true]),
            ("info,milepost_server::serve=off", [false, false, false]),
        ] {
            let LogFilter(filter) = directives.parse().unwrap();
            with_default(registry().with(filter), || {
                let is_logged = [
                    enabled!(target: "milepost_server::serve", Level::INFO),
                    enabled!(target: "milepost_feeds::node", Level::DEBUG),
                    enabled!(target: "h2::proto::streams", Level::ERROR),
                ];
                assert_eq!(is_logged, expected, "{directives}");
            });
        }
    }

    #[test]
    fn directives_that_would_have_no_effect_are_refused() {
        for (directives, expected) in [
            (
                "warning",
                "`warning`: expected error, warn, info, debug, trace, off, or MODULE=LEVEL",
            ),
            ("debg", "`debg`: expected error, warn"),
            ("info,verbose", "`verbose`: expected error, warn"),
            ("off,h2", "`h2`: expected error, warn"),
            ("info,h2=loud", "`h2=loud`: error parsing level filter"),
            ("info,h2=debug=info", "`h2=debug=info`: error parsing level filter"),
            ("info;h2=warn", "`info;h2=warn`: expected a level, or the path of a module"),
            (
                "warn,[request]=trace",
                "`[request]=trace`: expected a level, or the path of a module",
            ),
            ("=info", "`=info`: expected a level, or the path of a module"),
            (" ,", "there is neither a level nor the path of a module"),
        ] {
            let error = directives.parse::<LogFilter>().unwrap_err();
            assert!(error.starts_with(expected), "{directives}: {error}");
        }
    }

    #[test]
    fn a_panic_is_described_with_its_place() {
        let (here, line) = (Location::caller(), line!());
        let text = describe_panic(&"index 7".to_owned(), Some(here));
        let place = format!("panic at {}:{line}:", file!());
        assert!(text.starts_with(&place) && text.ends_with(": index 7"), "{text}");
        assert_eq!(describe_panic(&"index 7", None), "panic: index 7");
        assert_eq!(describe_panic(&7, None), "panic: no message");
    }
}
