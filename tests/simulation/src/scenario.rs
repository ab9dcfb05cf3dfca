//! The settings of a seed, drawn once before the run.
//!
//! Most probabilities are drawn per seed and not per event, so that every event is common in some
//! seeds and absent in others. Another order of the draws gives every seed another run.

use std::rc::Rc;
use std::sync::OnceLock;

use ed25519_dalek::{Signer as _, SigningKey};
use milepost::codec::base64;
use milepost::import::{FinalityRule, ImportSettings, Retention};
use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

use crate::block::{Signed, Transaction};
use crate::chain::{Chain, ChainSettings};
use crate::client::EndpointSettings;
use crate::content::{ContentGenerator, ContentSettings};
use crate::hashes::Hashes;

/// Who evaluates requests
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Host {
    /// The host at once, over a storage at hand
    OneThread,
    /// The host outside of the endpoint, and other events may happen meanwhile
    Threads,
    /// The endpoint, with rows that the host supplies, and other events may happen meanwhile
    RemoteRows,
}

/// The probabilities of events
#[derive(Debug)]
pub(crate) struct RunSettings {
    /// The number of blocks
    pub(crate) blocks: usize,
    /// Thousandths of events that send a request
    pub(crate) requests: u64,
    /// Thousandths of events that advance the time
    pub(crate) time: u64,
    /// Thousandths of events that cancel a request
    pub(crate) cancels: u64,
    /// Thousandths of events after which responses are not polled
    pub(crate) unpolled: u64,
    /// Thousandths of blocks whose chain update is handled later than their commit
    pub(crate) late_updates: u64,
    /// How requests are evaluated
    pub(crate) host: Host,
    /// The rows that the host supplies come from no snapshot
    pub(crate) read_committed: bool,
    /// Thousandths of evaluations whose result or rows are handed in after other events
    pub(crate) deferred: u64,
    /// Thousandths of events that reopen the storage
    pub(crate) reopens: u64,
    /// Thousandths of events that restart the endpoint
    pub(crate) restarts: u64,
    /// Thousandths of time advances to a deadline, or to one unit before or after it
    pub(crate) deadlines: u64,
    /// The maximum of other time advances
    pub(crate) step: u64,
    /// The storage is a file
    pub(crate) file: bool,
}

/// The settings of a run
pub(crate) struct Scenario {
    pub(crate) chain: Chain,
    pub(crate) import_settings: ImportSettings,
    pub(crate) endpoint_settings: EndpointSettings,
    pub(crate) run_settings: RunSettings,
    /// Transactions that no block includes
    pub(crate) unknown_transactions: Vec<Rc<Transaction>>,
}

