//! What a node would say: every state of the chain with its time, and what may be answered when.
//!
//! The model has a storage of its own, into which one block after the other is imported by the
//! engine, without a service, and keeps it as it was after each block. From that it follows what a
//! request has to get: at the first state at which its milestone is reached, at once; at its
//! deadline, the time-out of the interface. What the engine says about one state is not questioned
//! here; its own simulation does that.

use alloc::collections::BTreeMap;
use core::time::Duration;

use milepost::codec::base64;
use milepost::endpoint::{
    Endpoint, Engine, Output, PendingRequest, RequestState, Response, WaitConfig,
};
use milepost::import::{BlockPosition, ImportSettings};
use milepost::primitives::{AccountId, BlockHeight, CryptoHash, Nonce};
use milepost::status::{CompactStatus, LastSeen, Milestone, NextEvent, StatusQuery};
use milepost::storage::{MemoryStorage, run};
use milepost::transaction::SignedTransaction;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::chain::Chain;

/// How much later than expected something may come: timers count in milliseconds
pub(super) const SLACK: Duration = Duration::from_millis(5);
/// Above the receipts of each transaction
const MAX_RECEIPTS: usize = 1_000;

/// The chain after a block
struct State {
    /// When the block was committed
    at: Instant,
    head: BlockHeight,
    rows: MemoryStorage,
}

/// All states so far
pub(super) struct Model {
    engine: Engine,
    settings: ImportSettings,
    rows: MemoryStorage,
    states: Vec<State>,
    /// When the clock jumped, from and to
    jumps: Vec<(Instant, Instant)>,
    /// All transactions by their nonces, of which no chain has one twice
    nonces: BTreeMap<Nonce, Signed>,
}

/// A transaction, as far as its nonce is concerned
struct Signed {
    hash: CryptoHash,
    signer: AccountId,
    signed_base64: String,
}

/// A request
pub(super) struct SentRequest {
    pub(super) body: Vec<u8>,
    pub(super) at: Instant,
    /// How long it may wait
    pub(super) timeout: Duration,
}

/// What came of a request
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AnswerKind {
    /// An answer without a wait
    Immediate,
    /// An answer after a wait
    Waited,
    /// The time-out
    TimedOut,
    /// An error, because another transaction has used the nonce
    Invalid,
    /// The service stopped
    Stopped,
}

/// What a watcher knows of a transaction
pub(super) struct Seen {
    state: usize,
    json: Option<String>,
    at: Instant,
    /// The block of the state, if it has one
    block: Option<LastSeen>,
}

/// An event of a watch
pub(super) struct WatchEvent<'text> {
    pub(super) name: &'text str,
    pub(super) data: &'text str,
}

impl Model {
    /// The model of a server with this engine, before the first block
    pub(super) fn new(engine: Engine, settings: ImportSettings, chain: &Chain) -> Self {
        let mut rows = MemoryStorage::new();
        for (height, config) in &chain.configs {
            let put = engine.put_config(*height, config, &settings, &mut rows);
            put.expect("a configuration of the practice chain");
        }
        let state = State { at: Instant::now(), head: 0, rows: rows.clone() };
        let nonces = chain.transactions.iter().map(|transaction| {
            let signed = SignedTransaction::decode(&transaction.signed);
            let nonce = signed.expect("a transaction of the chain").transaction().nonce();
            let mut signed_base64 = String::new();
            base64::encode(&transaction.signed, &mut signed_base64);
            let (hash, signer) = (transaction.hash, transaction.signer_id.clone());
            (nonce, Signed { hash, signer, signed_base64 })
        });
        let nonces = nonces.collect();
        Self { engine, settings, rows, states: vec![state], jumps: Vec::new(), nonces }
    }

    /// Takes in a block that was committed
    pub(super) fn commit(&mut self, message: &[u8], at: Instant) -> Result<(), String> {
        let imported = self.engine.import_block(message, &self.settings, &mut self.rows);
        let summary = imported.map_err(|error| format!("the model refuses a block: {error}"))?;
        if summary.position != BlockPosition::Known {
            let head = match summary.position {
                BlockPosition::Head => summary.block.height,
                _ => self.head(),
            };
            self.states.push(State { at, head, rows: self.rows.clone() });
        }
        Ok(())
    }

