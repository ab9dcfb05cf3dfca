//! The waits by signed transaction of an endpoint, indexed by what makes a transaction invalid.
//!
//! A block wakes a wait when the head passes the last height of its transaction, when its base
//! block joins the chain or blocks leave it, and when a transaction that has used the nonce becomes
//! final. While none waits, a block costs nothing but its place among the last few, which are kept.
//! Otherwise kept are the waits, and the nonces of their access keys in blocks that are not final.
//! A wake-up decides nothing: the request is evaluated again.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use super::pending_request::RetainedRequest;
use super::validity::{AccessKey, IncludedNonce, UsedNonce, WakesOn};
use crate::import::{ChainUpdate, JoinedBlock};
use crate::primitives::{BlockHeight, CryptoHash, Nonce};
use crate::waiting::RequestHandle;

/// Updates whose transactions are kept, for requests that were evaluated before them
const MAX_RECENT: usize = 8;

/// The waits by signed transaction
#[derive(Debug, Default)]
pub(super) struct ValidityMap {
    requests: BTreeMap<RequestHandle, Vec<Entry>>,
    /// By signer and key
    access_keys: BTreeMap<Arc<str>, BTreeMap<CryptoHash, KeyState>>,
    by_height: BTreeSet<(BlockHeight, RequestHandle)>,
    by_base: BTreeSet<(CryptoHash, RequestHandle)>,
    /// The nonces in blocks that are not final, by the height of the block
    unfinal: BTreeMap<BlockHeight, Vec<(AccessKey, Nonce)>>,
    last_final: Option<BlockHeight>,
    /// The blocks of the last updates, with the generation after each
    recent: VecDeque<(u64, Arc<Vec<JoinedBlock>>)>,
}

/// A call of a request
#[derive(Debug)]
struct Entry {
    access_key: AccessKey,
    nonce: Nonce,
    wakes_on: WakesOn,
}

/// An access key that is waited for
#[derive(Debug, Default)]
struct KeyState {
    /// Number of calls
    calls: usize,
    /// The nonces of those whose transaction is in no block
    nonces: BTreeSet<(Nonce, RequestHandle)>,
    /// The greatest nonce in a final block since the first of them waits
    used: Option<UsedNonce>,
}

