//! What a seed is like: drawn once, before anything happens.
//!
//! Most habits are drawn per seed and not per event, so that each has seeds in which it is common and
//! seeds without it. Drawing them in another order makes other seeds of the same numbers.

use std::rc::Rc;
use std::sync::OnceLock;

use ed25519_dalek::{Signer as _, SigningKey};
use milepost::codec::base64;
use milepost::ingest::{Finality, IngestSettings, Retention};
use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

use crate::block::Transaction;
use crate::chain::{Chain, Shape};
use crate::client::Manners;
use crate::growth::{Growth, Pace};
use crate::names::{Id, Names};
use crate::oracle::Rules;

/// What is likely to happen between blocks
#[derive(Debug)]
pub(crate) struct Habits {
    /// Blocks until the end
    pub(crate) blocks: usize,
    /// Thousandths of events that are a request
    pub(crate) requests: u64,
    /// Thousandths of events that are time
    pub(crate) time: u64,
    /// Thousandths of events that are a client that goes
    pub(crate) cancels: u64,
    /// Thousandths of events after which nobody looks for answers
    pub(crate) unpolled: u64,
    /// Thousandths of blocks whose changes are handed in later than they are committed
    pub(crate) unhandled: u64,
    /// Requests are asked outside of the desk, and may be away while other things happen
    pub(crate) outside: bool,
    /// Thousandths of the times that a request is away for longer than an instant
    pub(crate) away: u64,
    /// Thousandths of events that open the storage again
    pub(crate) reopens: u64,
    /// Thousandths of events that lose all clients
    pub(crate) restarts: u64,
    /// Thousandths of the times that time passes right to a deadline, or one before or after it
    pub(crate) deadlines: u64,
    /// Otherwise it passes in steps of up to so much
    pub(crate) step: u64,
    /// The storage is a file
    pub(crate) file: bool,
}

/// A seed, drawn
pub(crate) struct Setup {
    pub(crate) chain: Chain,
    pub(crate) rules: Rules,
    pub(crate) ingest: IngestSettings,
    pub(crate) manners: Manners,
    pub(crate) habits: Habits,
    /// Hashes of transactions that never exist
    pub(crate) strangers: Vec<Id>,
}

/// A transaction by its bytes: hash, base64, the same with a wrong signature
struct Signed {
    hash: CryptoHash,
    right: String,
    wrong: String,
}

impl Setup {
    pub(crate) fn draw(seed: u64, rng: &mut Rng) -> Self {
        let all_final = rng.one_in(12);
        // Often fewer than a transaction needs to its end: what is forgotten is unknown, and what is
        // kept goes on.
        let kept = match rng.below(10) {
            0 if rng.one_in(2) => rng.between(3, 10) as usize,
            0 => rng.between(18, 24) as usize,
            _ => usize::MAX,
        };
        let brief = kept != usize::MAX;
        let pace = Pace {
            execution: if brief { 1 } else { rng.below(4) },
            body: if brief { 1 } else { rng.below(4) },
            refund: if brief { 2 } else { *rng.pick(&[0, 1, 3, 8, 12]) },
            same_ids: *rng.pick(&[0, 500, 1000]),
            refunds: *rng.pick(&[0, 300, 800]),
            unknown: *rng.pick(&[0, 0, 30, 100]),
            never: *rng.pick(&[0, 0, 20, 100]),
            oddities: if brief { 0 } else { *rng.pick(&[0, 0, 0, 20, 60, 200]) },
        };
        let shape = Shape {
            shards: rng.between(1, 4) as usize,
            forks: *rng.pick(&[0, 80, 160, 300, 450]),
            stubborn: *rng.pick(&[0, 500, 850]),
            depth: rng.between(1, 6),
            skips: *rng.pick(&[0, 100, 300]),
            lag: rng.below(if brief { 4 } else { 7 }),
            stalls: if brief { 0 } else { *rng.pick(&[0, 0, 100, 500, 850]) },
            jumps: *rng.pick(&[0, 0, 50, 200]),
            repeats: *rng.pick(&[0, 30, 100]),
            refused: *rng.pick(&[0, 0, 0, 30]),
        };
        let blocks = match rng.below(20) {
            0 => 80,
            1..=4 => 50,
            _ => rng.between(16, 36) as usize,
        };
        let mut growth = Growth::new(Names::default(), pace);
        let signed = !brief && rng.one_in(40);
        for nonce in 0..rng.between(1, 5) {
            let signed = signed_transactions().get(nonce as usize).filter(|_| signed);
            let names = &mut growth.names;
            let id = match signed {
                Some(signed) => names.add(signed.hash),
                None => names.fresh(rng),
            };
            let mut transaction = Transaction::new(id, rng.one_in(4), nonce, names);
            transaction.signed = signed.map(|signed| (&*signed.right, &*signed.wrong));
            growth.pool.push(Rc::new(transaction));
            if growth.pace.oddities > 0 {
                growth.foresee(id, rng);
            }
            growth.released.push(rng.below(blocks as u64 / 2));
        }
        let strangers = (0..2).map(|_| growth.names.fresh(rng)).collect();
        let manners = Manners {
            timeout_cause: rng.one_in(3),
            immediate: rng.one_in(8),
            timeout: *rng.pick(&[0, 1, 20, 60, 100, 400, 400, 10_000, 10_000]),
            limit: if rng.one_in(6) { rng.below(8) as usize } else { 1000 },
        };
        let habits = Habits {
            blocks,
            requests: *rng.pick(&[200, 300, 450]),
            time: *rng.pick(&[50, 150, 250]),
            cancels: *rng.pick(&[0, 30, 80]),
            unpolled: *rng.pick(&[0, 0, 200, 500]),
            unhandled: *rng.pick(&[0, 0, 150, 400]),
            outside: rng.one_in(3),
            away: *rng.pick(&[100, 400, 700]),
            reopens: *rng.pick(&[0, 0, 40]),
            restarts: *rng.pick(&[0, 0, 0, 25]),
            deadlines: *rng.pick(&[0, 100, 500]),
            step: *rng.pick(&[3, 10, 30]),
            file: seed % 500 == 7,
        };
        let ingest = IngestSettings::default()
            .with_finality(if all_final { Finality::All } else { Finality::Headers })
            .with_retention(if brief {
                Retention::Blocks(kept as u64)
            } else {
                Retention::Everything
            });
        let rules = Rules { all_final, kept };
        Self { chain: Chain::new(growth, shape), rules, ingest, manners, habits, strangers }
    }
}

/// Made once per process: signing costs as much as a whole seed
fn signed_transactions() -> &'static [Signed] {
    static SIGNED: OnceLock<Vec<Signed>> = OnceLock::new();
    SIGNED.get_or_init(|| (0..2).map(sign).collect())
}

/// A transfer, signed: the layout of a transaction without a version tag
fn sign(nonce: u64) -> Signed {
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
        let mut whole = bytes.clone();
        whole.push(0);
        whole.extend(key.sign(signed_hash).to_bytes());
        let mut text = String::new();
        base64::encode(&whole, &mut text);
        text
    };
    Signed { hash, right: encode(hash.as_bytes()), wrong: encode(b"something else") }
}
