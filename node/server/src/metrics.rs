//! Metrics of the server, in the text format of Prometheus.
//!
//! Counting is one atomic addition. Label values are closed sets: text of a client never becomes a
//! label, so clients cannot create time series.

pub(crate) mod process;

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::fmt::Write as _;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::time::UNIX_EPOCH;

use milepost::endpoint::{ChainStatus, EndReason};
use milepost::import::{BlockPosition, ImportSummary};
use milepost::proof::VerificationResult;
use milepost::rpc::{Request, ResponseKind};
use tokio::time::Instant;

/// The values of the label `method`; the last two are for all other methods and for batches
const METHODS: [&str; 6] =
    ["EXPERIMENTAL_tx_status", "tx_status", "tx", "EXPERIMENTAL_protocol_config", "other", "batch"];
const KINDS: [&str; 7] = [
    "result",
    "request_validation",
    "timeout",
    "skipped_block",
    "handler",
    "internal",
    "unavailable",
];
const REJECTION_STATUSES: [u16; 7] = [400, 404, 405, 408, 413, 415, 503];
const POSITIONS: [&str; 3] = ["head", "known", "fork"];
const VERIFICATION_RESULTS: [&str; 3] = ["verified", "unverifiable", "wrong"];

/// The method of a request, as a label
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct MethodLabel(usize);

impl MethodLabel {
    const BATCH: Self = Self(5);
    pub(crate) const OTHER: Self = Self(4);

    /// The name of a method; borrowed if it is a known one
    pub(crate) fn name_of(method: &str) -> Cow<'static, str> {
        match METHODS.get(Self::of(method).0) {
            Some(known) if *known == method => Cow::Borrowed(known),
            _ => Cow::Owned(method.to_owned()),
        }
    }

    /// The label of a request: that of the method in the URL, if there is one, and otherwise of the
    /// method in the body
    pub(crate) fn of_request(request: &Request, url_method: Option<&str>) -> Self {
        match url_method.or(request.method_name()) {
            _ if request.is_batch() => Self::BATCH,
            Some(name) => Self::of(name),
            None => Self::OTHER,
        }
    }

    /// The label of a method; all unknown methods share one
    pub(crate) fn of(method: &str) -> Self {
        METHODS[..Self::OTHER.0].iter().position(|name| *name == method).map_or(Self::OTHER, Self)
    }

    /// Whether this is a method with its own path
    pub(crate) fn is_known(self) -> bool {
        self.0 < Self::OTHER.0
    }
}

/// How a wait ended
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WaitEnd {
    Reached,
    Timeout,
    Disconnected,
    Shutdown,
}

impl WaitEnd {
    const NAMES: [&str; 4] = ["reached", "timeout", "disconnected", "shutdown"];

    /// The end of a wait by a response, whose evaluation had this reason to be the last
    pub(crate) const fn of(end_reason: Option<EndReason>) -> Self {
        match end_reason {
            Some(EndReason::Timeout) => Self::Timeout,
            Some(EndReason::Shutdown) => Self::Shutdown,
            // A request over the limit does not wait.
            _ => Self::Reached,
        }
    }
}

/// A step of taking a block in
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BlockStep {
    /// Fetching a block of the feed
    Fetch,
    /// Checking and reading the message of one block
    Read,
    /// A commit of one or several blocks
    Commit,
}

impl BlockStep {
    const NAMES: [&str; 3] = ["fetch", "read", "commit"];
}

/// All counters, gauges and histograms
#[derive(Default)]
pub(crate) struct Metrics {
    block_steps: [Histogram; BlockStep::NAMES.len()],
    commit_delays: Arc<Histogram>,
    requests: [[AtomicU64; KINDS.len()]; METHODS.len()],
    rejections: [AtomicU64; REJECTION_STATUSES.len()],
    pending: AtomicU64,
    waits: [AtomicU64; WaitEnd::NAMES.len()],
    blocks: [AtomicU64; POSITIONS.len()],
    checked: [AtomicU64; VERIFICATION_RESULTS.len()],
    reverted: AtomicU64,
    transactions: AtomicU64,
    outcomes: AtomicU64,
    type_mismatches: AtomicU64,
    response_bytes: AtomicU64,
    store_verified_bytes: AtomicU64,
    connections: AtomicU64,
    connections_refused: AtomicU64,
    durations: Histogram,
    /// Microseconds since 1970; 0 before the first commit
    last_commit: AtomicU64,
}

