//! Pending requests at an endpoint, and blocks that affect some of them.
//!
//! The requests are a cross-section of a chain's clients: a transaction that was sent is in no
//! block for one or two blocks, has unexecuted receipts for about four, and then needs two until it
//! is final. All requests come from request bodies and all rows from block messages. The number of
//! open requests and their shares are the same before each block. No request times out.

use core::time::Duration;

use milepost::endpoint::{
    Endpoint, Engine, Output, PendingRequest, RequestState, Response, WaitConfig,
};
use milepost::import::{ChainUpdate, ImportSettings};
use milepost::primitives::CryptoHash;
use milepost::status::{StatusQuery, WaitCondition};
use milepost::storage::{MemoryStorage, run};
use milepost::waiting::RequestHandle;
use milepost_testkit::Rng;

use crate::feed::SIGNER;
use crate::{Cpu, Feed, random_hash};

/// Rows that a block changes
const CHANGES: usize = 2_000;
/// Requests that a block affects because it includes their transaction
const AWAITED_TRANSACTIONS: usize = 40;
/// Requests that a block affects because it executes a receipt
const AWAITED_RECEIPTS: usize = 60;
/// Other transactions of a block
const OTHER_TRANSACTIONS: usize = 360;
/// Refunds of a block
const REFUNDS: usize = 200;
/// Other receipts that a block executes, to make [`CHANGES`] changes: each transaction is two of
/// them, with its outcome
const OTHER_RECEIPTS: usize =
    CHANGES - 2 * (AWAITED_TRANSACTIONS + OTHER_TRANSACTIONS) - AWAITED_RECEIPTS - REFUNDS;

/// An endpoint with pending requests, and the chain that they wait for
#[derive(Debug)]
pub struct OpenRequests {
    engine: Engine,
    storage: MemoryStorage,
    endpoint: Endpoint,
    feed: Feed,
    rng: Rng,
    now: u64,
    /// Requests whose transaction is in no block
    unknown: Vec<OpenRequest>,
    /// Requests that wait for an outcome
    pending: Vec<OpenRequest>,
    /// Requests that wait for finality
    executed: Vec<OpenRequest>,
    /// The messages of all blocks since the last `take_messages`; `None` if they are not kept
    messages: Option<Vec<Vec<u8>>>,
}

/// A request that is pending at the endpoint
#[derive(Clone, Copy, Debug)]
pub struct OpenRequest {
    handle: RequestHandle,
    request: ClientRequest,
    condition: WaitCondition,
}

/// What a client sent
#[derive(Clone, Copy, Debug)]
struct ClientRequest {
    transaction: CryptoHash,
    milestone: &'static str,
    /// Decides which id the request has
    id: u64,
}

/// A block that is committed but not handed to the endpoint yet
#[derive(Debug)]
pub struct Block {
    /// What it changed
    pub chain_update: ChainUpdate,
    affected: Vec<OpenRequest>,
    /// Its transactions that no request names
    others: Vec<CryptoHash>,
}

/// A request that was parsed and is not suspended yet
#[derive(Debug)]
pub struct NewRequest {
    request: ClientRequest,
    pending: PendingRequest,
}

impl ClientRequest {
    /// A request for a transaction of this hash, with an id and a milestone as clients send them
    fn random(transaction: CryptoHash, rng: &mut Rng) -> Self {
        let milestone = if rng.index(3) == 0 { "FINAL" } else { "EXECUTED_OPTIMISTIC" };
        Self { transaction, milestone, id: rng.next_u64() }
    }

    fn body(&self) -> String {
        let Self { transaction, milestone, id } = self;
        let id = match id % 3 {
            0 => "\"dontcare\"".to_owned(),
            1 => format!("{}", id >> 40),
            _ => format!(
                "\"{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}\"",
                id >> 32,
                id >> 16 & 0xffff,
                id & 0xfff,
                id >> 4 & 0xfff,
                id >> 12 & 0xffff_ffff_ffff
            ),
        };
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{transaction}","sender_account_id":"{SIGNER}","wait_until":"{milestone}"}}}}"#
        )
    }
}

