//! What must be answered, worked out from whole messages.
//!
//! The oracle keeps every message that came in, finds the canonical chain by walking parents from
//! the highest block, and computes each answer by recursion over what the canonical messages say.
//! It knows the words of the interface and the shape of a message, and nothing of the engine but
//! the names of its results.

use core::cmp::Reverse;
use core::fmt::Write as _;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use milepost::facts::record::BlockPoint;
use milepost::ingest::{Place, Retention};
use milepost::rpc::AnswerClass;
use milepost::status::Milestone;
use serde_json::{Value, json};

/// A transaction, an outcome or the body of a receipt, as a canonical block has it
pub(crate) struct Fact {
    pub(crate) id: String,
    /// Height of its block
    pub(crate) height: u64,
    pub(crate) value: Value,
    /// The value as compact text; serde_json keeps members in order
    pub(crate) text: String,
}

/// A block with all that it says
pub(crate) struct Block {
    pub(crate) hash: String,
    pub(crate) height: u64,
    pub(crate) message: Value,
    transactions: Vec<Rc<Fact>>,
    outcomes: Vec<Rc<Fact>>,
    receipts: Vec<Rc<Fact>>,
    /// Its place in the order of arrival
    arrival: usize,
}

/// What should become of a message
#[derive(Debug, PartialEq)]
pub(crate) struct Taken {
    pub(crate) place: Place,
    pub(crate) undone: Vec<BlockPoint>,
    pub(crate) redone: Vec<BlockPoint>,
    pub(crate) last_final: Option<BlockPoint>,
    pub(crate) counts: [usize; 3],
}

/// What canonical blocks say, by id
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) transactions: HashMap<String, Rc<Fact>>,
    pub(crate) outcomes: HashMap<String, Rc<Fact>>,
    pub(crate) receipts: HashMap<String, Rc<Fact>>,
}

/// The chain by the book
pub(crate) struct Oracle {
    retention: Retention,
    arrivals: usize,
    blocks: HashMap<String, Rc<Block>>,
    /// The highest final block that any head named
    pub(crate) last_final: Option<BlockPoint>,
    /// First heights and texts of protocol configurations
    configs: Vec<(u64, String)>,
    pub(crate) index: Index,
    /// The index before the last block that changed it
    pub(crate) index_before: Index,
    pub(crate) canonical: Vec<Rc<Block>>,
    /// Everything that belongs to a transaction that was final once, by id
    settled: HashSet<String>,
    /// The receipts among these that no answer shows
    local: HashSet<String>,
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn lacks(chain: &[Rc<Block>], block: &Block) -> bool {
    chain.iter().all(|one| one.hash != block.hash)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().into_iter().flatten()
}

impl Block {
    fn read(json: &[u8], arrival: usize) -> Self {
        let message: Value = serde_json::from_slice(json).expect("a message in JSON");
        let header = &message["block"]["header"];
        let height = header["height"].as_u64().expect("a height");
        let fact = |id: &Value, value: &Value| {
            let (id, value) = (text(id).to_owned(), value.clone());
            Rc::new(Fact { id, height, text: value.to_string(), value })
        };
        let (mut transactions, mut outcomes) = (Vec::new(), Vec::new());
        let mut receipts: Vec<Rc<Fact>> = Vec::new();
        for shard in items(&message["shards"]) {
            let chunk = &shard["chunk"];
            let executed = items(&shard["receipt_execution_outcomes"]);
            for included in items(&chunk["transactions"]) {
                let transaction = &included["transaction"];
                transactions.push(fact(&transaction["hash"], transaction));
                let outcome = &included["outcome"]["execution_outcome"];
                if !outcome.is_null() {
                    outcomes.push(fact(&outcome["id"], outcome));
                }
            }
            let bodies = items(&chunk["receipts"]).chain(items(&chunk["local_receipts"]));
            let bodies = bodies.chain(executed.clone().map(|entry| &entry["receipt"]));
            for body in bodies.filter(|body| !body.is_null()) {
                let id = &body["receipt_id"];
                if receipts.iter().all(|known| known.id != text(id)) {
                    receipts.push(fact(id, body));
                }
            }
            for outcome in executed.map(|entry| &entry["execution_outcome"]) {
                outcomes.push(fact(&outcome["id"], outcome));
            }
        }
        let hash = text(&header["hash"]).to_owned();
        Self { hash, height, message, transactions, outcomes, receipts, arrival }
    }

    fn header(&self, member: &str) -> &str {
        text(&self.message["block"]["header"][member])
    }

    pub(crate) fn point(&self) -> BlockPoint {
        let hash = self.hash.parse().expect("a hash");
        BlockPoint { height: self.height, hash }
    }
}

impl Index {
    /// What these blocks say; what a block repeats of an earlier one is the earlier one's
    fn of(canonical: &[Rc<Block>]) -> Self {
        let mut index = Self::default();
        for block in canonical {
            index.add(block);
        }
        index
    }

