//! Waits by signed transaction: each ends with an error exactly when its transaction can never be
//! included any more.
//!
//! Chains from seeds, with forks, gaps and skipped heights, of transactions of few access keys, and
//! a naive model of them: every state of the chain is kept, and looked through for each wait. In
//! half of the seeds blocks are handed in late and requests are evaluated before blocks that come
//! before their wait; then a verdict has to be that of some state since.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ed25519_dalek::{Signer as _, SigningKey};
use milepost::codec::base64;
use milepost::endpoint::{Endpoint, Engine, Output, PendingRequest, RequestState, WaitConfig};
use milepost::import::{BlockHeader, ChainUpdate, ImportSettings, MessageBuilder};
use milepost::primitives::{Balance, CryptoHash, PublicKey, Scheme, Signature};
use milepost::storage::MemoryStorage;
use milepost::transaction::{
    SignedTransaction, Transaction, TransactionVersion, TransferAction, UnknownFields,
};
use milepost::views::NonceMode;
use milepost::waiting::RequestHandle;
use milepost_testkit::Rng;

/// Heights after the base block in which a transaction is valid
const PERIOD: u64 = 12;
/// The signer, and the index of a nonce if it is a gas key
type AccessKey = (usize, Option<u16>);

const ACCESS_KEYS: [AccessKey; 4] = [(0, None), (0, Some(1)), (1, None), (1, Some(2))];

/// A transaction that can be waited for
struct Sent {
    access_key: AccessKey,
    nonce: u64,
    /// The number of its base block
    base: usize,
    hash: CryptoHash,
    request: String,
}

/// A transaction in a block
#[derive(Clone, Debug)]
struct Included {
    access_key: AccessKey,
    nonce: u64,
    hash: CryptoHash,
    /// Of [`STATUSES`]
    status: usize,
}

/// Statuses of the outcome of a transaction, each with whether it has used its nonce; no outcome
/// where there is no text
const STATUSES: [(&str, bool); 9] = [
    (r#"{"SuccessReceiptId":"11111111111111111111111111111112"}"#, true),
    (NOT_ENOUGH_FOR_DEPOSIT, true),
    (
        r#"{"Failure":{"InvalidTxError":{"NotEnoughBalance":{"signer_id":"a","balance":"0","cost":"1"}}}}"#,
        false,
    ),
    (r#"{"Failure":{"InvalidTxError":{"InvalidNonce":{"tx_nonce":1,"ak_nonce":9}}}}"#, false),
    (r#"{"Failure":{"InvalidTxError":"Expired"}}"#, false),
    (r#"{"Failure":{"ActionError":{"index":0,"kind":"NotEnoughBalanceForDeposit"}}}"#, false),
    (r#"{"Later":{"InvalidTxError":"Expired"}}"#, false),
    ("\"Unknown\"", false),
    ("", false),
];
/// The first of these have an outcome that is known
const KNOWN: usize = 6;
const NOT_ENOUGH_FOR_DEPOSIT: &str = r#"{"Failure":{"InvalidTxError":{"NotEnoughBalanceForDeposit":{"signer_id":"a",
    "balance":"0","cost":"1","reason":"NotEnoughBalance"}}}}"#;

impl Included {
    fn uses_nonce(&self) -> bool {
        STATUSES[self.status].1
    }
}

#[derive(Clone, Debug)]
struct Block {
    number: usize,
    height: u64,
    /// The index of its parent, unless that is missing
    parent: Option<usize>,
    transactions: Vec<Included>,
}

/// A state of the canonical chain: blocks by index, oldest first, each with the generation in which
/// it joined, the last final height, and from which height on no block is known to be missing
#[derive(Clone, Debug, Default)]
struct State {
    chain: Vec<(usize, u64)>,
    last_final: u64,
    complete_from: u64,
}

#[derive(Debug, Default)]
struct Coverage {
    expired: usize,
    used: usize,
    included: usize,
    reverted: usize,
    gaps: usize,
    stale: usize,
}

fn block_hash(number: usize) -> CryptoHash {
    CryptoHash::digest(&number.to_le_bytes())
}

fn signing_key(signer: usize) -> SigningKey {
    SigningKey::from_bytes(&[7 + signer as u8; 32])
}

fn public_key(signer: usize) -> PublicKey {
    PublicKey::new(Scheme::Ed25519, signing_key(signer).verifying_key().as_bytes()).expect("a key")
}

fn account(signer: usize) -> &'static str {
    ["alice.near", "bob.near"][signer]
}