impl OpenRequests {
    /// An endpoint with this number of open requests: a quarter is for transactions in no block,
    /// half for transactions with 1 to 10 receipts that are not executed, a quarter for executed
    /// ones
    ///
    /// Takes about 2 KiB of rows and 40 microseconds per request.
    ///
    /// # Panics
    ///
    /// When the engine answers a request that has to wait.
    pub fn new(open: usize, seed: u64) -> Self {
        Self::empty(open, seed).fill(open)
    }

    /// The same requests on a chain whose outcomes are as long as on a network
    ///
    /// Keeps the messages of its blocks until [`Self::take_messages`].
    ///
    /// # Panics
    ///
    /// When the engine answers a request that has to wait.
    pub fn with_long_outcomes(open: usize, seed: u64) -> Self {
        let (messages, feed) = (Some(Vec::new()), Feed::with_long_outcomes(seed));
        Self { messages, feed, ..Self::empty(open, seed) }.fill(open)
    }

    /// An endpoint with capacity for this number of requests, and no request
    fn empty(open: usize, seed: u64) -> Self {
        let engine = Engine::default();
        let max_waiting = open + open / 2 + 1_000;
        let wait_config = WaitConfig::default().with_max_waiting(max_waiting).with_hash_seed(seed);
        Self {
            engine,
            storage: MemoryStorage::new(),
            endpoint: Endpoint::new(engine, wait_config),
            feed: Feed::new(seed),
            rng: Rng::new(seed + 1),
            now: 0,
            unknown: Vec::new(),
            pending: Vec::new(),
            executed: Vec::new(),
            messages: None,
        }
    }

    /// Submits this number of requests
    fn fill(mut self, open: usize) -> Self {
        // The first block becomes final, so it is empty.
        self.import_block();
        let mut requests = Vec::with_capacity(open);
        for number in 0..open {
            let mut request = ClientRequest::random(random_hash(&mut self.rng), &mut self.rng);
            match number % 4 {
                0 => {}
                1 => {
                    let receipt = self.feed.include(request.transaction);
                    self.feed.execute(receipt, 0);
                    request.milestone = "FINAL";
                }
                _ => self.include_pending(request.transaction),
            }
            requests.push(request);
            if number % 1_000 == 999 {
                self.import_block();
            }
        }
        self.import_block();
        // Shuffled, so that they are in the order of neither the chain nor the memory.
        for last in (1..requests.len()).rev() {
            requests.swap(last, self.rng.index(last + 1));
        }
        // Spread over one timeout, so that the first expires soon.
        for (request, number) in requests.into_iter().zip(0..) {
            self.now = number * WaitConfig::default().timeout / open as u64;
            self.submit(request);
        }
        self.endpoint.handle_timeout(self.now);
        assert_eq!(self.endpoint.pending_count(), open);
        self
    }

    /// The endpoint
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Commits a block of 2,000 changes, for 100 of which one request each waits
    ///
    /// # Panics
    ///
    /// When the import fails.
    pub fn next_block(&mut self) -> Block {
        let mut affected = Vec::new();
        for _ in 0..AWAITED_TRANSACTIONS {
            let open = remove_random(&mut self.unknown, &mut self.rng);
            self.feed.include(open.request.transaction);
            affected.push(open);
        }
        for _ in 0..AWAITED_RECEIPTS {
            let open = remove_random(&mut self.pending, &mut self.rng);
            let (WaitCondition::Outcome(receipt) | WaitCondition::OutcomeOrRefund(receipt)) =
                open.condition
            else {
                panic!("{open:?} does not wait for an outcome")
            };
            self.feed.execute(receipt, 0);
            affected.push(open);
        }
        let others: Vec<CryptoHash> =
            (0..OTHER_TRANSACTIONS).map(|_| random_hash(&mut self.rng)).collect();
        let mut executed = 0;
        for transaction in &others {
            let receipt = self.feed.include(*transaction);
            let pending = self.random_receipt_count();
            if pending > 1 {
                self.feed.execute(receipt, pending);
                executed += 1;
            }
        }
        for _ in executed..OTHER_RECEIPTS {
            let receipt = random_hash(&mut self.rng);
            self.feed.execute(receipt, 0);
        }
        (0..REFUNDS).for_each(|_| self.feed.refund());
        let message = self.seal();
        let summary =
            self.engine.import_block(&message, &ImportSettings::default(), &mut self.storage);
        let chain_update = summary.expect("a block of the feed").chain_update;
        assert_eq!(chain_update.changes.len(), CHANGES);
        Block { chain_update, affected, others }
    }