    fn add(&mut self, block: &Block) {
        for (table, facts) in [
            (&mut self.transactions, &block.transactions),
            (&mut self.outcomes, &block.outcomes),
            (&mut self.receipts, &block.receipts),
        ] {
            for fact in facts {
                table.entry(fact.id.clone()).or_insert_with(|| Rc::clone(fact));
            }
        }
    }

    fn generated(&self, id: &str) -> Vec<String> {
        let outcome = self.outcomes.get(id).map(|outcome| &outcome.value["outcome"]["receipt_ids"]);
        outcome.into_iter().flat_map(items).map(|id| text(id).to_owned()).collect()
    }

    /// The executed, depth first, and the generated that are not executed
    fn walk(&self, id: &str, order: &mut Vec<String>, pending: &mut Vec<String>) {
        if !self.outcomes.contains_key(id) {
            pending.push(id.to_owned());
            return;
        }
        order.push(id.to_owned());
        for child in self.generated(id) {
            self.walk(&child, order, pending);
        }
    }

    fn is_known_refund(&self, id: &str) -> bool {
        self.receipts.get(id).is_some_and(|body| body.value["predecessor_id"] == "system")
    }

    fn final_status(&self, id: &str) -> String {
        match self.outcomes.get(id).map(|outcome| &outcome.value["outcome"]["status"]) {
            None => json!("Started").to_string(),
            Some(status) => match status.get("SuccessReceiptId") {
                Some(next) => self.final_status(text(next)),
                None => status.to_string(),
            },
        }
    }
}

impl Oracle {
    pub(crate) fn new(retention: Retention) -> Self {
        Self {
            retention,
            arrivals: 0,
            blocks: HashMap::new(),
            last_final: None,
            configs: Vec::new(),
            index: Index::default(),
            index_before: Index::default(),
            canonical: Vec::new(),
            settled: HashSet::new(),
            local: HashSet::new(),
        }
    }

    pub(crate) fn put_config(&mut self, height: u64, config: String) {
        self.configs.push((height, config));
        self.configs.sort();
    }

    /// A block's branch, oldest first
    fn branch(&self, block: Option<&Rc<Block>>) -> Vec<Rc<Block>> {
        let mut branch: Vec<Rc<Block>> = block.cloned().into_iter().collect();
        while let Some(parent) =
            branch.last().and_then(|block| self.blocks.get(block.header("prev_hash")))
        {
            branch.push(Rc::clone(parent));
        }
        branch.reverse();
        branch
    }

    /// Whether the block has no place: its parent is unknown, or it would leave out what is final
    fn refuses(&self, block: &Block) -> bool {
        let Some(head) = self.canonical.last() else { return false };
        let Some(parent) = self.blocks.get(block.header("prev_hash")) else { return true };
        let branch = self.branch(Some(parent));
        let left_out = self.canonical.iter().filter(|one| lacks(&branch, one));
        let leaves_out_final = left_out
            .into_iter()
            .any(|one| self.last_final.is_some_and(|last| one.height <= last.height));
        // A fork of a fork that lost already is put aside with it.
        leaves_out_final && (block.height > head.height || !lacks(&self.canonical, parent))
    }

    /// Takes in a message; `None` when it is to be refused
    pub(crate) fn take(&mut self, json: &[u8]) -> Option<Taken> {
        self.arrivals += 1;
        let block = Rc::new(Block::read(json, self.arrivals));
        let counts = [block.transactions.len(), block.outcomes.len(), block.receipts.len()];
        let mut taken = Taken {
            place: Place::Known,
            undone: Vec::new(),
            redone: Vec::new(),
            last_final: self.last_final,
            counts,
        };
        if self.blocks.contains_key(&block.hash) {
            return Some(taken);
        }
        if self.refuses(&block) {
            return None;
        }
        self.blocks.insert(block.hash.clone(), Rc::clone(&block));
        // The branch of the highest block, the first of equals.
        let highest = self.blocks.values().max_by_key(|one| (one.height, Reverse(one.arrival)));
        let after = self.branch(highest);
        let before = core::mem::replace(&mut self.canonical, after);
        let after = &self.canonical;
        let undone = before.iter().rev().filter(|one| lacks(after, one));
        taken.undone = undone.map(|one| one.point()).collect();
        let redone = after.iter().filter(|one| lacks(&before, one) && one.hash != block.hash);
        taken.redone = redone.map(|one| one.point()).collect();
        taken.place = if lacks(after, &block) { Place::Aside } else { Place::Head };
        if taken.place == Place::Head
            && let Some(last) = self.blocks.get(block.header("last_final_block"))
            && self.last_final.is_none_or(|known| last.height > known.height)
        {
            self.last_final = Some(last.point());
        }
        self.forget();
        if taken.place == Place::Head {
            let index = Index::of(&self.canonical);
            self.index_before = core::mem::replace(&mut self.index, index);
        }
        self.settle();
        taken.last_final = self.last_final;
        Some(taken)
    }

