//! The oracle: computes the expected responses from whole messages.
//!
//! It keeps every imported message, finds the canonical chain by walking parents from the highest
//! block, and computes each response by recursion over the canonical messages. It shares the result
//! types of the engine and none of its code.

use core::cmp::Reverse;
use core::fmt::Write as _;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use milepost::import::{BlockPosition, Retention};
use milepost::rpc::ResponseKind;
use milepost::status::Milestone;
use milepost::storage::rows::BlockPoint;
use serde_json::{Value, json};

use super::delivery::StatusCall;

/// A transaction, an outcome or the body of a receipt in a block
pub(crate) struct Entry {
    pub(crate) id: String,
    /// Height of its block
    pub(crate) height: u64,
    pub(crate) value: Value,
    /// The value as compact text; serde_json sorts members
    pub(crate) text: String,
}

/// A block and its content
pub(crate) struct Block {
    pub(crate) hash: String,
    pub(crate) height: u64,
    pub(crate) message: Value,
    transactions: Vec<Rc<Entry>>,
    outcomes: Vec<Rc<Entry>>,
    receipts: Vec<Rc<Entry>>,
    /// Its position in the order of import
    import_number: usize,
}

/// The expected summary of an import
#[derive(Debug, PartialEq)]
pub(crate) struct ExpectedImport {
    pub(crate) position: BlockPosition,
    pub(crate) reverted: Vec<BlockPoint>,
    pub(crate) reapplied: Vec<BlockPoint>,
    pub(crate) last_final: Option<BlockPoint>,
    pub(crate) counts: [usize; 3],
}

/// The content of the canonical blocks, by id
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) transactions: HashMap<String, Rc<Entry>>,
    pub(crate) outcomes: HashMap<String, Rc<Entry>>,
    pub(crate) receipts: HashMap<String, Rc<Entry>>,
}

/// The naive chain
pub(crate) struct Oracle {
    retention: Retention,
    imported: usize,
    blocks: HashMap<String, Rc<Block>>,
    /// The highest block that the header of any head named as final
    pub(crate) last_final: Option<BlockPoint>,
    /// The configurations of epochs
    epoch_configs: HashMap<String, String>,
    /// What epochs have taken over from the one before, with the height up to which that was in
    /// force
    kept_configs: HashMap<String, (u64, String)>,
    /// Configurations that are in force from a height on
    configs: Vec<(u64, String)>,
    pub(crate) index: Index,
    /// The index before the last block that changed it
    pub(crate) index_before: Index,
    pub(crate) canonical: Vec<Rc<Block>>,
    /// Ids of all transactions that were final once, and of their receipts
    finalized: HashSet<String>,
    /// Those of them that are local receipts, which no response has
    local: HashSet<String>,
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn contains(chain: &[Rc<Block>], block: &Block) -> bool {
    chain.iter().any(|one| one.hash == block.hash)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().into_iter().flatten()
}

impl Block {
    fn read(json: &[u8], import_number: usize) -> Self {
        let message: Value = serde_json::from_slice(json).expect("a message in JSON");
        let header = &message["block"]["header"];
        let height = header["height"].as_u64().expect("a height");
        let entry = |id: &Value, value: &Value| {
            let (id, value) = (text(id).to_owned(), value.clone());
            Rc::new(Entry { id, height, text: value.to_string(), value })
        };
        let (mut transactions, mut outcomes) = (Vec::new(), Vec::new());
        let mut receipts: Vec<Rc<Entry>> = Vec::new();
        for shard in items(&message["shards"]) {
            let chunk = &shard["chunk"];
            let executed = items(&shard["receipt_execution_outcomes"]);
            for included in items(&chunk["transactions"]) {
                let transaction = &included["transaction"];
                transactions.push(entry(&transaction["hash"], transaction));
                let outcome = &included["outcome"]["execution_outcome"];
                if !outcome.is_null() {
                    outcomes.push(entry(&outcome["id"], outcome));
                }
            }
            let bodies = items(&chunk["receipts"]).chain(items(&chunk["local_receipts"]));
            let bodies = bodies.chain(executed.clone().map(|entry| &entry["receipt"]));
            for body in bodies.filter(|body| !body.is_null()) {
                let id = &body["receipt_id"];
                if receipts.iter().all(|known| known.id != text(id)) {
                    receipts.push(entry(id, body));
                }
            }
            for outcome in executed.map(|entry| &entry["execution_outcome"]) {
                outcomes.push(entry(&outcome["id"], outcome));
            }
        }
        let hash = text(&header["hash"]).to_owned();
        Self { hash, height, message, transactions, outcomes, receipts, import_number }
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
    /// The content of these blocks; of equal ids the entry of the first block counts
    fn of(canonical: &[Rc<Block>]) -> Self {
        let mut index = Self::default();
        for block in canonical {
            index.add(block);
        }
        index
    }

    fn add(&mut self, block: &Block) {
        for (table, entries) in [
            (&mut self.transactions, &block.transactions),
            (&mut self.outcomes, &block.outcomes),
            (&mut self.receipts, &block.receipts),
        ] {
            for entry in entries {
                table.entry(entry.id.clone()).or_insert_with(|| Rc::clone(entry));
            }
        }
    }

    fn generated(&self, id: &str) -> Vec<String> {
        let outcome = self.outcomes.get(id).map(|outcome| &outcome.value["outcome"]["receipt_ids"]);
        outcome.into_iter().flat_map(items).map(|id| text(id).to_owned()).collect()
    }

    /// Collects the executed receipts, depth first, and the generated ones that are pending
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
            imported: 0,
            blocks: HashMap::new(),
            last_final: None,
            epoch_configs: HashMap::new(),
            kept_configs: HashMap::new(),
            configs: Vec::new(),
            index: Index::default(),
            index_before: Index::default(),
            canonical: Vec::new(),
            finalized: HashSet::new(),
            local: HashSet::new(),
        }
    }

