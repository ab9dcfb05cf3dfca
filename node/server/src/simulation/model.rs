//! What a node would say: every state of the chain with its time, and what may be answered when.
//!
//! The model has a storage of its own, into which one block after the other is imported by the
//! engine, without a service, and keeps it as it was after each block. From that it follows what a
//! request has to get: at the first state at which its milestone is reached, at once; at its
//! deadline, the time-out of the interface. What the engine says about one state is not questioned
//! here; its own simulation does that. Which event follows which is decided by the
//! [observer](super::observer) alone.

use alloc::collections::BTreeMap;
use core::time::Duration;

use milepost::codec::base64;
use milepost::endpoint::{
    Endpoint, Engine, Output, PendingRequest, RequestState, Response, WaitConfig,
};
use milepost::import::{BlockPosition, ImportSettings};
use milepost::primitives::{AccountId, BlockHeight, CryptoHash, Nonce};
use milepost::status::{CompactStatus, Milestone, StatusQuery};
use milepost::storage::{MemoryStorage, run};
use milepost::transaction::SignedTransaction;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::chain::Chain;
use super::observer::{Blocks, Relation, SeenBlock, View};

/// How much later than expected something may come: timers count in milliseconds
pub(super) const SLACK: Duration = Duration::from_millis(5);
/// Above the receipts of each transaction
const MAX_RECEIPTS: usize = 1_000;

/// The chain after a block
struct State {
    /// When the block was committed
    at: Instant,
    head: BlockHeight,
    view: View,
    rows: MemoryStorage,
}

/// All states of a server so far
pub(super) struct Model {
    /// The rows before the first block
    first_rows: MemoryStorage,
    blocks: Blocks,
    engine: Engine,
    settings: ImportSettings,
    /// How long a stream may wait for a higher head
    max_wait: Duration,
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

/// What a watcher knows of a transaction, from whatever server
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    json: Option<String>,
    /// The block of the state, if it has one
    block: Option<SeenBlock>,
}

/// What a watcher has seen of a transaction in a stream
pub(super) struct Seen {
    state: usize,
    at: Instant,
    /// When the stream began
    start: Instant,
    /// The height that the head has to have before the first event
    min_height: BlockHeight,
    pub(super) known: Known,
}

/// An event of a watch
pub(super) struct WatchEvent<'text> {
    pub(super) id: &'text str,
    pub(super) name: &'text str,
    pub(super) data: &'text str,
}

/// What kind of event an event is
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EventKind {
    State,
    UnIncluded,
    Reached,
    Forgotten,
    Timeout,
}

/// What an observer sees next
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Next {
    Wait,
    State,
    UnIncluded,
    Forgotten,
}

impl Model {
    /// The model of a server with this engine, before the first block
    pub(super) fn new(
        engine: Engine,
        settings: ImportSettings,
        max_wait: Duration,
        chain: &Chain,
    ) -> Self {
        let mut rows = MemoryStorage::new();
        for (height, config) in &chain.configs {
            let put = engine.put_config(*height, config, &settings, &mut rows);
            put.expect("a configuration of the practice chain");
        }
        let (at, view, first_rows) = (Instant::now(), View::default(), rows.clone());
        let state = State { at, head: 0, view, rows: rows.clone() };
        let nonces = chain.transactions.iter().map(|transaction| {
            let signed = SignedTransaction::decode(&transaction.signed);
            let nonce = signed.expect("a transaction of the chain").transaction().nonce();
            let mut signed_base64 = String::new();
            base64::encode(&transaction.signed, &mut signed_base64);
            let (hash, signer) = (transaction.hash, transaction.signer_id.clone());
            (nonce, Signed { hash, signer, signed_base64 })
        });
        let nonces = nonces.collect();
        let (blocks, states, jumps) = (Blocks::new(chain), vec![state], Vec::new());
        Self { first_rows, blocks, engine, settings, max_wait, rows, states, jumps, nonces }
    }

    /// Adds a block that was committed
    pub(super) fn commit(&mut self, message: &[u8], at: Instant) -> Result<(), String> {
        let imported = self.engine.import_block(message, &self.settings, &mut self.rows);
        let summary = imported.map_err(|error| format!("the model refuses a block: {error}"))?;
        if summary.position != BlockPosition::Known {
            let head = match summary.position {
                BlockPosition::Head => summary.block.height,
                _ => self.head(),
            };
            let chain = self.engine.chain_status(&self.rows).map_err(|error| error.to_string())?;
            let view = View {
                head: chain.head.map(|block| (block.height, block.hash)),
                last_final: chain.last_final.map(|block| block.height),
                complete_from: chain.complete_from.unwrap_or_default(),
            };
            self.states.push(State { at, head, view, rows: self.rows.clone() });
        }
        Ok(())
    }

    /// The server has lost its store
    pub(super) fn lose_store(&mut self, at: Instant) {
        self.rows = self.first_rows.clone();
        let (view, rows) = (View::default(), self.rows.clone());
        self.states.push(State { at, head: 0, view, rows });
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

    /// What one knows who starts to watch, and may have seen events already; nothing is sent before
    /// the head has the minimum height
    pub(super) fn start_watch(&self, at: Instant, known: Known, min_height: BlockHeight) -> Seen {
        let state = self.states.iter().rposition(|state| state.at < at).unwrap_or(0);
        Seen { state, at, start: at, min_height, known }
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
            let next = self.next(hash, seen, state)?;
            let is_known = match next {
                Next::Wait => end <= self.due(seen.start + self.max_wait) + SLACK,
                Next::State => {
                    seen.known.json.as_ref() == Some(&self.compact(hash, &state.rows)?.json)
                }
                Next::UnIncluded | Next::Forgotten => false,
            };
            if !is_known {
                let (after, Seen { known, .. }) = (end - begin, seen);
                let view = state.view;
                return Err(format!("no {next:?} in {after:?} after {known:?}, at {view:?}"));
            }
        }
        Ok(())
    }