impl Metrics {
    /// Counts a response to a JSON-RPC request
    pub(crate) fn request_answered(
        &self,
        method: MethodLabel,
        kind: ResponseKind,
        bytes: usize,
        duration: Duration,
    ) {
        let kind = match kind {
            ResponseKind::Result => 0,
            ResponseKind::RequestValidation => 1,
            ResponseKind::Timeout => 2,
            ResponseKind::SkippedBlock => 3,
            ResponseKind::Internal => 5,
            ResponseKind::Unavailable => 6,
            _ => 4,
        };
        self.requests[method.0][kind].fetch_add(1, Relaxed);
        self.response_bytes.fetch_add(bytes as u64, Relaxed);
        self.durations.observe(duration);
    }

    /// Counts an HTTP request that was rejected before it reached the engine
    pub(crate) fn request_rejected(&self, status: u16) {
        if let Some(index) = REJECTION_STATUSES.iter().position(|known| *known == status) {
            self.rejections[index].fetch_add(1, Relaxed);
        }
    }

    /// Counts an imported block message
    pub(crate) fn block_imported(&self, summary: &ImportSummary) {
        let position = match summary.position {
            BlockPosition::Head => 0,
            BlockPosition::Known => 1,
            _ => 2,
        };
        self.blocks[position].fetch_add(1, Relaxed);
        self.reverted.fetch_add(summary.reverted.len() as u64, Relaxed);
        self.transactions.fetch_add(summary.transactions as u64, Relaxed);
        self.outcomes.fetch_add(summary.outcomes as u64, Relaxed);
    }

    /// Records how long a step of taking a block in took
    pub(crate) fn block_step(&self, step: BlockStep, duration: Duration) {
        self.block_steps[step as usize].observe(duration);
    }

    /// Counts a block that was checked against its hash
    pub(crate) fn block_checked(&self, result: &VerificationResult) {
        let index = match result {
            VerificationResult::Verified => 0,
            VerificationResult::Unverifiable(_) => 1,
            VerificationResult::Wrong(_) => 2,
        };
        self.checked[index].fetch_add(1, Relaxed);
    }

    /// Counts members of a block or a configuration that are not of their type
    pub(crate) fn mismatches_imported(&self, count: u64) {
        self.type_mismatches.fetch_add(count, Relaxed);
    }