/// Signed once per process, because signing takes as long as a whole seed
fn pool() -> &'static [Sent] {
    static POOL: OnceLock<Vec<Sent>> = OnceLock::new();
    POOL.get_or_init(|| {
        let mut pool = Vec::new();
        for access_key in ACCESS_KEYS {
            for (nonce, base) in [(3, 0), (3, 2), (5, 1), (5, 4), (6, 6)] {
                pool.push(sign(access_key, nonce, base));
            }
        }
        pool
    })
}

fn sign(access_key: AccessKey, nonce: u64, base: usize) -> Sent {
    let (signer, nonce_index) = access_key;
    let version = match nonce_index {
        None => TransactionVersion::V0 { nonce },
        nonce_index => {
            TransactionVersion::V1 { nonce, nonce_index, nonce_mode: NonceMode::Monotonic }
        }
    };
    let transfer = TransferAction { deposit: Balance(1), unknown_fields: UnknownFields::new() };
    let transaction = Transaction {
        version,
        signer_id: account(signer).parse().expect("an account"),
        public_key: public_key(signer),
        receiver_id: "carol.near".parse().expect("an account"),
        block_hash: block_hash(base),
        actions: [transfer.into()].into(),
    };
    let hash = transaction.hash().expect("it can be encoded");
    let signature = signing_key(signer).sign(hash.as_bytes()).to_bytes();
    let signature = Signature::new(Scheme::Ed25519, &signature).expect("a signature");
    let signed = SignedTransaction::new(transaction, signature).expect("it can be encoded");
    let mut text = String::new();
    base64::encode(&signed.encode(), &mut text);
    let params = format!(r#"{{"signed_tx_base64":"{text}","wait_until":"INCLUDED"}}"#);
    let request = format!(r#"{{"method":"tx","params":{params}}}"#);
    Sent { access_key, nonce, base, hash, request }
}

fn message(block: &Block, parent: CryptoHash, last_final: CryptoHash) -> Vec<u8> {
    let mut builder = MessageBuilder::new(&BlockHeader {
        height: block.height,
        hash: block_hash(block.number),
        prev_hash: parent,
        last_final_block: last_final,
        ..BlockHeader::default()
    });
    for Included { access_key: (signer, nonce_index), nonce, hash, status } in &block.transactions {
        let index = nonce_index.map(|index| format!(r#""nonce_index":{index},"#));
        let transaction = format!(
            r#"{{"actions":["CreateAccount"],"hash":"{hash}","nonce":{nonce},{}"priority_fee":0,
            "public_key":"{}","receiver_id":"carol.near","signer_id":"{}",
            "signature":"ed25519:1111111111111111111111111111111111111111111111111111111111111111"}}"#,
            index.unwrap_or_default(),
            public_key(*signer),
            account(*signer),
        );
        let outcome = format!(
            r#"{{"proof":[],"block_hash":"{}","id":"{hash}","outcome":{{"executor_id":"a.near",
            "gas_burnt":1,"logs":[],"receipt_ids":[],"status":{},"tokens_burnt":"0"}}}}"#,
            block_hash(block.number),
            STATUSES[*status].0,
        );
        let outcome = (!STATUSES[*status].0.is_empty()).then_some(outcome.as_bytes());
        builder.add_transaction(transaction.as_bytes(), outcome).expect("JSON");
    }
    builder.as_text().to_vec()
}

/// A wait of the model
struct Wait {
    sent: &'static Sent,
    /// The generation at which it was evaluated
    generation: u64,
}