    pub(super) fn jumped(&mut self, from: Instant, to: Instant) {
        self.jumps.push((from, to));
    }

    /// The height of the head; 0 before the first block
    pub(super) fn head(&self) -> BlockHeight {
        self.states.last().map_or(0, |state| state.head)
    }

    /// The newest state
    pub(super) const fn rows(&self) -> &MemoryStorage {
        &self.rows
    }

    /// When something that is due at a time can happen: not while the clock jumps over it
    fn due(&self, at: Instant) -> Instant {
        let jump = self.jumps.iter().find(|(from, to)| (*from..*to).contains(&at));
        jump.map_or(at, |(_, to)| *to)
    }

    /// The states that can be seen in a time, with when each begins and ends in it
    fn visible(
        &self,
        from: Instant,
        to: Instant,
    ) -> impl Iterator<Item = (usize, &State, Instant, Instant)> {
        // Of two things at one time either may be the first.
        let first = self.states.iter().rposition(|state| state.at < from).unwrap_or(0);
        let states = self.states.iter().enumerate().skip(first);
        states.take_while(move |(_, state)| state.at <= to).map(move |(index, state)| {
            let next = self.states.get(index + 1).map_or(to, |next| next.at.min(to));
            (index, state, self.due(state.at.max(from)), next.max(from))
        })
    }

    /// Checks the answer to a request; `stopped` is when the server stopped, if it has
    pub(super) fn check(
        &self,
        sent: &SentRequest,
        (status, body): (u16, &[u8]),
        at: Instant,
        stopped: Option<Instant>,
    ) -> Result<AnswerKind, String> {
        let (answers, latest) = self.answers(sent, at, stopped);
        let text = || {
            let (sent, got) = (String::from_utf8_lossy(&sent.body), String::from_utf8_lossy(body));
            format!("{sent}\n    got {status} {got}")
        };
        let due = self.due(latest);
        if at > due + SLACK {
            return Err(format!("an answer {:?} late: {}", at - due, text()));
        }
        let is_this = |(_, response): &&(AnswerKind, Response)| {
            response.body == body && response.kind().http_status() == status
        };
        let found = answers.iter().find(is_this).map(|(kind, _)| *kind);
        let is_invalid = || self.is_used_nonce(sent, body, at).then_some(AnswerKind::Invalid);
        if let Some(kind) = found.or_else(is_invalid) {
            return Ok(kind);
        }
        let wrong = match self.wrong_call(sent, body, at, stopped) {
            Some(None) => return Ok(AnswerKind::Waited),
            Some(Some(index)) => format!("in call {index} "),
            None => String::new(),
        };
        Err(format!("no node says this: {wrong}{}", text()))
    }

    /// Checks a batch call by call, and returns the index of a call whose answer is wrong, if it is
    /// a batch to which this applies
    ///
    /// What was found to be wrong with a transaction stays, also if a later state of the chain
    /// would say otherwise, and the other calls are answered later.
    fn wrong_call(
        &self,
        sent: &SentRequest,
        body: &[u8],
        at: Instant,
        stopped: Option<Instant>,
    ) -> Option<Option<usize>> {
        let calls: Vec<&RawValue> = serde_json::from_slice(&sent.body).ok()?;
        let found: Vec<&RawValue> = serde_json::from_slice(body).ok()?;
        let stays = |one: &&RawValue| {
            one.get().contains("INVALID_TRANSACTION") || one.get().contains("UNKNOWN_TRANSACTION")
        };
        if calls.len() != found.len() || !found.iter().any(stays) {
            return None;
        }
        let (whole, _) = self.answers(sent, at, stopped);
        let whole: Vec<Vec<&RawValue>> =
            whole.iter().filter_map(|(_, it)| serde_json::from_slice(&it.body).ok()).collect();
        let is_wrong = |&(index, (call, found)): &(usize, (&RawValue, &RawValue))| {
            let is_of_whole = |answers: &Vec<&RawValue>| {
                answers.get(index).is_some_and(|answer| answer.get() == found.get())
            };
            let sent = SentRequest { body: call.get().into(), ..*sent };
            let (answers, _) = self.answers(&sent, at, stopped);
            let found = found.get().as_bytes();
            // A call that was answered before the others is answered again with them.
            let is_now = |rows: &MemoryStorage| {
                let request = self.engine.parse(&sent.body, None);
                let state = self.engine.respond(request, rows);
                matches!(state, RequestState::Ready(response) if response.body == found)
            };
            !(answers.iter().any(|(_, response)| response.body == found)
                || self.visible(sent.at, at).any(|(_, state, ..)| is_now(&state.rows))
                || self.is_used_nonce(&sent, found, at)
                || whole.iter().any(is_of_whole))
        };
        Some(calls.into_iter().zip(found).enumerate().find(is_wrong).map(|(index, _)| index))
    }