    pub(crate) fn put_config(&mut self, height: u64, config: String) {
        self.configs.push((height, config));
        self.configs.sort();
    }

    pub(crate) fn put_epoch_config(&mut self, epoch_id: String, config: String) {
        self.epoch_configs.insert(epoch_id, config);
    }

    /// Number of rows of configurations
    pub(crate) fn config_rows(&self) -> usize {
        let kept = self.kept_configs.keys();
        let kept = kept.filter(|epoch_id| !self.epoch_configs.contains_key(*epoch_id));
        self.configs.len() + self.epoch_configs.len() + kept.count()
    }

    /// Whether a block is an orphan in another epoch than the canonical chain at its height
    pub(crate) fn is_in_other_epoch(&self, hash: &str) -> bool {
        let Some(block) = self.blocks.get(hash) else { return false };
        let canonical = self.canonical.iter().rfind(|one| one.height <= block.height);
        canonical.is_some_and(|one| one.header("epoch_id") != block.header("epoch_id"))
    }

    /// Whether a block is in an epoch that keeps the configuration of the one before
    pub(crate) fn is_kept(&self, hash: &str) -> bool {
        let block = self.blocks.get(hash);
        block.is_some_and(|block| {
            !self.epoch_configs.contains_key(block.header("epoch_id"))
                && self.config_of_epoch(block).is_some()
        })
    }

    /// The configuration that is in force at a block by its epoch: its own, or what stays in force
    /// from the one before
    fn config_of_epoch(&self, block: &Block) -> Option<&String> {
        let epoch_id = block.header("epoch_id");
        if let Some(own) = self.epoch_configs.get(epoch_id) {
            return Some(own);
        }
        let (parent, kept) = self.kept_configs.get(epoch_id)?;
        let mut named = self.configs.iter().map(|(first, _)| *first);
        (!named.any(|first| *parent < first && first <= block.height)).then_some(kept)
    }

    /// Keeps what is in force at the parent of a block, if that is of another epoch
    fn keep_config(&mut self, block: &Block) {
        let epoch_id = block.header("epoch_id");
        let is_known =
            self.epoch_configs.contains_key(epoch_id) || self.kept_configs.contains_key(epoch_id);
        let Some(parent) = self.blocks.get(block.header("prev_hash")) else { return };
        if !is_known
            && parent.header("epoch_id") != epoch_id
            && let Some(config) = self.config_of_epoch(parent)
        {
            let kept = (parent.height, config.clone());
            self.kept_configs.insert(epoch_id.to_owned(), kept);
        }
    }

    /// The branch of a block, oldest first
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

    /// Whether import rejects the block: its parent is unknown, or it would revert a final block
    fn rejects(&self, block: &Block) -> bool {
        let Some(head) = self.canonical.last() else { return false };
        let Some(parent) = self.blocks.get(block.header("prev_hash")) else { return true };
        let branch = self.branch(Some(parent));
        let reverted = self.canonical.iter().filter(|one| !contains(&branch, one));
        let reverts_final = reverted
            .into_iter()
            .any(|one| self.last_final.is_some_and(|last| one.height <= last.height));
        // The child of a fork block is a fork block, unless it would be the head.
        reverts_final && (block.height > head.height || contains(&self.canonical, parent))
    }