struct Run {
    rng: Rng,
    storage: MemoryStorage,
    endpoint: Endpoint,
    blocks: Vec<Block>,
    /// By generation
    states: Vec<State>,
    updates: Vec<ChainUpdate>,
    delivered: u64,
    /// The generation of the last moment at which everything was delivered
    synced: u64,
    waits: BTreeMap<RequestHandle, Wait>,
    /// Since which generation the nonces of each access key are known
    known_since: BTreeMap<AccessKey, u64>,
    evaluated: Vec<(PendingRequest, &'static Sent)>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut storage = MemoryStorage::new();
        let engine = Engine::default();
        let config = format!(
            r#"{{"chain_id":"dev","genesis_height":0,"protocol_version":88,"runtime_config":{{}},
            "transaction_validity_period":{PERIOD}}}"#
        );
        engine.put_config(0, &config, &ImportSettings::default(), &mut storage).expect("valid");
        Self {
            rng: Rng::new(seed),
            storage,
            endpoint: Endpoint::new(engine, WaitConfig::default()),
            blocks: Vec::new(),
            states: vec![State::default()],
            updates: Vec::new(),
            delivered: 0,
            synced: 0,
            waits: BTreeMap::new(),
            known_since: BTreeMap::new(),
            evaluated: Vec::new(),
        }
    }

    fn state(&self) -> &State {
        self.states.last().expect("there is one")
    }

    /// Imports a block: on the head, on a fork, or above a gap
    fn import(&mut self, coverage: &mut Coverage) {
        let state = self.state().clone();
        let head = state.chain.last().map(|(index, _)| *index);
        let head_height = head.map_or(9, |index| self.blocks[index].height);
        let candidates: Vec<usize> = (0..self.blocks.len())
            .filter(|index| self.fork_root(*index) >= state.last_final && state.last_final > 0)
            .collect();
        let parent = match self.rng.below(12) {
            0 if head.is_some() => None,
            1..=3 if !candidates.is_empty() => Some(*self.rng.pick(&candidates)),
            _ => head,
        };
        let skipped = if self.rng.one_in(4) { self.rng.below(4) } else { 0 };
        let height = match parent {
            Some(parent) => self.blocks[parent].height + 1 + skipped,
            None => head_height + 2 + skipped,
        };
        if parent != head && self.blocks.iter().any(|block| block.height == height) {
            // Which of two blocks of one height is canonical is no matter of this test.
            return;
        }
        let number = self.blocks.len();
        coverage.gaps += usize::from(parent.is_none() && number > 0);
        let transactions = self.transactions(parent);
        let block = Block { number, height, parent, transactions };
        self.blocks.push(block.clone());

        // The canonical chain with it, if it is the head.
        let mut branch = vec![number];
        while let Some(parent) = self.blocks[branch[branch.len() - 1]].parent
            && !state.chain.iter().any(|(index, _)| *index == parent)
        {
            branch.push(parent);
        }
        let is_head = height > head_height;
        let root = self.blocks[branch[branch.len() - 1]].parent;
        let generation = self.states.len() as u64;
        let (mut chain, mut complete_from) = (state.chain.clone(), height);
        if let Some(root) = root {
            // What is below a gap that was reverted is not looked for again.
            complete_from = state.complete_from.min(self.blocks[root].height);
            let kept = chain.iter().position(|(index, _)| *index == root).expect("it is found") + 1;
            coverage.reverted += usize::from(is_head && kept < chain.len());
            chain.truncate(kept);
        }
        chain.extend(branch.into_iter().rev().map(|index| (index, generation)));
        // The block two or three before it is final.
        let distance = self.rng.between(2, 3) as usize;
        let named = chain.len().checked_sub(1 + distance).map(|at| chain[at].0);
        let named = named.filter(|_| !self.rng.one_in(4));
        let hash_of = |index: Option<usize>| index.map_or(CryptoHash::ZERO, block_hash);
        let parent_hash = match parent {
            None if number > 0 => CryptoHash::digest(b"missing"),
            parent => hash_of(parent),
        };
        let json = message(&block, parent_hash, hash_of(named));
        let settings = ImportSettings::default();
        let engine = *self.endpoint.engine();
        let summary = engine.import_block(&json, &settings, &mut self.storage);
        let update = summary.expect("it is sound").chain_update;
        assert_eq!(update.generation, generation);
        let last_final = match named {
            Some(named) if is_head => state.last_final.max(self.blocks[named].height),
            _ => state.last_final,
        };
        self.states.push(match is_head {
            true => State { chain, last_final, complete_from },
            false => state,
        });
        self.updates.push(update);
    }

    /// The height at which the branch of a block leaves the canonical chain
    fn fork_root(&self, index: usize) -> u64 {
        let chain = &self.state().chain;
        let mut index = index;
        loop {
            if chain.iter().any(|(canonical, _)| *canonical == index) {
                return self.blocks[index].height;
            }
            match self.blocks[index].parent {
                Some(parent) => index = parent,
                None => return 0,
            }
        }
    }

    /// Transactions with greater nonces than those before them, one of them perhaps waited for
    fn transactions(&mut self, parent: Option<usize>) -> Vec<Included> {
        let mut transactions: Vec<Included> = Vec::new();
        for access_key in ACCESS_KEYS {
            let (mut used, mut ancestor) = (0, parent);
            while let Some(index) = ancestor {
                let block = &self.blocks[index];
                let own = block.transactions.iter();
                let own = own.filter(|one| one.access_key == access_key && one.uses_nonce());
                used = own.map(|one| one.nonce).fold(used, u64::max);
                ancestor = block.parent;
            }
            if !self.rng.one_in(12) {
                continue;
            }
            let nonce = used + self.rng.between(1, 3);
            let waited: Vec<&Sent> = pool()
                .iter()
                .filter(|sent| sent.access_key == access_key && sent.nonce > used)
                .collect();
            let status = match self.rng.one_in(3) {
                true => self.rng.below(STATUSES.len() as u64) as usize,
                false => 0,
            };
            let other = CryptoHash::digest(&self.rng.next_u64().to_le_bytes());
            transactions.push(match self.rng.one_in(3) && !waited.is_empty() {
                true => {
                    let sent = *self.rng.pick(&waited);
                    // A request is not answered before there is an outcome that is known.
                    let status = if status < KNOWN { status } else { 0 };
                    Included { access_key, nonce: sent.nonce, hash: sent.hash, status }
                }
                false => Included { access_key, nonce, hash: other, status },
            });
        }
        transactions
    }

    /// Evaluates a request, which is handed in at another time if it has to wait
    fn request(&mut self) {
        let sent = self.rng.pick(pool());
        let engine = *self.endpoint.engine();
        match engine.respond(engine.parse(sent.request.as_bytes(), None), &self.storage) {
            RequestState::Ready(response) => {
                let found = text(&response.body);
                let verdict = self.verdict(sent, self.states.len() as u64 - 1, u64::MAX);
                assert_eq!(found.as_str(), verdict.expect("it waits in the model"));
            }
            RequestState::Pending(pending) => self.evaluated.push((pending, sent)),
        }
    }

    /// Hands in a request that was evaluated
    fn wait(&mut self, coverage: &mut Coverage) {
        if self.evaluated.is_empty() {
            return;
        }
        let at = self.rng.index(self.evaluated.len());
        let (pending, sent) = self.evaluated.swap_remove(at);
        let generation = pending.generation();
        coverage.stale += usize::from(generation < self.delivered);
        let handle = self.endpoint.handle_pending(0, pending, None, ());
        self.waits.insert(handle, Wait { sent, generation });
        let since = generation.min(self.delivered);
        self.known_since.entry(sent.access_key).or_insert(since);
        self.poll(coverage);
    }

    fn deliver(&mut self, coverage: &mut Coverage) {
        if let Some(update) = self.updates.get(self.delivered as usize) {
            self.endpoint.handle_chain_update(update);
            self.delivered += 1;
            self.poll(coverage);
        }
    }

    /// Checks every response, and that none is missing if everything was delivered
    fn poll(&mut self, coverage: &mut Coverage) {
        let newest = self.states.len() as u64 - 1;
        while let Output::Response { handle, response, .. } =
            self.endpoint.poll_output_with(&self.storage)
        {
            let Wait { sent, generation } = self.waits.remove(&handle).expect("it waits");
            let found = text(&response.body);
            match &*found {
                "included" => coverage.included += 1,
                "Expired" => coverage.expired += 1,
                _ => coverage.used += 1,
            }
            // Which nonces are known does not matter here: a response has to be true. Its nonce may
            // be that of the blocks that were delivered, which are older than the rows.
            let is_nonce = found.starts_with('{');
            let mut states = self.synced.max(if is_nonce { 0 } else { generation })..=newest;
            let is_expected = |at| {
                (0..=newest).any(|since| self.verdict(sent, at, since).as_ref() == Some(&found))
            };
            assert!(states.any(is_expected), "{found} of {} {:?}", sent.nonce, sent.access_key);
            self.forget(sent.access_key);
        }
        if self.delivered == newest {
            for Wait { sent, .. } in self.waits.values() {
                let verdict = self.verdict(sent, newest, self.known_since[&sent.access_key]);
                assert_eq!(verdict, None, "the wait for {} {:?}", sent.nonce, sent.access_key);
            }
            self.synced = newest;
        }
    }

    fn forget(&mut self, access_key: AccessKey) {
        if !self.waits.values().any(|wait| wait.sent.access_key == access_key) {
            self.known_since.remove(&access_key);
        }
    }

    /// The model: how a wait has to end in this state, if its nonces are known since a generation
    fn verdict(&self, sent: &Sent, at: u64, since: u64) -> Option<String> {
        let state = &self.states[at as usize];
        let blocks = || state.chain.iter().map(|(index, joined)| (&self.blocks[*index], *joined));
        if blocks().any(|(block, _)| block.transactions.iter().any(|one| one.hash == sent.hash)) {
            return Some("included".into());
        }
        let base = blocks().position(|(block, _)| block.number == sent.base)?;
        let base = blocks().nth(base)?.0.height;
        if base < state.complete_from {
            return None;
        }
        if state.last_final > base + PERIOD {
            return Some("Expired".into());
        }
        let seen = blocks()
            .filter(|(block, joined)| *joined > since && block.height <= state.last_final)
            .flat_map(|(block, _)| &block.transactions)
            .filter(|one| one.access_key == sent.access_key && one.uses_nonce());
        let used = seen.map(|one| one.nonce).max().filter(|used| *used >= sent.nonce)?;
        Some(format!(r#"{{"InvalidNonce":{{"ak_nonce":{used},"tx_nonce":{}}}}}"#, sent.nonce))
    }
}

/// How a request was answered: the error of the transaction, or that it is included
fn text(body: &[u8]) -> String {
    let body = String::from_utf8_lossy(body);
    // A refused transaction that is in a block has its error in a result.
    if body.contains(r#""result":{"final_execution_status""#) {
        return "included".into();
    }
    let (_, error) = body.split_once(r#""InvalidTxError":"#).expect("a result or an error");
    let (error, _) = error.split_once(r#"}}},"id""#).expect("the end of an error");
    error.trim_matches('"').to_owned()
}

#[test]
fn waits_end_exactly_when_the_model_says_so() {
    let mut coverage = Coverage::default();
    for seed in 0..600 {
        let mut run = Run::new(seed);
        let is_late = seed % 2 == 1;
        for _ in 0..90 {
            match run.rng.below(4) {
                0 => run.request(),
                1 if is_late => run.wait(&mut coverage),
                _ if is_late && run.delivered + 6 > run.states.len() as u64 => {
                    run.import(&mut coverage);
                    if run.rng.one_in(3) {
                        run.deliver(&mut coverage);
                    }
                }
                _ if is_late => run.deliver(&mut coverage),
                1 => {}
                _ => {
                    run.import(&mut coverage);
                    run.deliver(&mut coverage);
                }
            }
            if !is_late {
                run.wait(&mut coverage);
            }
            // None is evaluated so early that the nonces since are no longer kept.
            let oldest = run.delivered.saturating_sub(6);
            run.evaluated.retain(|(pending, _)| pending.generation() >= oldest);
        }
        while (run.delivered as usize) < run.updates.len() {
            run.deliver(&mut coverage);
        }
    }
    let Coverage { expired, used, included, reverted, gaps, stale } = coverage;
    for (what, count) in [
        ("expired", expired),
        ("used", used),
        ("included", included),
        ("reverted", reverted),
        ("gaps", gaps),
        ("stale", stale),
    ] {
        assert!(count > 100, "{what}: {count} of {coverage:?}");
    }
}