    /// Whether an answer says that a nonce is used, and a final block has that nonce
    ///
    /// A server knows that of the blocks that came while a request waited, and not from its rows.
    fn is_used_nonce(&self, sent: &SentRequest, body: &[u8], at: Instant) -> bool {
        let call: Value = serde_json::from_slice(&sent.body).unwrap_or_default();
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let invalid = &body["error"]["data"]["TxExecutionError"]["InvalidTxError"]["InvalidNonce"];
        let (Some(used), Some(nonce)) =
            (invalid["ak_nonce"].as_u64(), invalid["tx_nonce"].as_u64())
        else {
            return false;
        };
        let Some((own, user)) = self.nonces.get(&nonce).zip(self.nonces.get(&used)) else {
            return false;
        };
        let height = |hash, rows: &MemoryStorage| {
            let status = run(&mut StatusQuery::new(hash, MAX_RECEIPTS), rows).ok()??;
            Some(status.transaction().ok()?.height)
        };
        let last_final =
            |rows: &MemoryStorage| Some(self.engine.chain_status(rows).ok()?.last_final?.height);
        // Whether the block is final counts, also if the outcome is in a later one.
        let is_so = |rows: &MemoryStorage| {
            height(own.hash, rows).is_none()
                && height(user.hash, rows).zip(last_final(rows)).is_some_and(|(at, to)| at <= to)
        };
        call["params"]["signed_tx_base64"] == own.signed_base64
            && own.signer == user.signer
            && nonce <= used
            && self.visible(sent.at, at).any(|(_, state, ..)| is_so(&state.rows))
    }

    /// What may be answered up to now, and when at the latest
    fn answers(
        &self,
        sent: &SentRequest,
        at: Instant,
        stopped: Option<Instant>,
    ) -> (Vec<(AnswerKind, Response)>, Instant) {
        let begin =
            |rows: &MemoryStorage| self.engine.respond(self.engine.parse(&sent.body, None), rows);
        let deadline = sent.at + sent.timeout;
        let end = stopped.map_or(deadline, |stopped| deadline.min(stopped.max(sent.at)));
        let states: Vec<_> = self.visible(sent.at, at).collect();
        let (mut answers, mut latest) = (Vec::new(), sent.at);
        // Any of the states of the time of the request may be the first.
        for (first, (_, start, ..)) in states.iter().enumerate() {
            if start.at > sent.at {
                break;
            }
            let mut due = end;
            for (_, state, from, until) in &states[first..] {
                let RequestState::Pending(mut pending) = begin(&start.rows) else { break };
                match pending.again(&state.rows) {
                    Some(response) => {
                        answers.push((AnswerKind::Waited, response));
                        if until > from {
                            due = due.min(*from);
                        }
                    }
                    None if at >= deadline => {
                        answers.push((AnswerKind::TimedOut, pending.expire(&state.rows)));
                    }
                    None => {}
                }
                if stopped.is_some_and(|stopped| stopped <= at)
                    && let RequestState::Pending(pending) = begin(&start.rows)
                {
                    let response = self.stop_answer(pending, &state.rows);
                    answers.extend(response.map(|response| (AnswerKind::Stopped, response)));
                }
            }
            if let RequestState::Ready(response) = begin(&start.rows) {
                due = sent.at;
                answers.insert(0, (AnswerKind::Immediate, response));
            }
            latest = latest.max(due);
        }
        (answers, latest)
    }

