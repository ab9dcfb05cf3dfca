//! Metrics of the server, by the client library of Prometheus.
//!
//! Label values are closed sets: text of a client never becomes a label, so clients cannot create
//! time series. A registry is made for each scrape, of metrics that count since the start and of
//! values that are read for it.

pub(crate) mod process;

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::fmt::{self, Debug};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::time::UNIX_EPOCH;

use milepost::endpoint::{ChainStatus, EndReason};
use milepost::import::{BlockPosition, ImportSummary};
use milepost::proof::VerificationResult;
use milepost::rpc::{Request, ResponseKind};
use prometheus_client::encoding::{
    EncodeGaugeValue, EncodeLabelSet, EncodeMetric, MetricEncoder, prometheus_text,
};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Metric, Registry};
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
    block_steps: [Durations; BlockStep::NAMES.len()],
    commit_delays: Durations,
    requests: [[Counter; KINDS.len()]; METHODS.len()],
    rejections: [Counter; REJECTION_STATUSES.len()],
    pub(crate) pending: Gauge<u64, AtomicU64>,
    waits: [Counter; WaitEnd::NAMES.len()],
    blocks: [Counter; POSITIONS.len()],
    checked: [Counter; VERIFICATION_RESULTS.len()],
    reverted: Counter,
    transactions: Counter,
    outcomes: Counter,
    /// Members of a block or a configuration that are not of their type
    pub(crate) type_mismatches: Counter,
    response_bytes: Counter,
    /// Bytes of rows that were read to verify the store
    pub(crate) store_verified_bytes: Counter,
    pub(crate) connections: Gauge<u64, AtomicU64>,
    durations: Durations,
    last_commit: Gauge<f64, AtomicU64>,
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
        self.requests[method.0][kind].inc();
        self.response_bytes.inc_by(bytes as u64);
        self.durations.observe(duration);
    }

    /// Counts an HTTP request that was rejected before it reached the engine
    pub(crate) fn request_rejected(&self, status: u16) {
        if let Some(index) = REJECTION_STATUSES.iter().position(|known| *known == status) {
            self.rejections[index].inc();
        }
    }

    /// Counts an imported block message
    pub(crate) fn block_imported(&self, summary: &ImportSummary) {
        let position = match summary.position {
            BlockPosition::Head => 0,
            BlockPosition::Known => 1,
            _ => 2,
        };
        self.blocks[position].inc();
        self.reverted.inc_by(summary.reverted.len() as u64);
        self.transactions.inc_by(summary.transactions as u64);
        self.outcomes.inc_by(summary.outcomes as u64);
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
        self.checked[index].inc();
    }

    /// A commit at the current time
    pub(crate) fn commit(&self) -> Arc<Commit> {
        let delays = self.commit_delays.clone();
        self.last_commit.set(UNIX_EPOCH.elapsed().unwrap_or_default().as_secs_f64());
        Arc::new(Commit { time: Instant::now(), last_response: AtomicU64::new(0), delays })
    }

    pub(crate) fn wait_ended(&self, end: WaitEnd) {
        self.pending.dec();
        self.waits[end as usize].inc();
    }

    /// Registers all of them, and those of the chain
    pub(crate) fn register(&self, registry: &mut Registry, chain: &ChainStatus) {
        let requests = METHODS.iter().zip(&self.requests).flat_map(|(method, kinds)| {
            let kinds = KINDS.iter().zip(kinds);
            kinds.map(|(kind, count)| ([("method", *method), ("kind", *kind)], count.clone()))
        });
        family(registry, "requests", "JSON-RPC requests answered", requests);
        let help = "HTTP requests rejected before they reached the engine";
        let rejections = labelled("status", REJECTION_STATUSES, &self.rejections);
        family(registry, "requests_rejected", help, rejections);
        let help = "Requests that wait for a milestone";
        registry.register("requests_pending", help, self.pending.clone());
        let help = "Waits for a milestone that ended, by reason";
        family(registry, "waits", help, labelled("end", WaitEnd::NAMES, &self.waits));
        registry.register("connections_open", "Open connections", self.connections.clone());
        let help = "Block messages imported, by position in the chain";
        let blocks = labelled("position", POSITIONS, &self.blocks);
        family(registry, "blocks_imported", help, blocks);
        let help = "Blocks checked against their hashes, by result";
        let checked = labelled("result", VERIFICATION_RESULTS, &self.checked);
        family(registry, "blocks_checked", help, checked);
        let help = "Blocks that left the canonical chain";
        registry.register("blocks_reverted", help, self.reverted.clone());
        let help = "Transactions imported";
        registry.register("transactions_imported", help, self.transactions.clone());
        let help = "Execution outcomes imported";
        registry.register("outcomes_imported", help, self.outcomes.clone());
        let help = "Members of another type than a node writes, in blocks and configurations, and \
                    transactions that a block lists again";
        registry.register("type_mismatches", help, self.type_mismatches.clone());
        let help = "Bytes of JSON-RPC responses";
        registry.register("response_bytes", help, self.response_bytes.clone());
        let help = "Bytes of rows that were read once more after the start, to find damage";
        registry.register("store_verified_bytes", help, self.store_verified_bytes.clone());
        let [head, last_final, earliest] =
            [chain.head, chain.last_final, chain.earliest].map(|point| point.map(|it| it.height));
        gauge(registry, "head_height", "Height of the newest block", head);
        gauge(registry, "final_height", "Height of the newest final block", last_final);
        gauge(registry, "earliest_height", "Height of the oldest block in the store", earliest);
        let help = "Height from which on every block is in the store";
        gauge(registry, "complete_from_height", help, chain.complete_from);
        gauge(registry, "blocks_stored", "Canonical blocks in the store", Some(chain.blocks));
        let help = "Time to take blocks in: to fetch or read one, to commit some";
        let steps = labelled("step", BlockStep::NAMES, &self.block_steps);
        let steps = steps.map(|(step, durations)| (step, durations.0));
        family(registry, "block_step_seconds", help, steps);
        let help = "Time from a received request to its response, waits included";
        registry.register("request_duration_seconds", help, self.durations.0.clone());
        let help = "Unix time of the newest commit; 0 before the first";
        registry.register("last_commit_timestamp_seconds", help, self.last_commit.clone());
        let help = "Time from a commit to the response of the last request that it ended";
        registry.register("commit_to_last_response_seconds", help, self.commit_delays.0.clone());
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
    delays: Durations,
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

/// A histogram from one response out of memory to a wait of 10 s, in steps of about a factor of 3
#[derive(Clone)]
struct Durations(Histogram);

impl Default for Durations {
    fn default() -> Self {
        let bounds = [3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.1];
        Self(Histogram::new(bounds))
    }
}

impl Durations {
    fn observe(&self, duration: Duration) {
        self.0.observe(duration.as_secs_f64());
    }
}

/// A metric for each of some labels, in their order
///
/// The library's own family keeps no order, locks a map for each count, and creates a time series
/// for each label that it is asked for.
#[derive(Debug)]
pub(crate) struct Family<L, M>(Vec<(L, M)>);

impl<L: EncodeLabelSet, M: EncodeMetric + TypedMetric> EncodeMetric for Family<L, M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let mut metrics = self.0.iter();
        metrics.try_for_each(|(labels, metric)| metric.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}

/// Registers a metric for each of these labels
pub(crate) fn family<L, M>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    metrics: impl IntoIterator<Item = (L, M)>,
) where
    Family<L, M>: Metric,
{
    registry.register(name, help, Family(metrics.into_iter().collect()));
}

