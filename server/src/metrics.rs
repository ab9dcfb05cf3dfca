//! Counters of the service, and their text for Prometheus.
//!
//! Counting is one atomic addition, so it can stand in every path. Labels are closed sets: what a
//! client writes never becomes a label, or one client could fill the memory of the monitoring.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::fmt::Write as _;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use milepost::engine::ChainStatus;
use milepost::ingest::{Ingested, Place};
use milepost::rpc::AnswerClass;
use tokio::time::Instant;

/// The labels of methods; the last two stand for everything else and for batches
const METHODS: [&str; 6] =
    ["EXPERIMENTAL_tx_status", "tx_status", "tx", "EXPERIMENTAL_protocol_config", "other", "batch"];
const CLASSES: [&str; 7] = [
    "result",
    "request_validation",
    "timeout",
    "skipped_block",
    "handler",
    "internal",
    "unavailable",
];
const REFUSALS: [u16; 6] = [400, 404, 405, 408, 413, 415];
const PLACES: [&str; 3] = ["head", "known", "aside"];

/// The method of a request, as a label
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct MethodLabel(usize);

impl MethodLabel {
    pub(crate) const BATCH: Self = Self(5);
    const OTHER: Self = Self(4);

    /// The name of a method, which is kept only where it is unknown
    pub(crate) fn name_of(method: &str) -> Cow<'static, str> {
        match METHODS.get(Self::of(method).0) {
            Some(known) if *known == method => Cow::Borrowed(known),
            _ => Cow::Owned(method.to_owned()),
        }
    }

    /// The label of a method; all unknown ones share one
    pub(crate) fn of(method: &str) -> Self {
        METHODS[..Self::OTHER.0].iter().position(|name| *name == method).map_or(Self::OTHER, Self)
    }

    /// Whether this is a method that has an address of its own
    pub(crate) fn is_known(self) -> bool {
        self.0 < Self::OTHER.0
    }
}

/// How a wait ended
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WaitEnd {
    Reached,
    Timeout,
    Gone,
    Stopped,
}

impl WaitEnd {
    const NAMES: [&str; 4] = ["reached", "timeout", "gone", "stopped"];
}

/// The counters
#[derive(Default)]
pub(crate) struct Metrics {
    commit_delays: Arc<Histogram>,
    requests: [[AtomicU64; CLASSES.len()]; METHODS.len()],
    refusals: [AtomicU64; REFUSALS.len()],
    waits_open: AtomicU64,
    waits: [AtomicU64; WaitEnd::NAMES.len()],
    blocks: [AtomicU64; PLACES.len()],
    undone: AtomicU64,
    transactions: AtomicU64,
    outcomes: AtomicU64,
    answer_bytes: AtomicU64,
    connections: AtomicU64,
    durations: Histogram,
}

impl Metrics {
    /// Counts an answer to a JSON-RPC request
    pub(crate) fn answered(
        &self,
        method: MethodLabel,
        class: AnswerClass,
        bytes: usize,
        took: Duration,
    ) {
        let class = match class {
            AnswerClass::Result => 0,
            AnswerClass::RequestValidation => 1,
            AnswerClass::Timeout => 2,
            AnswerClass::SkippedBlock => 3,
            AnswerClass::Internal => 5,
            AnswerClass::Unavailable => 6,
            _ => 4,
        };
        self.requests[method.0][class].fetch_add(1, Relaxed);
        self.answer_bytes.fetch_add(bytes as u64, Relaxed);
        self.durations.observe(took);
    }

    /// Counts a request that was refused before the engine saw it
    pub(crate) fn refused(&self, status: u16) {
        if let Some(at) = REFUSALS.iter().position(|refusal| *refusal == status) {
            self.refusals[at].fetch_add(1, Relaxed);
        }
    }

    /// Counts a block message
    pub(crate) fn block(&self, ingested: &Ingested) {
        let place = match ingested.place {
            Place::Head => 0,
            Place::Known => 1,
            _ => 2,
        };
        self.blocks[place].fetch_add(1, Relaxed);
        self.undone.fetch_add(ingested.undone.len() as u64, Relaxed);
        self.transactions.fetch_add(ingested.transactions as u64, Relaxed);
        self.outcomes.fetch_add(ingested.outcomes as u64, Relaxed);
    }