    /// What a service that stops answers
    fn stop_answer(&self, pending: PendingRequest, rows: &MemoryStorage) -> Option<Response> {
        let mut endpoint: Endpoint<()> = Endpoint::new(self.engine, WaitConfig::default());
        endpoint.shutdown();
        endpoint.handle_pending(0, pending, None, ());
        match endpoint.poll_output_with(rows) {
            Output::Response { response, .. } => Some(response),
            _ => None,
        }
    }

    /// Checks the header with the height of the head
    pub(super) fn check_head(&self, head: BlockHeight, at: Instant) -> Result<(), String> {
        match self.visible(at, at).any(|(_, state, ..)| state.head == head) {
            true => Ok(()),
            false => Err(format!("the head is said to be {head}, and is {}", self.head())),
        }
    }

    /// What one knows who starts to watch, and may have a state already
    pub(super) fn start_watch(
        &self,
        at: Instant,
        before: Option<(usize, String)>,
        last_event_id: &str,
    ) -> Seen {
        let first = self.states.iter().rposition(|state| state.at < at).unwrap_or(0);
        let block = before.as_ref().and_then(|_| LastSeen::of_id(last_event_id));
        let (state, json) = before.map_or((first, None), |(state, json)| (state, Some(json)));
        Seen { state: state.max(first), json, at, block }
    }

    /// Checks that one who watches a transaction has its newest state
    pub(super) fn check_watch(
        &self,
        hash: CryptoHash,
        seen: &Seen,
        at: Instant,
    ) -> Result<(), String> {
        for (_, state, begin, end) in self.visible(seen.at, at) {
            if end <= begin + SLACK {
                continue;
            }
            let current = self.compact(hash, &state.rows)?;
            if seen.json.as_ref() != Some(&current.json) {
                return Err(format!(
                    "no event for {:?}: {} is not known, but {:?}",
                    end - begin,
                    current.json,
                    seen.json
                ));
            }
        }
        Ok(())
    }

    /// Checks an event; returns whether it is the last one
    pub(super) fn check_event(
        &self,
        hash: CryptoHash,
        (wait_until, with_result): (Milestone, bool),
        seen: &mut Seen,
        event: &WatchEvent<'_>,
        at: Instant,
    ) -> Result<bool, String> {
        self.check_watch(hash, seen, at)?;
        for (index, state, ..) in self.visible(seen.at, at).filter(|it| it.0 >= seen.state) {
            let heights = seen.block.iter().map(|block| block.height).collect();
            let observation = self.engine.observe_at(hash, heights, &state.rows);
            let observation = observation.map_err(|error| error.to_string())?;
            let next_event = seen.block.and_then(|block| observation.next_event(block));
            if next_event == Some(NextEvent::UnIncluded) {
                let none = CompactStatus::in_no_block(hash).json;
                if (event.name, event.data) == ("un-included", &none) {
                    *seen = Seen { state: index, json: Some(none), at, block: None };
                    return Ok(false);
                }
                continue;
            }
            let compact = CompactStatus::new(&observation);
            let is_reached = compact.milestone.satisfies(wait_until);
            let data = match observation.result().map_err(|error| error.to_string())? {
                Some(result) if is_reached && with_result => compact.with_result(&result),
                _ => compact.json.clone(),
            };
            let name = if is_reached { "reached" } else { "status" };
            if data == event.data && name == event.name {
                let block = compact.block();
                *seen = Seen { state: index, json: Some(compact.json), at, block };
                return Ok(is_reached);
            }
        }
        Err(format!("no state has the event {} {}, after {:?}", event.name, event.data, seen.json))
    }

    fn compact(&self, hash: CryptoHash, rows: &MemoryStorage) -> Result<CompactStatus, String> {
        let observation = self.engine.observe(hash, rows).map_err(|error| error.to_string())?;
        Ok(CompactStatus::new(&observation))
    }
}

impl Seen {
    /// The state and its JSON, for one who watches again later
    pub(super) fn into_known(self) -> Option<(usize, String)> {
        Some((self.state, self.json?))
    }
}