impl Scenario {
    pub(crate) fn draw(seed: u64, rng: &mut Rng) -> Self {
        let all_final = rng.one_in(12);
        // Often fewer blocks than a transaction needs.
        let retained = match rng.below(10) {
            0 if rng.one_in(2) => rng.between(3, 10) as usize,
            0 => rng.between(18, 24) as usize,
            _ => usize::MAX,
        };
        let has_retention = retained != usize::MAX;
        let content_settings = ContentSettings {
            execution: if has_retention { 1 } else { rng.below(4) },
            body: if has_retention { 1 } else { rng.below(4) },
            refund: if has_retention { 2 } else { *rng.pick(&[0, 1, 3, 8, 12]) },
            same_ids: *rng.pick(&[0, 500, 1000]),
            refunds: *rng.pick(&[0, 300, 800]),
            unknown: *rng.pick(&[0, 0, 30, 100]),
            never: *rng.pick(&[0, 0, 20, 100]),
            anomalies: if has_retention { 0 } else { *rng.pick(&[0, 0, 0, 20, 60, 200]) },
        };
        let chain_settings = ChainSettings {
            shards: rng.between(1, 4) as usize,
            forks: *rng.pick(&[0, 80, 160, 300, 450]),
            fork_growth: *rng.pick(&[0, 500, 850]),
            max_fork_depth: rng.between(1, 6),
            skips: *rng.pick(&[0, 100, 300]),
            finality_lag: rng.below(if has_retention { 4 } else { 7 }),
            no_finality: if has_retention { 0 } else { *rng.pick(&[0, 0, 100, 500, 850]) },
            fast_finality: *rng.pick(&[0, 0, 50, 200]),
            repeated: *rng.pick(&[0, 30, 100]),
            forks_below_final: *rng.pick(&[0, 0, 0, 30]),
        };
        let blocks = match rng.below(20) {
            0 => 80,
            1..=4 => 50,
            _ => rng.between(16, 36) as usize,
        };
        let mut content = ContentGenerator::new(Hashes::default(), content_settings);
        let signed = !has_retention && rng.one_in(40);
        for nonce in 0..rng.between(1, 5) {
            let signed = signed_transactions().get(nonce as usize).filter(|_| signed);
            let hashes = &mut content.hashes;
            let id = match signed {
                Some((hash, _)) => hashes.add(*hash),
                None => hashes.add_random(rng),
            };
            let mut transaction = Transaction::new(id, rng.one_in(4), nonce, hashes);
            transaction.signed = signed.map(|(_, signed)| signed.clone());
            content.pool.push(Rc::new(transaction));
            if content.settings.anomalies > 0 {
                content.add_early_receipt(id, rng);
            }
            content.first_blocks.push(rng.below(blocks as u64 / 2));
        }
        let unknown_transactions = (0..2).map(|_| {
            let id = content.hashes.add_random(rng);
            Rc::new(Transaction::new(id, false, 0, &content.hashes))
        });
        let unknown_transactions = unknown_transactions.collect();
        let endpoint_settings = EndpointSettings {
            timeout_cause: rng.one_in(3),
            unknown_immediate: rng.one_in(8),
            timeout: *rng.pick(&[0, 1, 20, 60, 100, 400, 400, 10_000, 10_000]),
            max_waiting: if rng.one_in(6) { rng.below(8) as usize } else { 1000 },
        };
        let mut run_settings = RunSettings {
            blocks,
            requests: *rng.pick(&[200, 300, 450]),
            time: *rng.pick(&[50, 150, 250]),
            cancels: *rng.pick(&[0, 30, 80]),
            unpolled: *rng.pick(&[0, 0, 200, 500]),
            late_updates: *rng.pick(&[0, 0, 150, 400]),
            host: *rng.pick(&[
                Host::OneThread,
                Host::OneThread,
                Host::OneThread,
                Host::Threads,
                Host::Threads,
                Host::RemoteRows,
            ]),
            read_committed: rng.one_in(2),
            deferred: *rng.pick(&[100, 400, 700]),
            reopens: *rng.pick(&[0, 0, 40]),
            restarts: *rng.pick(&[0, 0, 0, 25]),
            deadlines: *rng.pick(&[0, 100, 500]),
            step: *rng.pick(&[3, 10, 30]),
            file: seed % 500 == 7,
        };
        if run_settings.file && run_settings.host == Host::RemoteRows {
            run_settings.host = Host::Threads;
        }
        run_settings.read_committed &= run_settings.host == Host::RemoteRows;
        let import_settings = ImportSettings::default()
            .with_finality(if all_final { FinalityRule::All } else { FinalityRule::Headers })
            .with_retention(if has_retention {
                Retention::Blocks(retained as u64)
            } else {
                Retention::Everything
            });
        Self {
            chain: Chain::new(content, chain_settings),
            import_settings,
            endpoint_settings,
            run_settings,
            unknown_transactions,
        }
    }
}

/// Signed once per process, because signing takes as long as a whole seed
fn signed_transactions() -> &'static [(CryptoHash, Signed)] {
    static SIGNED: OnceLock<Vec<(CryptoHash, Signed)>> = OnceLock::new();
    SIGNED.get_or_init(|| (0..2).map(sign).collect())
}

/// A signed transfer and its hash, in the layout of a transaction without a version tag
fn sign(nonce: u64) -> (CryptoHash, Signed) {
    let key = SigningKey::from_bytes(&[7; 32]);
    let mut bytes = Vec::new();
    let text = |bytes: &mut Vec<u8>, text: &str| {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
    };
    text(&mut bytes, "alice.near");
    bytes.push(0);
    bytes.extend(key.verifying_key().as_bytes());
    bytes.extend(nonce.to_le_bytes());
    text(&mut bytes, "bob.near");
    bytes.extend([0; 32]);
    bytes.extend(1_u32.to_le_bytes());
    bytes.push(3);
    bytes.extend(1_u128.to_le_bytes());
    let hash = CryptoHash::digest(&bytes);
    let encode = |signed_hash: &[u8]| {
        let mut signed = bytes.clone();
        signed.push(0);
        signed.extend(key.sign(signed_hash).to_bytes());
        let mut text = String::new();
        base64::encode(&signed, &mut text);
        text
    };
    let (text, invalid) = (encode(hash.as_bytes()), encode(b"something else"));
    (hash, Signed { text, invalid, base: None })
}