    /// A commit at the current time
    pub(crate) fn commit(&self) -> Arc<Commit> {
        let delays = Arc::clone(&self.commit_delays);
        let micros = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros());
        self.last_commit.store(u64::try_from(micros).unwrap_or(u64::MAX), Relaxed);
        Arc::new(Commit { time: Instant::now(), last_response: AtomicU64::new(0), delays })
    }

    /// Counts bytes of rows that were read to verify the store
    pub(crate) fn store_verified(&self, bytes: u64) {
        self.store_verified_bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn wait_started(&self) {
        self.pending.fetch_add(1, Relaxed);
    }

    pub(crate) fn wait_ended(&self, end: WaitEnd) {
        self.pending.fetch_sub(1, Relaxed);
        self.waits[end as usize].fetch_add(1, Relaxed);
    }

    /// Number of pending requests
    pub(crate) fn pending_count(&self) -> u64 {
        self.pending.load(Relaxed)
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    /// A connection was closed at once, because its address has as many as it may have
    pub(crate) fn connection_refused(&self) {
        self.connections_refused.fetch_add(1, Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.fetch_sub(1, Relaxed);
    }

    /// All metrics in the text format of Prometheus, version 0.0.4
    pub(crate) fn text(&self, chain: &ChainStatus) -> String {
        let mut text = String::with_capacity(8 << 10);
        let out = &mut text;
        family(out, "requests_total", "counter", "JSON-RPC requests answered");
        for (method, kinds) in METHODS.iter().zip(&self.requests) {
            for (kind, count) in KINDS.iter().zip(kinds) {
                let labels = format!("{{method=\"{method}\",kind=\"{kind}\"}}");
                sample(out, "requests_total", &labels, count.load(Relaxed));
            }
        }
        let rejected = "requests_rejected_total";
        family(out, rejected, "counter", "HTTP requests rejected before they reached the engine");
        for (status, count) in REJECTION_STATUSES.iter().zip(&self.rejections) {
            sample(out, rejected, &format!("{{status=\"{status}\"}}"), count.load(Relaxed));
        }
        family(out, "requests_pending", "gauge", "Requests that wait for a milestone");
        sample(out, "requests_pending", "", self.pending_count());
        family(out, "waits_total", "counter", "Waits for a milestone that ended, by reason");
        for (end, count) in WaitEnd::NAMES.iter().zip(&self.waits) {
            sample(out, "waits_total", &format!("{{end=\"{end}\"}}"), count.load(Relaxed));
        }
        family(out, "connections_open", "gauge", "Open connections");
        sample(out, "connections_open", "", self.connections.load(Relaxed));
        let imported = "blocks_imported_total";
        family(out, imported, "counter", "Block messages imported, by position in the chain");
        for (position, count) in POSITIONS.iter().zip(&self.blocks) {
            sample(out, imported, &format!("{{position=\"{position}\"}}"), count.load(Relaxed));
        }
        let checked = "blocks_checked_total";
        family(out, checked, "counter", "Blocks checked against their hashes, by result");
        for (result, count) in VERIFICATION_RESULTS.iter().zip(&self.checked) {
            sample(out, checked, &format!("{{result=\"{result}\"}}"), count.load(Relaxed));
        }
        let counters = [
            (
                "connections_refused_total",
                "Connections closed at once, because their address has as many as it may have",
                &self.connections_refused,
            ),
            ("blocks_reverted_total", "Blocks that left the canonical chain", &self.reverted),
            ("transactions_imported_total", "Transactions imported", &self.transactions),
            ("outcomes_imported_total", "Execution outcomes imported", &self.outcomes),
            (
                "type_mismatches_total",
                "Members of another type than a node writes, in blocks and configurations, and transactions that a block lists again",
                &self.type_mismatches,
            ),
            ("response_bytes_total", "Bytes of JSON-RPC responses", &self.response_bytes),
            (
                "store_verified_bytes_total",
                "Bytes of rows that were read once more after the start, to find damage",
                &self.store_verified_bytes,
            ),
        ];
        for (name, help, count) in counters {
            family(out, name, "counter", help);
            sample(out, name, "", count.load(Relaxed));
        }
        let heights = [
            ("head_height", "Height of the newest block", chain.head),
            ("final_height", "Height of the newest final block", chain.last_final),
            ("earliest_height", "Height of the oldest block in the store", chain.earliest),
        ];
        let heights = heights.map(|(name, help, point)| (name, help, point.map(|it| it.height)));
        let complete_from = (
            "complete_from_height",
            "Height from which on every block is in the store",
            chain.complete_from,
        );
        for (name, help, height) in heights.into_iter().chain([complete_from]) {
            if let Some(height) = height {
                family(out, name, "gauge", help);
                sample(out, name, "", height);
            }
        }
        family(out, "blocks_stored", "gauge", "Canonical blocks in the store");
        sample(out, "blocks_stored", "", chain.blocks);
        let steps = "block_step_seconds";
        family(
            out,
            steps,
            "histogram",
            "Time to take blocks in: to fetch or read one, to commit some",
        );
        for (step, histogram) in BlockStep::NAMES.iter().zip(&self.block_steps) {
            histogram.samples(out, steps, &format!("step=\"{step}\""));
        }
        self.durations.text(
            out,
            "request_duration_seconds",
            "Time from a received request to its response, waits included",
        );
        family(
            out,
            "last_commit_timestamp_seconds",
            "gauge",
            "Unix time of the newest commit; 0 before the first",
        );
        let last_commit = Duration::from_micros(self.last_commit.load(Relaxed)).as_secs_f64();
        sample(out, "last_commit_timestamp_seconds", "", last_commit);
        self.commit_delays.text(
            out,
            "commit_to_last_response_seconds",
            "Time from a commit to the response of the last request that it ended",
        );
        text
    }
}

/// A commit that woke requests
///
/// Each woken request holds it until it is answered or waits again. When the last one drops it, the
/// time to the last response goes into the histogram.
pub(crate) struct Commit {
    time: Instant,
    /// Microseconds to the last response, plus one; 0 while there is none
    last_response: AtomicU64,
    delays: Arc<Histogram>,
}

impl Commit {
    /// Records that a request is answered because of this commit
    pub(crate) fn answered(&self) {
        let micros = u64::try_from(self.time.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last_response.fetch_max(micros.saturating_add(1), Relaxed);
    }
}

impl Drop for Commit {
    fn drop(&mut self) {
        if let Some(micros) = self.last_response.get_mut().checked_sub(1) {
            self.delays.observe(Duration::from_micros(micros));
        }
    }
}

/// Upper bounds of buckets in microseconds, and their text in seconds
type Bounds = &'static [(u64, &'static str)];

/// From one response out of memory to a wait of 10 s, in steps of about a factor of 3
const BOUNDS: Bounds = &[
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

/// A histogram of durations
pub(crate) struct Histogram {
    bounds: Bounds,
    buckets: Box<[AtomicU64]>,
    count: AtomicU64,
    micros: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new(BOUNDS)
    }
}

impl Histogram {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let buckets = bounds.iter().map(|_| AtomicU64::new(0)).collect();
        Self { bounds, buckets, count: AtomicU64::new(0), micros: AtomicU64::new(0) }
    }

    pub(crate) fn observe(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        if let Some(index) = self.bounds.iter().position(|(bound, _)| micros <= *bound) {
            self.buckets[index].fetch_add(1, Relaxed);
        }
        self.micros.fetch_add(micros, Relaxed);
        self.count.fetch_add(1, Relaxed);
    }

    fn text(&self, out: &mut String, name: &str, help: &str) {
        family(out, name, "histogram", help);
        self.samples(out, name, "");
    }

    /// Writes the samples, with this label if it is not empty
    pub(crate) fn samples(&self, out: &mut String, name: &str, label: &str) {
        let (comma, labels) = match label {
            "" => ("", String::new()),
            label => (",", format!("{{{label}}}")),
        };
        let bucket = |bound: &str| format!("{{{label}{comma}le=\"{bound}\"}}");
        let mut cumulative = 0;
        for ((_, bound), count) in self.bounds.iter().zip(&self.buckets) {
            cumulative += count.load(Relaxed);
            sample(out, &format!("{name}_bucket"), &bucket(bound), cumulative);
        }
        // An observation in between may be in a bucket and not in the count yet.
        let count = self.count.load(Relaxed).max(cumulative);
        sample(out, &format!("{name}_bucket"), &bucket("+Inf"), count);
        let seconds = Duration::from_micros(self.micros.load(Relaxed)).as_secs_f64();
        sample(out, &format!("{name}_sum"), &labels, seconds);
        sample(out, &format!("{name}_count"), &labels, count);
    }
}