    /// Hands a block to the endpoint, which finds and wakes the requests that it affects
    pub fn wake(&mut self, block: &Block) {
        self.endpoint.handle_chain_update(&block.chain_update);
    }

    /// Evaluates the woken requests until each is answered or waits again; returns the responses
    pub fn respond(&mut self) -> Vec<(RequestHandle, Response)> {
        let mut responses = Vec::new();
        while let Output::Response { handle, response, .. } =
            self.endpoint.poll_output_with(&self.storage)
        {
            responses.push((handle, response));
        }
        responses
    }

    /// Replaces the requests that a block answered, so that the open requests have the same number
    /// and shares as before
    ///
    /// # Panics
    ///
    /// When a request was answered that the block does not affect.
    pub fn refill(&mut self, block: Block, responses: &[(RequestHandle, Response)]) {
        let shares = [&self.unknown, &self.pending, &self.executed].map(Vec::len);
        let total = shares[0] + shares[1] + shares[2] + block.affected.len();
        let mut answered: Vec<RequestHandle> =
            responses.iter().map(|(handle, _)| *handle).collect();
        for open in &block.affected {
            if let Some(index) = answered.iter().position(|handle| *handle == open.handle) {
                answered.swap_remove(index);
            } else {
                // It waits for another condition now, which a second evaluation returns.
                let pending = self.evaluate(&open.request);
                self.insert(OpenRequest { condition: pending.condition(), ..*open });
            }
        }
        assert!(answered.is_empty(), "the block does not affect {answered:?}");
        let (unknown, executed) = (total.div_ceil(4), total / 4);
        let pending = total - unknown - executed;
        while self.executed.len() > executed {
            let open = remove_random(&mut self.executed, &mut self.rng);
            assert!(self.endpoint.cancel(open.handle));
        }
        while self.pending.len() > pending {
            let open = remove_random(&mut self.pending, &mut self.rng);
            assert!(self.endpoint.cancel(open.handle));
        }
        while self.unknown.len() < unknown {
            let transaction = random_hash(&mut self.rng);
            let request = ClientRequest::random(transaction, &mut self.rng);
            self.submit(request);
        }
        let mut others = block.others.into_iter();
        while self.pending.len() < pending {
            let transaction =
                others.next().expect("a block has more transactions than it wakes requests");
            let request = ClientRequest::random(transaction, &mut self.rng);
            self.submit(request);
        }
    }

    /// `count` new requests, each for a transaction in no block
    pub fn new_requests(&mut self, count: usize) -> Vec<NewRequest> {
        let new_request = |_| {
            let transaction = random_hash(&mut self.rng);
            let request = ClientRequest::random(transaction, &mut self.rng);
            NewRequest { request, pending: self.evaluate(&request) }
        };
        (0..count).map(new_request).collect()
    }

    /// Suspends new requests at the endpoint
    ///
    /// # Panics
    ///
    /// When the endpoint does not accept one.
    pub fn suspend(&mut self, requests: Vec<NewRequest>) {
        for NewRequest { request, pending } in requests {
            self.suspend_one(request, pending);
        }
    }

