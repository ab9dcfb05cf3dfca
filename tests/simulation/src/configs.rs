//! The naive configurations: of epochs, kept by epochs that have none, and from a height on.

use std::collections::HashMap;
use std::rc::Rc;

use milepost::rpc::ResponseKind;
use serde_json::{Value, json};

use crate::block::Block;
use crate::hashes::{Hashes, Id};
use crate::oracle::Oracle;

/// The configurations that were imported
#[derive(Default)]
pub(crate) struct Configs {
    of_epochs: HashMap<Id, String>,
    /// What epochs have taken over from the one before, with the height up to which that was in
    /// force
    kept: HashMap<Id, (u64, String)>,
    /// Configurations that are in force from a height on
    named: Vec<(u64, String)>,
}

impl Configs {
    pub(crate) fn put(&mut self, height: u64, config: String) {
        self.named.push((height, config));
        self.named.sort();
    }

    pub(crate) fn put_of_epoch(&mut self, epoch: Id, config: String) {
        self.of_epochs.insert(epoch, config);
    }

    /// Number of rows
    pub(crate) fn rows(&self) -> usize {
        let kept = self.kept.keys().filter(|epoch| !self.of_epochs.contains_key(epoch));
        self.named.len() + self.of_epochs.len() + kept.count()
    }

    /// Whether a block is in an epoch that keeps the configuration of the one before
    pub(crate) fn is_kept(&self, block: &Block) -> bool {
        let has_own = block.epoch.is_some_and(|epoch| self.of_epochs.contains_key(&epoch));
        !has_own && self.of_epoch(block).is_some()
    }

    /// The configuration that is in force at a block by its epoch: its own, or what stays in force
    /// from the one before
    fn of_epoch(&self, block: &Block) -> Option<&String> {
        let epoch = block.epoch?;
        if let Some(own) = self.of_epochs.get(&epoch) {
            return Some(own);
        }
        let (parent, kept) = self.kept.get(&epoch)?;
        let mut named = self.named.iter().map(|(first, _)| *first);
        (!named.any(|first| *parent < first && first <= block.height)).then_some(kept)
    }

    /// Keeps what is in force at the parent of a block, if that belongs to another epoch
    pub(crate) fn keep(&mut self, block: &Block, parent: Option<&Block>) {
        let (Some(epoch), Some(parent)) = (block.epoch, parent) else { return };
        let is_known = self.of_epochs.contains_key(&epoch) || self.kept.contains_key(&epoch);
        if !is_known
            && parent.epoch != block.epoch
            && let Some(config) = self.of_epoch(parent)
        {
            self.kept.insert(epoch, (parent.height, config.clone()));
        }
    }

    /// The configuration in force at a block
    fn at(&self, block: &Block) -> &str {
        let in_force = self.named.iter().rfind(|(first, _)| *first <= block.height);
        let in_force = self.of_epoch(block).or(in_force.map(|(_, config)| config));
        in_force.expect("the first configuration is in force from the genesis")
    }
}

impl Oracle {
    /// Whether no further block can include a transaction with this base block: all of them come
    /// after the last final one. The chain has no gap, so a canonical block that is kept is
    /// followed by all others
    pub(crate) fn is_expired(&self, base: Option<Id>) -> bool {
        let base = self.canonical.iter().find(|block| Some(block.id) == base);
        let (Some(base), Some(last_final), Some(head)) =
            (base, self.last_final.as_ref(), self.head())
        else {
            return false;
        };
        let config: Value = serde_json::from_str(self.configs.at(head)).expect("JSON");
        let period = config["transaction_validity_period"].as_u64().expect("a number");
        last_final.height > base.height + period
    }

    /// Whether a block is an orphan in another epoch than the canonical chain at its height
    pub(crate) fn is_in_other_epoch(&self, block: &Block) -> bool {
        let canonical = self.canonical.iter().rfind(|one| one.height <= block.height);
        self.knows(block.number) && canonical.is_some_and(|one| one.epoch != block.epoch)
    }

    /// The response with the configuration in force at a block, and its kind
    pub(crate) fn config(
        &self,
        params: &Value,
        id: &Value,
        hashes: &Hashes,
    ) -> (String, ResponseKind) {
        let head = self.head().expect("a block");
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
            let found = self.known.iter().find(|block| hashes.text(block.id) == hash);
            found.ok_or_else(|| format!("DB Not Found Error: BLOCK HEADER: {hash}"))
        } else if named("optimistic") {
            Ok(head)
        } else if named("near-final") {
            // A final block is nearly final as well.
            let near_final =
                self.block(head.near_final).into_iter().chain(self.last_final.as_ref());
            near_final.max_by_key(|block| block.height).ok_or_else(|| "NEAR-FINAL HEAD".to_owned())
        } else if named("final") {
            self.last_final.as_ref().ok_or_else(|| "FINAL HEAD".to_owned())
        } else if named("genesis") {
            return (result(&self.configs.named[0].1, id), ResponseKind::Result);
        } else {
            Ok(&self.canonical[0])
        };
        match found.map(Rc::as_ref) {
            Ok(block) => (result(self.configs.at(block), id), ResponseKind::Result),
            Err(which) => {
                let data = json!(format!("Block Not Found: {which}"));
                let error = format!(
                    r#"{{"jsonrpc":"2.0","error":{{"name":"HANDLER_ERROR","cause":{{"info":{{}},"name":"UNKNOWN_BLOCK"}},"code":-32000,"message":"Server error","data":{data}}},"id":{id}}}"#
                );
                (error, kind)
            }
        }
    }
}

fn result(config: &str, id: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","result":{config},"id":{id}}}"#)
}