    /// Forgets old blocks, and forks that nothing can be built upon any more
    fn forget(&mut self) {
        let kept = match self.retention {
            Retention::Blocks(blocks) => blocks as usize,
            Retention::Epochs(epochs) => {
                let mut seen: Vec<&str> = Vec::new();
                let newest_first = self.canonical.iter().rev();
                let of_newest = newest_first.take_while(|block| {
                    let epoch = block.header("epoch_id");
                    if !seen.contains(&epoch) {
                        seen.push(epoch);
                    }
                    seen.len() as u64 <= epochs
                });
                of_newest.count()
            }
            _ => usize::MAX,
        };
        let surplus = self.canonical.len().saturating_sub(kept);
        for block in self.canonical.drain(..surplus) {
            self.blocks.remove(&block.hash);
        }
        let canonical = &self.canonical;
        let floor = self.last_final.map(|last| last.height);
        self.blocks.retain(|hash, block| {
            floor.is_none_or(|floor| block.height > floor)
                || canonical.iter().any(|one| one.hash == *hash)
        });
    }

    /// Notes the transactions that have become final
    fn settle(&mut self) {
        let open = self.index.transactions.keys().filter(|hash| !self.settled.contains(*hash));
        let last: Vec<String> =
            open.filter(|hash| self.holds(hash, Milestone::Final)).cloned().collect();
        for hash in last {
            let mut order = Vec::new();
            self.index.walk(&hash, &mut order, &mut Vec::new());
            let transaction = &self.index.transactions[&hash].value;
            if transaction["signer_id"] == transaction["receiver_id"] {
                self.local.extend(self.index.generated(&hash).into_iter().next());
            }
            self.settled.extend(order);
        }
    }

    /// How many bodies of receipts have rows of their own, how many receipts wait for their
    /// transaction to be settled, and how many transactions are settled
    pub(crate) fn counts(&self) -> [usize; 3] {
        let Index { transactions, outcomes, receipts } = &self.index;
        let is_open = |id: &String| !self.settled.contains(id);
        let bodies = receipts.keys().filter(|id| is_open(id) || self.local.contains(*id)).count();
        let open = outcomes.keys().filter(|id| is_open(id));
        let named: HashSet<String> = open.flat_map(|id| self.index.generated(id)).collect();
        let settled = transactions.keys().filter(|id| !is_open(id)).count();
        [bodies, named.len(), settled]
    }

    /// How many blocks are known, on whatever fork
    pub(crate) fn known_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Whether a block of this height on the canonical chain is final
    fn is_final(&self, fact: &Fact) -> bool {
        self.last_final.is_some_and(|last| fact.height <= last.height)
    }

    /// Each milestone by the words of the interface
    pub(crate) fn holds(&self, hash: &str, milestone: Milestone) -> bool {
        let index = &self.index;
        if !index.transactions.contains_key(hash) {
            return false;
        }
        let Some(own) = index.outcomes.get(hash) else {
            return matches!(milestone, Milestone::None | Milestone::Included);
        };
        let (mut order, mut pending) = (Vec::new(), Vec::new());
        index.walk(hash, &mut order, &mut pending);
        let executed = pending.iter().all(|id| index.is_known_refund(id));
        match milestone {
            Milestone::None | Milestone::Included => true,
            Milestone::ExecutedOptimistic => executed,
            Milestone::IncludedFinal => self.is_final(own),
            Milestone::Executed => self.is_final(own) && executed,
            Milestone::Final => {
                pending.is_empty() && order.iter().all(|id| self.is_final(&index.outcomes[id]))
            }
        }
    }

    /// The greatest milestone that holds: if both of those in the middle do, so does the next
    pub(crate) fn milestone(&self, hash: &str) -> Option<Milestone> {
        Milestone::ALL.into_iter().rev().find(|milestone| self.holds(hash, *milestone))
    }

    /// How many refunds are known and not executed, if all else is
    pub(crate) fn pending_refunds(&self, hash: &str) -> usize {
        let mut pending = Vec::new();
        self.index.walk(hash, &mut Vec::new(), &mut pending);
        if pending.iter().all(|id| self.index.is_known_refund(id)) { pending.len() } else { 0 }
    }

