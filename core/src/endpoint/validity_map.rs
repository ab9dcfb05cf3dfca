//! The waits by signed transaction of an endpoint, and the effect of a block on each.
//!
//! A block wakes a wait when the last final block passes the last height of its transaction, when
//! its base block joins the chain or blocks leave it, and when a transaction that has used the
//! nonce becomes final. While none waits, a block costs nothing but its place among the last few,
//! which are kept. Otherwise it costs a comparison with each wait, and kept are the waits, and the
//! nonces of their access keys in blocks that are not final. A wake-up decides nothing: the request
//! is evaluated again.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use hashbrown::HashMap;

use super::pending_request::RetainedRequest;
use super::validity::{IncludedNonce, UsedNonce, WakesOn};
use crate::import::{ChainUpdate, JoinedBlock};
use crate::primitives::{BlockHeight, CryptoHash, HashBuilder, Nonce};
use crate::waiting::RequestHandle;

/// Updates whose transactions are kept, for requests that were evaluated before them
const MAX_RECENT: usize = 8;

/// The waits by signed transaction
#[derive(Debug, Default)]
pub(super) struct ValidityMap {
    requests: HashMap<RequestHandle, Vec<Entry>, HashBuilder>,
    /// By their salted names: clients choose access keys, and could make their hashes collide
    access_keys: HashMap<CryptoHash, KeyState, HashBuilder>,
    /// The salt of the names, which clients do not know
    hash_seed: u64,
    /// The access keys and nonces in blocks that are not final
    unfinal: Vec<(CryptoHash, UsedNonce)>,
    last_final: Option<BlockHeight>,
    /// The blocks of the last updates, oldest first
    recent: Vec<RecentUpdate>,
}

/// The blocks of an update, oldest first
#[derive(Debug)]
struct RecentUpdate {
    /// The generation after it
    generation: u64,
    blocks: Arc<Vec<JoinedBlock>>,
    /// Number of blocks that have not left the chain since
    count: usize,
}

/// A call of a request
#[derive(Debug)]
struct Entry {
    access_key: CryptoHash,
    nonce: Nonce,
    wakes_on: WakesOn,
}

/// An access key that is waited for
#[derive(Debug, Default)]
struct KeyState {
    /// Number of calls
    calls: usize,
    /// The greatest nonce in a final block since the first of them waits
    used: Option<UsedNonce>,
    /// Whether the newest update made it so
    is_new: bool,
}

impl ValidityMap {
    /// An empty map; `hash_seed` is that of [`WaiterMap::new`](crate::waiting::WaiterMap::new)
    pub(super) fn new(hash_seed: u64) -> Self {
        Self { hash_seed, ..Self::default() }
    }

    /// The name of an access key here
    pub(super) fn salted(&self, access_key: CryptoHash) -> CryptoHash {
        CryptoHash::digest(&[&self.hash_seed.to_le_bytes()[..], access_key.as_bytes()].concat())
    }

    /// Takes in what a request waits for that was evaluated at this generation; returns whether it
    /// has to be evaluated again, because a nonce is found to be used
    ///
    /// The handle must be that of a pending request, and be removed with it.
    pub(super) fn insert(
        &mut self,
        handle: RequestHandle,
        mut request: RetainedRequest,
        generation: u64,
    ) -> (RetainedRequest, bool) {
        let entries: Vec<Entry> = request
            .validities_mut()
            .map(|validity| Entry {
                access_key: self.salted(validity.access_key()),
                nonce: validity.nonce(),
                wakes_on: validity.wakes_on(),
            })
            .collect();
        // Before the former entries are removed, so that what is known of a key remains.
        for entry in &entries {
            self.retain_key(entry.access_key, generation);
        }
        self.remove(handle);
        if entries.is_empty() {
            return (request, false);
        }
        self.requests.insert(handle, entries);
        let is_changed = self.set_used(&mut request);
        (request, is_changed)
    }

    /// Removes a request, if it is there
    pub(super) fn remove(&mut self, handle: RequestHandle) {
        for entry in self.requests.remove(&handle).unwrap_or_default() {
            if let Some(key) = self.access_keys.get_mut(&entry.access_key) {
                key.calls -= 1;
                if key.calls == 0 {
                    self.access_keys.remove(&entry.access_key);
                }
            }
        }
    }