    /// Cancels `count` random requests whose transaction is in no block
    pub fn cancel_unknown(&mut self, count: usize) {
        for _ in 0..count {
            let open = remove_random(&mut self.unknown, &mut self.rng);
            assert!(self.endpoint.cancel(open.handle));
        }
    }

    /// Takes `count` random open requests out of the lists, for [`Self::cancel`]
    ///
    /// # Panics
    ///
    /// When there are fewer.
    pub fn take_random(&mut self, count: usize) -> Vec<OpenRequest> {
        let take_one = |_| {
            let lists = [&mut self.unknown, &mut self.pending, &mut self.executed];
            let mut index = self.rng.index(lists.iter().map(|list| list.len()).sum());
            for list in lists {
                if index < list.len() {
                    return list.swap_remove(index);
                }
                index -= list.len();
            }
            panic!("no request is open")
        };
        (0..count).map(take_one).collect()
    }

    /// Cancels these requests
    ///
    /// # Panics
    ///
    /// When one is not open any more.
    pub fn cancel(&mut self, requests: &[OpenRequest]) {
        for open in requests {
            assert!(self.endpoint.cancel(open.handle));
        }
    }

    /// Submits cancelled requests again, so that the number of open requests is as before
    pub fn resubmit(&mut self, requests: Vec<OpenRequest>) {
        requests.into_iter().for_each(|open| self.submit(open.request));
    }

    /// Every open request as a pending request outside of the endpoint, for hosts that evaluate all
    pub fn pending_requests(&self) -> Vec<PendingRequest> {
        self.open().map(|open| self.evaluate(&open.request)).collect()
    }

    /// Evaluates all of these again; returns how many were answered
    pub fn evaluate_all(&self, requests: &mut [PendingRequest]) -> usize {
        requests.iter_mut().filter_map(|pending| pending.again(&self.storage)).count()
    }

    /// Builds the status of every open request with its receipts, as a node does before it checks
    /// whether the milestone is reached; returns how many have a status
    ///
    /// # Panics
    ///
    /// When a row cannot be read.
    pub fn build_all(&self, out: &mut Vec<u8>) -> usize {
        self.open()
            .filter(|open| {
                let mut query = StatusQuery::new(open.request.transaction, 1_000);
                let status = run(&mut query, &self.storage).expect("rows of the engine");
                let Some(status) = status else { return false };
                out.clear();
                status.write(true, out).expect("rows of the engine");
                !out.is_empty()
            })
            .count()
    }