    /// The next event of a watcher of the chain, by this state
    fn next(&self, hash: CryptoHash, seen: &Seen, state: &State) -> Result<Next, String> {
        if state.view.head.is_none_or(|(head, _)| head < seen.min_height) && seen.min_height > 0 {
            return Ok(Next::Wait);
        }
        let Some(block) = &seen.known.block else { return Ok(Next::State) };
        let relation = self.blocks.relation(block, &state.view);
        let is_in_block =
            || Ok::<_, String>(SeenBlock::of_id(&self.compact(hash, &state.rows)?.id).is_some());
        match relation {
            Relation::Ahead => Ok(Next::Wait),
            Relation::Replaced => Ok(Next::UnIncluded),
            Relation::Canonical | Relation::Unknown if is_in_block()? => Ok(Next::State),
            Relation::Canonical if block.height >= state.view.complete_from => {
                Err(format!("the block {block:?} is stored, and not its transaction"))
            }
            Relation::Canonical | Relation::Unknown => Ok(Next::Forgotten),
        }
    }

    /// Checks an event
    pub(super) fn check_event(
        &self,
        hash: CryptoHash,
        (wait_until, with_result): (Milestone, bool),
        seen: &mut Seen,
        event: &WatchEvent<'_>,
        at: Instant,
    ) -> Result<EventKind, String> {
        self.check_watch(hash, seen, at)?;
        let (none, of_hash) =
            (CompactStatus::in_no_block(hash).json, format!(r#"{{"transaction_hash":"{hash}"}}"#));
        let states = self.visible(seen.at, at).filter(|it| it.0 >= seen.state);
        for (index, state, ..) in states {
            let kind = match (self.next(hash, seen, state)?, event.name) {
                (Next::UnIncluded, "un-included") if event.data == none => {
                    seen.known = Known { json: Some(none), block: None };
                    EventKind::UnIncluded
                }
                (Next::Forgotten, "forgotten") if event.data == of_hash => EventKind::Forgotten,
                (Next::Wait, "timeout")
                    if event.data == of_hash && at >= seen.start + self.max_wait =>
                {
                    EventKind::Timeout
                }
                (Next::State, "status" | "reached") => {
                    let observation = self.engine.observe(hash, &state.rows);
                    let observation = observation.map_err(|error| error.to_string())?;
                    let compact = CompactStatus::new(&observation);
                    let is_reached = compact.milestone.satisfies(wait_until);
                    let data = match observation.result().map_err(|error| error.to_string())? {
                        Some(result) if is_reached && with_result => compact.with_result(&result),
                        _ => compact.json.clone(),
                    };
                    if data != event.data || is_reached != (event.name == "reached") {
                        continue;
                    }
                    let block = SeenBlock::of_id(event.id);
                    self.check_order(seen.known.block.as_ref(), block.as_ref(), &state.view)?;
                    seen.known = Known { json: Some(compact.json), block };
                    seen.min_height = 0;
                    if is_reached { EventKind::Reached } else { EventKind::State }
                }
                _ => continue,
            };
            (seen.state, seen.at) = (index, at);
            return Ok(kind);
        }
        Err(format!("no state has the event {} {}, after {:?}", event.name, event.data, seen.known))
    }

    /// Checks that one observer can have seen a transaction in these blocks, one after the other
    fn check_order(
        &self,
        before: Option<&SeenBlock>,
        now: Option<&SeenBlock>,
        view: &View,
    ) -> Result<(), String> {
        let Some(now) = now else { return Ok(()) };
        if self.blocks.relation(now, view) != Relation::Canonical {
            return Err(format!("a state in {now:?}, which is not canonical at {view:?}"));
        }
        match before {
            Some(before) if before.is_final && before.hash == now.hash && !now.is_final => {
                Err(format!("{before:?} is not final any more in {now:?}"))
            }
            Some(before)
                if before.height >= view.complete_from
                    && !self.blocks.is_one_branch(before, now) =>
            {
                Err(format!("{now:?} after {before:?}, with a fork between them"))
            }
            _ => Ok(()),
        }
    }

    /// Whether one who comes with the id of a last event is told that there is no other
    ///
    /// A connection can be lost after the event that the milestone is reached.
    pub(super) fn is_last(
        &self,
        hash: CryptoHash,
        wait_until: Milestone,
        seen: &Seen,
        id: &str,
        at: Instant,
    ) -> bool {
        let was_reached = id.ends_with("-reached");
        let is_reached = |state: &State| {
            let compact = self.compact(hash, &state.rows);
            compact.is_ok_and(|compact| compact.milestone.satisfies(wait_until))
        };
        self.visible(seen.at, at).any(|(_, state, ..)| match self.next(hash, seen, state) {
            Ok(Next::Wait) => was_reached || id.ends_with("-timeout"),
            Ok(Next::Forgotten) => was_reached || id.ends_with("-forgotten"),
            Ok(Next::State) => was_reached && is_reached(state),
            Ok(Next::UnIncluded) | Err(_) => false,
        })
    }

    fn compact(&self, hash: CryptoHash, rows: &MemoryStorage) -> Result<CompactStatus, String> {
        let observation = self.engine.observe(hash, rows).map_err(|error| error.to_string())?;
        Ok(CompactStatus::new(&observation))
    }
}