    /// Imports a message; returns `None` if it must be rejected
    pub(crate) fn import(&mut self, json: &[u8]) -> Option<ExpectedImport> {
        self.imported += 1;
        let block = Rc::new(Block::read(json, self.imported));
        let counts = [block.transactions.len(), block.outcomes.len(), block.receipts.len()];
        let mut summary = ExpectedImport {
            position: BlockPosition::Known,
            reverted: Vec::new(),
            reapplied: Vec::new(),
            last_final: self.last_final,
            counts,
        };
        if self.blocks.contains_key(&block.hash) {
            return Some(summary);
        }
        if self.rejects(&block) {
            return None;
        }
        self.keep_config(&block);
        self.blocks.insert(block.hash.clone(), Rc::clone(&block));
        // The canonical chain is the branch of the highest block; of equal heights the first.
        let highest =
            self.blocks.values().max_by_key(|one| (one.height, Reverse(one.import_number)));
        let after = self.branch(highest);
        let before = core::mem::replace(&mut self.canonical, after);
        let after = &self.canonical;
        let reverted = before.iter().rev().filter(|one| !contains(after, one));
        summary.reverted = reverted.map(|one| one.point()).collect();
        let reapplied =
            after.iter().filter(|one| !contains(&before, one) && one.hash != block.hash);
        summary.reapplied = reapplied.map(|one| one.point()).collect();
        summary.position =
            if contains(after, &block) { BlockPosition::Head } else { BlockPosition::Fork };
        if summary.position == BlockPosition::Head
            && let Some(last) = self.blocks.get(block.header("last_final_block"))
            && self.last_final.is_none_or(|known| last.height > known.height)
        {
            self.last_final = Some(last.point());
        }
        self.prune();
        if summary.position == BlockPosition::Head {
            let index = Index::of(&self.canonical);
            self.index_before = core::mem::replace(&mut self.index, index);
        }
        self.update_finalized();
        summary.last_final = self.last_final;
        Some(summary)
    }