    /// The messages of the blocks since the last call, in their order; empty if they are not kept
    pub fn take_messages(&mut self) -> Vec<Vec<u8>> {
        self.messages.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// The transaction and the milestone of every open request
    pub fn requests(&self) -> impl Iterator<Item = (CryptoHash, &'static str)> {
        self.open().map(|open| (open.request.transaction, open.request.milestone))
    }

    /// The rows of the chain
    pub const fn storage(&self) -> &MemoryStorage {
        &self.storage
    }

    /// The time in which a block is handed in, and the requests that it affects are found and woken
    pub fn time_wake(&mut self) -> Duration {
        let block = self.next_block();
        let ((), elapsed) = Cpu::time(|| self.wake(&block));
        let responses = self.respond();
        self.refill(block, &responses);
        elapsed
    }

    /// The same, and the time in which the woken requests are answered or wait again
    pub fn time_respond(&mut self) -> Duration {
        let block = self.next_block();
        let (responses, elapsed) = Cpu::time(|| {
            self.wake(&block);
            self.respond()
        });
        self.refill(block, &responses);
        elapsed
    }

    fn open(&self) -> impl Iterator<Item = &OpenRequest> {
        self.unknown.iter().chain(&self.pending).chain(&self.executed)
    }

    /// The message of the feed's current block
    fn seal(&mut self) -> Vec<u8> {
        let message = self.feed.seal();
        if let Some(messages) = &mut self.messages {
            messages.push(message.clone());
        }
        message
    }

    /// Imports the feed's current block
    fn import_block(&mut self) {
        let message = self.seal();
        let settings = ImportSettings::default();
        let summary = self.engine.import_block(&message, &settings, &mut self.storage);
        let chain_update = summary.expect("a block of the feed").chain_update;
        self.endpoint.handle_chain_update(&chain_update);
    }

    /// A random number of receipts to be executed: mostly few, 3.25 on average
    fn random_receipt_count(&mut self) -> usize {
        let max = 1 + self.rng.index(10);
        1 + self.rng.index(max)
    }

    fn include_pending(&mut self, transaction: CryptoHash) {
        let receipt = self.feed.include(transaction);
        let pending = self.random_receipt_count();
        if pending > 1 {
            self.feed.execute(receipt, pending);
        }
    }

    fn evaluate(&self, request: &ClientRequest) -> PendingRequest {
        let body = request.body();
        match self.engine.respond(self.engine.parse(body.as_bytes(), None), &self.storage) {
            RequestState::Pending(pending) => pending,
            RequestState::Ready(response) => panic!("{body}: {}", response.body.escape_ascii()),
        }
    }

    fn submit(&mut self, request: ClientRequest) {
        let pending = self.evaluate(&request);
        self.suspend_one(request, pending);
    }

    fn suspend_one(&mut self, request: ClientRequest, pending: PendingRequest) {
        let condition = pending.condition();
        let before = self.endpoint.pending_count();
        let handle = self.endpoint.handle_pending(self.now, pending, None, ());
        assert_eq!(self.endpoint.pending_count(), before + 1, "{request:?} does not wait");
        self.insert(OpenRequest { handle, request, condition });
    }

    fn insert(&mut self, open: OpenRequest) {
        let list = match open.condition {
            WaitCondition::Inclusion(_) => &mut self.unknown,
            WaitCondition::Finality(_) => &mut self.executed,
            _ => &mut self.pending,
        };
        list.push(open);
    }
}

fn remove_random(list: &mut Vec<OpenRequest>, rng: &mut Rng) -> OpenRequest {
    let index = rng.index(list.len());
    list.swap_remove(index)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_block_wakes_only_the_requests_that_it_affects() {
        let mut requests = OpenRequests::new(1_000, 5);
        for _ in 0..3 {
            let block = requests.next_block();
            let affected: BTreeSet<RequestHandle> =
                block.affected.iter().map(|open| open.handle).collect();
            assert_eq!(affected.len(), AWAITED_TRANSACTIONS + AWAITED_RECEIPTS);
            requests.wake(&block);
            let mut woken = BTreeSet::new();
            let mut responses = Vec::new();
            loop {
                match requests.endpoint.poll_output() {
                    Output::Wakeup { handle, evaluation, .. } => {
                        assert!(woken.insert(handle));
                        let state = evaluation.run(&requests.storage);
                        requests.endpoint.handle_evaluation(handle, state, ());
                    }
                    Output::Response { handle, response, .. } => responses.push((handle, response)),
                    Output::Timeout(_) => break,
                    output => panic!("{output:?}"),
                }
            }
            assert_eq!(woken, affected);
            assert!((5..60).contains(&responses.len()), "{} responses", responses.len());
            requests.refill(block, &responses);
            let shares = [&requests.unknown, &requests.pending, &requests.executed].map(Vec::len);
            assert_eq!((requests.endpoint.pending_count(), shares), (1_000, [250, 500, 250]));
        }
    }

    #[test]
    fn evaluating_all_between_blocks_answers_none() {
        let requests = OpenRequests::new(200, 6);
        let mut pending = requests.pending_requests();
        assert_eq!((pending.len(), requests.evaluate_all(&mut pending)), (200, 0));
        assert_eq!(requests.build_all(&mut Vec::new()), 150);
    }
}