impl ValidityMap {
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
                access_key: validity.access_key().clone(),
                nonce: validity.nonce(),
                wakes_on: validity.wakes_on(),
            })
            .collect();
        // Before the former entries are removed, so that what is known of a key remains.
        for entry in &entries {
            self.retain_key(&entry.access_key, generation);
        }
        self.remove(handle);
        if entries.is_empty() {
            return (request, false);
        }
        for Entry { access_key, nonce, wakes_on } in &entries {
            match *wakes_on {
                WakesOn::Nothing => continue,
                WakesOn::Height(height) => drop(self.by_height.insert((height, handle))),
                WakesOn::Base(base) => drop(self.by_base.insert((base, handle))),
                WakesOn::NonceOnly => {}
            }
            if let Some(key) = self.key(&access_key.signer, &access_key.key) {
                key.nonces.insert((*nonce, handle));
            }
        }
        self.requests.insert(handle, entries);
        let has_news = self.set_used(&mut request);
        (request, has_news)
    }

    /// Removes a request, if it is there
    pub(super) fn remove(&mut self, handle: RequestHandle) {
        for Entry { access_key, nonce, wakes_on } in
            self.requests.remove(&handle).unwrap_or_default()
        {
            match wakes_on {
                WakesOn::Height(height) => drop(self.by_height.remove(&(height, handle))),
                WakesOn::Base(base) => drop(self.by_base.remove(&(base, handle))),
                WakesOn::Nothing | WakesOn::NonceOnly => {}
            }
            let Some(keys) = self.access_keys.get_mut(&access_key.signer) else { continue };
            if let Some(key) = keys.get_mut(&access_key.key) {
                key.nonces.remove(&(nonce, handle));
                key.calls -= 1;
                if key.calls == 0 {
                    keys.remove(&access_key.key);
                }
            }
            if keys.is_empty() {
                self.access_keys.remove(&access_key.signer);
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
            self.unfinal.retain(|height, _| *height <= root);
            for (_, blocks) in &mut self.recent {
                Arc::make_mut(blocks).retain(|block| block.point.height <= root);
            }
            // A gap may have left the chain.
            woken.extend(self.by_base.iter().map(|(_, handle)| *handle));
        }
        for JoinedBlock { point, .. } in update.joined.iter() {
            let range = (point.hash, FIRST)..=(point.hash, LAST);
            woken.extend(self.by_base.range(range).map(|(_, handle)| *handle));
        }
        if let Some(head) = update.joined.last() {
            let later = self.by_height.split_off(&(head.point.height, FIRST));
            let passed = mem::replace(&mut self.by_height, later);
            woken.extend(passed.into_iter().map(|(_, handle)| handle));
        }
        self.last_final = update.last_final;
        if self.access_keys.is_empty() {
            self.unfinal.clear();
        } else {
            self.add_nonces(&update.joined, None);
            self.finalize(&mut woken);
        }
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((update.generation, Arc::clone(&update.joined)));
        woken
    }

    fn key(&mut self, signer: &str, key: &CryptoHash) -> Option<&mut KeyState> {
        self.access_keys.get_mut(signer)?.get_mut(key)
    }

    /// Counts one more call of an access key; the nonces of the first one are those since this
    /// generation
    fn retain_key(&mut self, access_key: &AccessKey, generation: u64) {
        let keys = self.access_keys.entry(Arc::clone(&access_key.signer)).or_default();
        let key = keys.entry(access_key.key).or_default();
        key.calls += 1;
        if key.calls > 1 {
            return;
        }
        let recent = mem::take(&mut self.recent);
        for (_, blocks) in recent.iter().filter(|(after, _)| *after > generation) {
            self.add_nonces(blocks, Some(access_key));
        }
        self.recent = recent;
        // No other request is woken by nonces of a key that is new.
        self.finalize(&mut Vec::new());
    }

    /// Collects the nonces of the access keys that are waited for, or of this one
    fn add_nonces(&mut self, blocks: &[JoinedBlock], only: Option<&AccessKey>) {
        for row in blocks.iter().flat_map(|block| &block.transactions) {
            let Some(included) = IncludedNonce::read(row) else { continue };
            let Some((signer, keys)) = self.access_keys.get_key_value(&*included.signer) else {
                continue;
            };
            let access_key = AccessKey { signer: Arc::clone(signer), key: included.key() };
            if keys.contains_key(&access_key.key) && only.is_none_or(|only| *only == access_key) {
                let UsedNonce { nonce, height } = included.used;
                self.unfinal.entry(height).or_default().push((access_key, nonce));
            }
        }
    }

    /// Takes in that blocks are final, and adds the requests that this wakes
    fn finalize(&mut self, woken: &mut Vec<RequestHandle>) {
        while let Some(entry) = self.unfinal.first_entry()
            && self.last_final.is_some_and(|last| *entry.key() <= last)
        {
            let (height, nonces) = entry.remove_entry();
            for (access_key, nonce) in nonces {
                let Some(key) = self.key(&access_key.signer, &access_key.key) else { continue };
                if key.used.is_none_or(|used| nonce > used.nonce) {
                    key.used = Some(UsedNonce { nonce, height });
                    let range = ..=(nonce, LAST);
                    woken.extend(key.nonces.range(range).map(|(_, handle)| *handle));
                }
            }
        }
    }

    /// Supplies the nonces that the access keys of a request have used; returns whether one of them
    /// is news to it
    pub(super) fn set_used(&mut self, request: &mut RetainedRequest) -> bool {
        let mut has_news = false;
        if self.access_keys.is_empty() {
            return has_news;
        }
        for validity in request.validities_mut() {
            let AccessKey { signer, key } = validity.access_key();
            let used = self.key(signer, key).and_then(|key| key.used);
            has_news |= validity.set_used(used);
        }
        has_news
    }
}

const FIRST: RequestHandle = RequestHandle::from_bits(0);
const LAST: RequestHandle = RequestHandle::from_bits(u64::MAX);