    /// The result of the interface, if the transaction is known
    pub(crate) fn result(&self, hash: &str, with_receipts: bool) -> Option<String> {
        let index = &self.index;
        let transaction = index.transactions.get(hash)?;
        let milestone = self.milestone(hash)?;
        let mut result = format!(r#"{{"final_execution_status":"{milestone}""#);
        if let Some(own) = index.outcomes.get(hash) {
            let mut order = Vec::new();
            index.walk(hash, &mut order, &mut Vec::new());
            let listed = &order[1..];
            let joined = |table: &HashMap<String, Rc<Fact>>, ids: &[&String]| {
                let texts: Vec<&str> = ids.iter().map(|id| table[*id].text.as_str()).collect();
                texts.join(",")
            };
            if with_receipts {
                let to_itself = transaction.value["signer_id"] == transaction.value["receiver_id"];
                let local = index.generated(hash).into_iter().next().filter(|_| to_itself);
                let ids: Vec<&String> =
                    listed.iter().filter(|id| Some(*id) != local.as_ref()).collect();
                let _ = write!(result, r#","receipts":[{}]"#, joined(&index.receipts, &ids));
            }
            let _ = write!(
                result,
                r#","receipts_outcome":[{}],"status":{},"transaction":{},"transaction_outcome":{}"#,
                joined(&index.outcomes, &listed.iter().collect::<Vec<_>>()),
                index.final_status(hash),
                transaction.text,
                own.text,
            );
        }
        result.push('}');
        Some(result)
    }

    /// The whole answer to a question that does not wait
    pub(crate) fn answer(&self, hash: &str, with_receipts: bool, id: &Value) -> String {
        match self.result(hash, with_receipts) {
            Some(result) => format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#),
            None => failure(
                &json!({ "info": { "requested_transaction_hash": hash }, "name": "UNKNOWN_TRANSACTION" }),
                &format!("Transaction {hash} doesn't exist"),
                id,
            ),
        }
    }

    /// The whole answer when time is up
    pub(crate) fn timeout(
        &self,
        hash: &str,
        with_receipts: bool,
        with_cause: bool,
        id: &Value,
    ) -> String {
        let status = self.result(hash, with_receipts);
        let status = status.map(|status| serde_json::from_str::<Value>(&status).expect("JSON"));
        let cause = match (with_cause, status) {
            (false, _) => json!({ "name": "TIMEOUT_ERROR" }),
            (true, None) => {
                json!({ "info": { "cause": "NOT_OBSERVED" }, "name": "TIMEOUT_ERROR" })
            }
            (true, Some(status)) => json!({
                "info": { "cause": "PENDING", "status": status },
                "name": "TIMEOUT_ERROR",
            }),
        };
        failure(&cause, "Timeout", id)
    }

    /// The whole answer about the configuration in force at this block, and its class
    pub(crate) fn config(&self, params: &Value, id: &Value) -> (String, AnswerClass) {
        let head = self.canonical.last().expect("a head");
        let known = |hash: &str| self.blocks.get(hash).map(|block| block.height);
        let last_final = self.last_final.map(|last| last.height);
        let named = |name: &str| {
            params.as_object().into_iter().flatten().any(|(_, selector)| selector == name)
        };
        let mut class = AnswerClass::Handler;
        let found = if let Some(height) = params["block_id"].as_u64() {
            if height < head.height {
                class = AnswerClass::SkippedBlock;
            }
            let found = self.canonical.iter().find(|block| block.height == height);
            found
                .map(|block| block.height)
                .ok_or_else(|| format!("DB Not Found Error: BLOCK HEIGHT: {height}"))
        } else if let Some(hash) = params["block_id"].as_str() {
            known(hash).ok_or_else(|| format!("DB Not Found Error: BLOCK HEADER: {hash}"))
        } else if named("optimistic") {
            Ok(head.height)
        } else if named("near-final") {
            // What is final is almost final as well.
            let near_final = known(head.header("last_ds_final_block")).max(last_final);
            near_final.ok_or_else(|| "NEAR-FINAL HEAD".to_owned())
        } else if named("final") {
            last_final.ok_or_else(|| "FINAL HEAD".to_owned())
        } else if named("genesis") {
            Ok(self.configs[0].0)
        } else {
            Ok(self.canonical[0].height)
        };
        match found {
            Ok(height) => {
                let in_force = self.configs.iter().rfind(|(first, _)| *first <= height);
                let config = &in_force.expect("the first is in force from the genesis on").1;
                let answer = format!(r#"{{"jsonrpc":"2.0","result":{config},"id":{id}}}"#);
                (answer, AnswerClass::Result)
            }
            Err(which) => {
                let cause = json!({ "info": {}, "name": "UNKNOWN_BLOCK" });
                (failure(&cause, &format!("Block Not Found: {which}"), id), class)
            }
        }
    }
}

fn failure(cause: &Value, data: &str, id: &Value) -> String {
    let data = json!(data);
    format!(
        r#"{{"jsonrpc":"2.0","error":{{"name":"HANDLER_ERROR","cause":{cause},"code":-32000,"message":"Server error","data":{data}}},"id":{id}}}"#
    )
}