    /// Takes in what a block changed, given the generation that was known before; returns the
    /// requests to evaluate again
    pub(super) fn handle_chain_update(
        &mut self,
        update: &ChainUpdate,
        generation: u64,
    ) -> Vec<RequestHandle> {
        let mut woken = Vec::new();
        if update.generation == generation {
            return woken;
        }
        if update.previous_generation != generation {
            // Blocks may have left the chain with the updates that were missed. All requests are
            // woken then.
            self.unfinal.clear();
            self.recent.clear();
        }
        if let Some(root) = update.reverted_above {
            self.unfinal.retain(|(_, used)| used.height <= root);
            for RecentUpdate { blocks, count, .. } in &mut self.recent {
                *count = blocks[..*count].partition_point(|block| block.point.height <= root);
            }
        }
        self.last_final = update.last_final;
        if self.access_keys.is_empty() {
            self.unfinal.clear();
        } else {
            self.access_keys.values_mut().for_each(|key| key.is_new = false);
            self.add_nonces(&update.joined, None);
            self.finalize();
        }
        let access_keys = &self.access_keys;
        let last_final = self.last_final;
        for (handle, entries) in &mut self.requests {
            for entry in entries {
                let is_used = access_keys.get(&entry.access_key).is_some_and(|key| {
                    key.is_new && key.used.is_some_and(|used| used.nonce >= entry.nonce)
                });
                let is_woken = match entry.wakes_on {
                    WakesOn::Nothing => false,
                    WakesOn::NonceOnly => is_used,
                    WakesOn::Height(last) if last_final.is_some_and(|height| height > last) => {
                        entry.wakes_on = WakesOn::NonceOnly;
                        true
                    }
                    WakesOn::Height(_) => is_used,
                    // A gap may have left the chain.
                    WakesOn::Base(base) => {
                        is_used
                            || update.reverted_above.is_some()
                            || update.joined.iter().any(|block| block.point.hash == base)
                    }
                };
                if is_woken {
                    woken.push(*handle);
                }
            }
        }
        woken.sort_unstable();
        if self.recent.len() == MAX_RECENT {
            self.recent.remove(0);
        }
        self.recent.push(RecentUpdate {
            generation: update.generation,
            blocks: Arc::clone(&update.joined),
            count: update.joined.len(),
        });
        woken
    }

    /// Counts one more call of an access key; the nonces of the first one are those since this
    /// generation
    fn retain_key(&mut self, access_key: CryptoHash, generation: u64) {
        let key = self.access_keys.entry(access_key).or_default();
        key.calls += 1;
        if key.calls > 1 {
            return;
        }
        let recent = mem::take(&mut self.recent);
        for update in recent.iter().filter(|update| update.generation > generation) {
            self.add_nonces(&update.blocks[..update.count], Some(access_key));
        }
        self.recent = recent;
        // No other request is woken by nonces of a key that is new.
        self.finalize();
    }

    /// Collects the nonces of the access keys that are waited for, or of this one
    fn add_nonces(&mut self, blocks: &[JoinedBlock], only: Option<CryptoHash>) {
        for row in blocks.iter().flat_map(|block| &block.transactions) {
            let Some(IncludedNonce { access_key, used }) = IncludedNonce::read(row) else {
                continue;
            };
            let access_key = self.salted(access_key);
            if self.access_keys.contains_key(&access_key)
                && only.is_none_or(|only| only == access_key)
            {
                self.unfinal.push((access_key, used));
            }
        }
    }

    /// Moves the nonces of final blocks to their access keys
    fn finalize(&mut self) {
        let Some(last_final) = self.last_final else { return };
        let access_keys = &mut self.access_keys;
        self.unfinal.retain(|(access_key, used)| {
            let is_final = used.height <= last_final;
            if is_final
                && let Some(key) = access_keys.get_mut(access_key)
                && key.used.is_none_or(|before| used.nonce > before.nonce)
            {
                (key.used, key.is_new) = (Some(*used), true);
            }
            !is_final
        });
    }

    /// Supplies the nonces that the access keys of a request have used; returns whether one of them
    /// is news to it
    pub(super) fn set_used(&self, request: &mut RetainedRequest) -> bool {
        let mut is_changed = false;
        if self.access_keys.is_empty() {
            return is_changed;
        }
        for validity in request.validities_mut() {
            let key = self.access_keys.get(&self.salted(validity.access_key()));
            let used = key.and_then(|key| key.used);
            is_changed |= validity.set_used(used);
        }
        is_changed
    }
}