    /// A commit, as of now
    pub(crate) fn commit(&self) -> Arc<Commit> {
        let delays = Arc::clone(&self.commit_delays);
        Arc::new(Commit { at: Instant::now(), last_answer: AtomicU64::new(0), delays })
    }

    pub(crate) fn wait_began(&self) {
        self.waits_open.fetch_add(1, Relaxed);
    }

    pub(crate) fn wait_ended(&self, end: WaitEnd) {
        self.waits_open.fetch_sub(1, Relaxed);
        self.waits[end as usize].fetch_add(1, Relaxed);
    }

    /// Number of requests that wait now
    pub(crate) fn waiting(&self) -> u64 {
        self.waits_open.load(Relaxed)
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.fetch_sub(1, Relaxed);
    }

    /// All of it in the text format of Prometheus, version 0.0.4
    pub(crate) fn text(&self, chain: &ChainStatus) -> String {
        let mut text = String::with_capacity(8 << 10);
        let out = &mut text;
        family(out, "requests_total", "counter", "JSON-RPC requests answered");
        for (method, classes) in METHODS.iter().zip(&self.requests) {
            for (class, count) in CLASSES.iter().zip(classes) {
                let labels = format!("{{method=\"{method}\",class=\"{class}\"}}");
                sample(out, "requests_total", &labels, count.load(Relaxed));
            }
        }
        family(out, "refusals_total", "counter", "HTTP requests refused before the engine");
        for (status, count) in REFUSALS.iter().zip(&self.refusals) {
            sample(out, "refusals_total", &format!("{{status=\"{status}\"}}"), count.load(Relaxed));
        }
        family(out, "waits_open", "gauge", "Requests that wait for a milestone");
        sample(out, "waits_open", "", self.waiting());
        family(out, "waits_total", "counter", "Waits that ended, by how");
        for (end, count) in WaitEnd::NAMES.iter().zip(&self.waits) {
            sample(out, "waits_total", &format!("{{end=\"{end}\"}}"), count.load(Relaxed));
        }
        family(out, "connections_open", "gauge", "Connections that are open");
        sample(out, "connections_open", "", self.connections.load(Relaxed));
        family(out, "blocks_ingested_total", "counter", "Block messages taken in, by place");
        for (place, count) in PLACES.iter().zip(&self.blocks) {
            let labels = format!("{{place=\"{place}\"}}");
            sample(out, "blocks_ingested_total", &labels, count.load(Relaxed));
        }
        let counters = [
            ("blocks_undone_total", "Blocks that left the canonical chain", &self.undone),
            ("transactions_ingested_total", "Transactions taken in", &self.transactions),
            ("outcomes_ingested_total", "Execution outcomes taken in", &self.outcomes),
            ("answer_bytes_total", "Bytes of JSON-RPC answers", &self.answer_bytes),
        ];
        for (name, help, count) in counters {
            family(out, name, "counter", help);
            sample(out, name, "", count.load(Relaxed));
        }
        let heights = [
            ("head_height", "Height of the newest block", chain.head),
            ("final_height", "Height of the newest final block", chain.last_final),
            ("earliest_height", "Height of the oldest block kept", chain.earliest),
        ];
        for (name, help, point) in heights {
            if let Some(point) = point {
                family(out, name, "gauge", help);
                sample(out, name, "", point.height);
            }
        }
        family(out, "blocks_kept", "gauge", "Canonical blocks kept");
        sample(out, "blocks_kept", "", chain.blocks);
        self.durations.text(
            out,
            "request_duration_seconds",
            "Time from a whole request to its answer, waits included",
        );
        self.commit_delays.text(
            out,
            "commit_to_last_answer_seconds",
            "Time from a commit to the answer of the last request that it ended",
        );
        text
    }
}

/// A commit that woke requests
///
/// Each of them holds it until it is answered or sleeps again, so it is over when the last one lets it
/// go: then the time to its last answer goes into the histogram.
pub(crate) struct Commit {
    at: Instant,
    /// Microseconds to the last answer, and one more; 0 while there was none
    last_answer: AtomicU64,
    delays: Arc<Histogram>,
}