    /// Removes blocks beyond retention, and forks at or below the last final height
    fn prune(&mut self) {
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

    /// Adds the transactions that have become final
    fn update_finalized(&mut self) {
        let candidates =
            self.index.transactions.keys().filter(|hash| !self.finalized.contains(*hash));
        let new: Vec<String> =
            candidates.filter(|hash| self.satisfies(hash, Milestone::Final)).cloned().collect();
        for hash in new {
            let mut order = Vec::new();
            self.index.walk(&hash, &mut order, &mut Vec::new());
            let transaction = &self.index.transactions[&hash].value;
            if transaction["signer_id"] == transaction["receiver_id"] {
                self.local.extend(self.index.generated(&hash).into_iter().next());
            }
            self.finalized.extend(order);
        }
    }

    /// The numbers of receipt bodies with a row, of receipt parents, and of finalized transactions
    pub(crate) fn counts(&self) -> [usize; 3] {
        let Index { transactions, outcomes, receipts } = &self.index;
        let not_finalized = |id: &String| !self.finalized.contains(id);
        let bodies =
            receipts.keys().filter(|id| not_finalized(id) || self.local.contains(*id)).count();
        let generating = outcomes.keys().filter(|id| not_finalized(id));
        let generated: HashSet<String> =
            generating.flat_map(|id| self.index.generated(id)).collect();
        let finalized = transactions.keys().filter(|id| !not_finalized(id)).count();
        [bodies, generated.len(), finalized]
    }

    /// The number of known blocks, on all forks
    pub(crate) fn known_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Whether the canonical block of this entry is final
    fn is_final(&self, entry: &Entry) -> bool {
        self.last_final.is_some_and(|last| entry.height <= last.height)
    }

    /// Whether a milestone is satisfied, by its definition in the interface
    pub(crate) fn satisfies(&self, hash: &str, milestone: Milestone) -> bool {
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

    /// The greatest satisfied milestone
    pub(crate) fn milestone(&self, hash: &str) -> Option<Milestone> {
        Milestone::ALL.into_iter().rev().find(|milestone| self.satisfies(hash, *milestone))
    }

    /// The number of pending refunds, or 0 if other receipts are pending
    pub(crate) fn pending_refunds(&self, hash: &str) -> usize {
        let mut pending = Vec::new();
        self.index.walk(hash, &mut Vec::new(), &mut pending);
        if pending.iter().all(|id| self.index.is_known_refund(id)) { pending.len() } else { 0 }
    }

    /// The result, or `None` for an unknown transaction
    pub(crate) fn result(&self, hash: &str, with_receipts: bool) -> Option<String> {
        let index = &self.index;
        let transaction = index.transactions.get(hash)?;
        let milestone = self.milestone(hash)?;
        let mut result = format!(r#"{{"final_execution_status":"{milestone}""#);
        if let Some(own) = index.outcomes.get(hash) {
            let mut order = Vec::new();
            index.walk(hash, &mut order, &mut Vec::new());
            let listed = &order[1..];
            let joined = |table: &HashMap<String, Rc<Entry>>, ids: &[&String]| {
                let texts: Vec<&str> = ids.iter().map(|id| table[*id].text.as_str()).collect();
                texts.join(",")
            };
            if with_receipts {
                let signer_is_receiver =
                    transaction.value["signer_id"] == transaction.value["receiver_id"];
                let local = index.generated(hash).into_iter().next().filter(|_| signer_is_receiver);
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

    /// The response to a request that does not wait
    pub(crate) fn response(&self, call: &StatusCall, id: &Value) -> String {
        let hash = &call.hash;
        match self.result(hash, call.with_receipts()) {
            Some(result) => format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#),
            None if self.is_invalid(call) => failure(
                &json!({ "info": {}, "name": "INVALID_TRANSACTION" }),
                &json!({ "TxExecutionError": { "InvalidTxError": "Expired" } }),
                id,
            ),
            None => failure(
                &json!({ "info": { "requested_transaction_hash": hash }, "name": "UNKNOWN_TRANSACTION" }),
                &json!(format!("Transaction {hash} doesn't exist")),
                id,
            ),
        }
    }

    /// Whether the request has a transaction that is in no block, and no further one can include
    pub(crate) fn is_invalid(&self, call: &StatusCall) -> bool {
        let is_known = self.index.transactions.contains_key(&call.hash);
        call.by_bytes && !is_known && self.is_expired(&call.base)
    }

    /// Whether no further block can include a transaction with this base block: all of them come
    /// after the last final one. The chain has no gap, so a canonical block that is kept is
    /// followed by all others
    fn is_expired(&self, base: &str) -> bool {
        let base = self.canonical.iter().find(|block| block.hash == base);
        let (Some(base), Some(last_final)) = (base, self.last_final) else { return false };
        let config = self.config_at(self.head());
        let config: Value = serde_json::from_str(config).expect("JSON");
        let period = config["transaction_validity_period"].as_u64().expect("a number");
        last_final.height > base.height + period
    }

    fn head(&self) -> &Block {
        self.canonical.last().expect("a head")
    }

    /// The configuration in force at a block
    fn config_at(&self, block: &Block) -> &str {
        self.config_of_epoch(block).map_or_else(|| self.config_from(block.height), String::as_str)
    }

    /// The configuration that is in force from the last height at or below this one
    fn config_from(&self, height: u64) -> &str {
        let in_force = self.configs.iter().rfind(|(first, _)| *first <= height);
        &in_force.expect("the first configuration is in force from the genesis").1
    }

    /// The response at the deadline
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
        failure(&cause, &json!("Timeout"), id)
    }

    /// The response with the configuration in force at a block, and its kind
    pub(crate) fn config(&self, params: &Value, id: &Value) -> (String, ResponseKind) {
        let head = self.head();
        let known = |hash: &str| self.blocks.get(hash);
        let last_final = self.last_final.and_then(|last| known(&last.hash.to_string()));
        let named = |name: &str| {
            params.as_object().into_iter().flatten().any(|(_, selector)| selector == name)
        };
        let mut kind = ResponseKind::Handler;
        let found = if let Some(height) = params["block_id"].as_u64() {
            if height < head.height {
                kind = ResponseKind::SkippedBlock;
            }
            let found = self.canonical.iter().find(|block| block.height == height);
            found.ok_or_else(|| format!("DB Not Found Error: BLOCK HEIGHT: {height}"))
        } else if let Some(hash) = params["block_id"].as_str() {
            known(hash).ok_or_else(|| format!("DB Not Found Error: BLOCK HEADER: {hash}"))
        } else if named("optimistic") {
            self.canonical.last().ok_or_else(String::new)
        } else if named("near-final") {
            // A final block is nearly final as well.
            let near_final = known(head.header("last_ds_final_block")).into_iter();
            let near_final = near_final.chain(last_final).max_by_key(|block| block.height);
            near_final.ok_or_else(|| "NEAR-FINAL HEAD".to_owned())
        } else if named("final") {
            last_final.ok_or_else(|| "FINAL HEAD".to_owned())
        } else if named("genesis") {
            return (config_response(&self.configs[0].1, id), ResponseKind::Result);
        } else {
            Ok(&self.canonical[0])
        };
        match found {
            Ok(block) => (config_response(self.config_at(block), id), ResponseKind::Result),
            Err(which) => {
                let cause = json!({ "info": {}, "name": "UNKNOWN_BLOCK" });
                (failure(&cause, &json!(format!("Block Not Found: {which}")), id), kind)
            }
        }
    }
}

fn config_response(config: &str, id: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","result":{config},"id":{id}}}"#)
}

fn failure(cause: &Value, data: &Value, id: &Value) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","error":{{"name":"HANDLER_ERROR","cause":{cause},"code":-32000,"message":"Server error","data":{data}}},"id":{id}}}"#
    )
}