/// Each metric with its value of a label
pub(crate) fn labelled<V, M: Clone, const N: usize>(
    label: &'static str,
    values: [V; N],
    metrics: &[M; N],
) -> impl Iterator<Item = ([(&'static str, V); 1], M)> {
    values.into_iter().zip(metrics).map(move |(value, metric)| ([(label, value)], metric.clone()))
}

/// Registers a gauge, if it has a value
pub(crate) fn gauge<N>(registry: &mut Registry, name: &str, help: &str, value: Option<N>)
where
    N: EncodeGaugeValue + Debug + Send + Sync + 'static,
{
    if let Some(value) = value {
        registry.register(name, help, ConstGauge::new(value));
    }
}

/// The text format of Prometheus, version 0.0.4
pub(crate) fn text(registry: &Registry) -> String {
    let mut text = String::with_capacity(16 << 10);
    // Writing to a string cannot fail.
    let _ = prometheus_text::encode(&mut text, registry);
    text
}

/// The text of these metrics alone
#[cfg(test)]
pub(crate) fn text_of(register: impl FnOnce(&mut Registry)) -> String {
    let mut registry = Registry::with_prefix("milepost");
    register(&mut registry);
    text(&registry)
}

#[cfg(test)]
mod tests {
    use milepost::rpc::Limits;

    use super::*;

    fn text(metrics: &Metrics) -> String {
        text_of(|registry| metrics.register(registry, &ChainStatus::default()))
    }

    #[test]
    fn a_commit_is_observed_once_with_its_last_response() {
        let metrics = Metrics::default();
        let is_count = |count: u64| {
            text(&metrics).contains(&format!("commit_to_last_response_seconds_count {count}\n"))
        };
        let commit = metrics.commit();
        let holders = [Arc::clone(&commit), Arc::clone(&commit)];
        drop(commit);
        for holder in holders {
            assert!(is_count(0));
            holder.answered();
        }
        assert!(is_count(1));
        // A commit that answered no request has no delay.
        drop(metrics.commit());
        assert!(is_count(1));
    }

    #[test]
    fn buckets_are_cumulative_and_end_with_the_count() {
        let metrics = Metrics::default();
        for micros in [1, 30, 31, 5_000, 60_000_000] {
            metrics.durations.observe(Duration::from_micros(micros));
        }
        let text = text(&metrics);
        for sample in ["bucket{le=\"3e-05\"} 2", "bucket{le=\"10.1\"} 4", "bucket{le=\"+Inf\"} 5"] {
            assert!(text.contains(&format!("request_duration_seconds_{sample}\n")), "{text}");
        }
        assert!(text.contains("request_duration_seconds_count 5\n"), "{text}");
    }

    #[test]
    fn every_label_is_there_from_the_start_in_its_order() {
        let text = text(&Metrics::default());
        let mut samples = text.lines().filter(|line| line.starts_with("milepost_requests_total"));
        for method in METHODS {
            for kind in KINDS {
                let sample =
                    format!("milepost_requests_total{{method=\"{method}\",kind=\"{kind}\"}} 0");
                assert_eq!(samples.next(), Some(sample.as_str()));
            }
        }
        assert_eq!(samples.next(), None);
        let ends =
            WaitEnd::NAMES.map(|end| format!("milepost_waits_total{{end=\"{end}\"}} 0\n")).concat();
        assert!(text.contains(&ends), "{text}");
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