impl Commit {
    /// Notes that a request is answered because of this commit
    pub(crate) fn answered(&self) {
        let micros = u64::try_from(self.at.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last_answer.fetch_max(micros.saturating_add(1), Relaxed);
    }
}

impl Drop for Commit {
    fn drop(&mut self) {
        if let Some(micros) = self.last_answer.get_mut().checked_sub(1) {
            self.delays.observe(Duration::from_micros(micros));
        }
    }
}

/// Upper bounds of the buckets in microseconds, and their text in seconds: from one answer out of
/// memory to a wait of 10 s, in steps of about a factor of 3
const BOUNDS: [(u64, &str); 12] = [
    (30, "0.00003"),
    (100, "0.0001"),
    (300, "0.0003"),
    (1_000, "0.001"),
    (3_000, "0.003"),
    (10_000, "0.01"),
    (30_000, "0.03"),
    (100_000, "0.1"),
    (300_000, "0.3"),
    (1_000_000, "1"),
    (3_000_000, "3"),
    (10_100_000, "10.1"),
];

/// How many spans of time fell into which bucket
#[derive(Default)]
struct Histogram {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    micros: AtomicU64,
}

impl Histogram {
    fn observe(&self, span: Duration) {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        if let Some(at) = BOUNDS.iter().position(|(bound, _)| micros <= *bound) {
            self.buckets[at].fetch_add(1, Relaxed);
        }
        self.micros.fetch_add(micros, Relaxed);
        self.count.fetch_add(1, Relaxed);
    }

    fn text(&self, out: &mut String, name: &str, help: &str) {
        family(out, name, "histogram", help);
        let mut below = 0;
        for ((_, bound), bucket) in BOUNDS.iter().zip(&self.buckets) {
            below += bucket.load(Relaxed);
            sample(out, &format!("{name}_bucket"), &format!("{{le=\"{bound}\"}}"), below);
        }
        // Read after the buckets, and counted after them: never below their sum.
        let count = self.count.load(Relaxed).max(below);
        sample(out, &format!("{name}_bucket"), "{le=\"+Inf\"}", count);
        let seconds = Duration::from_micros(self.micros.load(Relaxed)).as_secs_f64();
        sample(out, &format!("{name}_sum"), "", seconds);
        sample(out, &format!("{name}_count"), "", count);
    }
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP milepost_{name} {help}\n# TYPE milepost_{name} {kind}");
}

fn sample(out: &mut String, name: &str, labels: &str, value: impl core::fmt::Display) {
    let _ = writeln!(out, "milepost_{name}{labels} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_counts_once_with_its_last_answer() {
        let metrics = Metrics::default();
        let count = || metrics.commit_delays.count.load(Relaxed);
        let commit = metrics.commit();
        let woken = [Arc::clone(&commit), Arc::clone(&commit)];
        drop(commit);
        for one in woken {
            assert_eq!(count(), 0);
            one.answered();
        }
        assert_eq!(count(), 1);
        // One that woke nobody to an answer has no delay.
        drop(metrics.commit());
        assert_eq!(count(), 1);
    }

    #[test]
    fn buckets_are_cumulative_and_end_in_the_count() {
        let histogram = Histogram::default();
        for micros in [1, 30, 31, 5_000, 60_000_000] {
            histogram.observe(Duration::from_micros(micros));
        }
        let mut text = String::new();
        histogram.text(&mut text, "x", "a test");
        assert!(text.contains("milepost_x_bucket{le=\"0.00003\"} 2\n"), "{text}");
        assert!(text.contains("milepost_x_bucket{le=\"10.1\"} 4\n"), "{text}");
        assert!(text.contains("milepost_x_bucket{le=\"+Inf\"} 5\n"), "{text}");
        assert!(text.contains("milepost_x_count 5\n"), "{text}");
    }

    #[test]
    fn unknown_methods_share_a_label() {
        assert!(MethodLabel::of("tx").is_known());
        assert_eq!(MethodLabel::of("evil\"} 1"), MethodLabel::OTHER);
        assert_ne!(MethodLabel::OTHER, MethodLabel::BATCH);
    }
}