pub(crate) fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP milepost_{name} {help}\n# TYPE milepost_{name} {kind}");
}

pub(crate) fn sample(out: &mut String, name: &str, labels: &str, value: impl core::fmt::Display) {
    let _ = writeln!(out, "milepost_{name}{labels} {value}");
}

#[cfg(test)]
mod tests {
    use milepost::rpc::Limits;

    use super::*;

    #[test]
    fn a_commit_is_observed_once_with_its_last_response() {
        let metrics = Metrics::default();
        let count = || metrics.commit_delays.count.load(Relaxed);
        let commit = metrics.commit();
        let holders = [Arc::clone(&commit), Arc::clone(&commit)];
        drop(commit);
        for holder in holders {
            assert_eq!(count(), 0);
            holder.answered();
        }
        assert_eq!(count(), 1);
        // A commit that answered no request has no delay.
        drop(metrics.commit());
        assert_eq!(count(), 1);
    }

    #[test]
    fn buckets_are_cumulative_and_end_with_the_count() {
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
    fn a_request_has_the_label_of_its_url_or_of_its_body() {
        let label = |body: &str, url_method| {
            let request = milepost::rpc::parse(body.as_bytes(), url_method, &Limits::default());
            MethodLabel::of_request(&request, url_method)
        };
        let (tx, body) = (MethodLabel::of("tx"), r#"{"method":"tx","params":7}"#);
        assert_eq!(label(body, None), tx);
        assert_eq!(label(r#"{"method":"tx_status"}"#, Some("tx")), tx);
        assert_eq!(label(body, Some("block")), MethodLabel::OTHER);
        assert_eq!(label("{}", None), MethodLabel::OTHER);
        assert_eq!(label(&format!("[{body}]"), Some("tx")), MethodLabel::BATCH);
        assert_eq!(label("[", None), MethodLabel::BATCH);
    }

    #[test]
    fn unknown_methods_share_a_label() {
        assert!(MethodLabel::of("tx").is_known());
        assert_eq!(MethodLabel::of("evil\"} 1"), MethodLabel::OTHER);
        assert_ne!(MethodLabel::OTHER, MethodLabel::BATCH);
    }
}
