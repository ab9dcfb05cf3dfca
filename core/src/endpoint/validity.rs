//! Whether a signed transaction that is in no block can still be included: what a call that waits
//! for it retains, and decides it from.
//!
//! It can not once the last final block is too far above its base block, or once a transaction with
//! the same access key has used at least its nonce in a final block. Either counts only if the base
//! block is canonical and no block since is missing: otherwise the transaction may be in that one.
//! Nonces of blocks are not stored: an endpoint collects those of the access keys that it knows
//! waits of ([`ValidityMap`](super::validity_map::ValidityMap)).

use alloc::format;
use alloc::string::ToString as _;

use super::config_check::ConfigCheck;
use crate::Error;
use crate::codec::json::Reader;
use crate::primitives::{BlockHeight, CryptoHash, Nonce};
use crate::rpc::InvalidTransaction;
use crate::storage::Row;
use crate::storage::rows::TransactionRecord;
use crate::transaction::EncodedTransaction;

/// The part of a signed transaction that is retained while it is waited for
#[derive(Clone, Debug)]
pub(super) struct Validity {
    access_key: CryptoHash,
    nonce: Nonce,
    base: CryptoHash,
    /// The greatest height of a block on top of which it can be included, once that is known
    last_height: Option<BlockHeight>,
    /// The nonce that its access key has used, unless that is lower
    used: Option<UsedNonce>,
    wakes_on: WakesOn,
}

/// What has to happen before the transaction is found to be invalid, except that its nonce is used
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WakesOn {
    /// It is in a block, which a fork may take away
    Nothing,
    /// A final block above this height
    Height(BlockHeight),
    /// That the base block becomes canonical, or that no block since is missing
    Base(CryptoHash),
    /// Only that its nonce is used: nothing is known of how long it is valid
    NonceOnly,
}

/// A nonce in a final block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct UsedNonce {
    pub(super) nonce: Nonce,
    /// The height of the block
    pub(super) height: BlockHeight,
}

impl Validity {
    /// Of a transaction that may be waited for
    pub(super) fn new(signed: &EncodedTransaction) -> Self {
        let signed = signed.decode();
        let transaction = signed.transaction();
        let public_key = transaction.public_key.to_string();
        Self {
            access_key: access_key(
                transaction.signer_id.as_str(),
                &public_key,
                transaction.nonce_index(),
            ),
            nonce: transaction.nonce(),
            base: transaction.block_hash,
            last_height: None,
            used: None,
            wakes_on: WakesOn::Nothing,
        }
    }

    pub(super) const fn base(&self) -> CryptoHash {
        self.base
    }

    pub(super) const fn access_key(&self) -> CryptoHash {
        self.access_key
    }

    pub(super) const fn nonce(&self) -> Nonce {
        self.nonce
    }

    pub(super) const fn wakes_on(&self) -> WakesOn {
        self.wakes_on
    }

    /// Why the transaction, which is in no block, can never be included; as a node does, expiry is
    /// looked at first
    pub(super) fn violation(
        &mut self,
        check: &ConfigCheck,
    ) -> Result<Option<InvalidTransaction>, Error> {
        let Some((base, last_final)) = check.heights else {
            self.wakes_on = WakesOn::Base(self.base);
            return Ok(None);
        };
        // The period is that of the genesis in every configuration of a chain.
        if self.last_height.is_none() {
            self.last_height = check.rules()?.and_then(|rules| rules.last_height(base));
        }
        self.wakes_on = self.last_height.map_or(WakesOn::NonceOnly, WakesOn::Height);
        if self.last_height.is_some_and(|last| last_final > last) {
            return Ok(Some(InvalidTransaction::Expired));
        }
        // It may be in a block that these rows lack.
        let used = self.used.filter(|used| used.height <= last_final);
        Ok(used.map(|UsedNonce { nonce, .. }| InvalidTransaction::InvalidNonce {
            access_key: nonce,
            transaction: self.nonce,
        }))
    }

    /// Takes in that the transaction is in a block
    pub(super) const fn set_included(&mut self) {
        self.wakes_on = WakesOn::Nothing;
    }

    /// Takes in the nonce that the access key has used; returns whether that decides something new
    pub(super) fn set_used(&mut self, used: Option<UsedNonce>) -> bool {
        let used = used.filter(|used| used.nonce >= self.nonce);
        let is_new = self.wakes_on != WakesOn::Nothing && used.is_some() && used != self.used;
        if is_new {
            self.used = used;
        }
        is_new
    }
}

/// The nonce that a transaction in a block has used
pub(super) struct IncludedNonce {
    pub(super) access_key: CryptoHash,
    pub(super) used: UsedNonce,
}

impl IncludedNonce {
    /// Reads the row of a transaction; `None` if it has members of other types
    pub(super) fn read(row: &Row) -> Option<Self> {
        let TransactionRecord { height, fragment, .. } = TransactionRecord::decode(row).ok()?;
        let mut reader = Reader::new(str::from_utf8(fragment).ok()?);
        let names = ["nonce", "nonce_index", "public_key", "signer_id"];
        let [nonce, index, public_key, signer] = reader.members(names, "a transaction").ok()?;
        let nonce_index = match index {
            None => None,
            Some(mut index) => match index.null().ok()? {
                true => None,
                // At most the limit, which fits.
                false => Some(index.unsigned(u16::MAX.into(), "u16").ok()? as u16),
            },
        };
        let nonce = nonce?.unsigned(u64::MAX, "u64").ok()?;
        let signer = signer?.text("an account").ok()?;
        let public_key = public_key?.text("a public key").ok()?;
        let access_key = access_key(&signer, &public_key, nonce_index);
        Some(Self { access_key, used: UsedNonce { nonce, height } })
    }
}

/// A name for an access key of an account, of the same length for keys of all schemes
///
/// The nonces of a gas key count as access keys of their own.
fn access_key(signer: &str, public_key: &str, nonce_index: Option<u16>) -> CryptoHash {
    let nonce_index = nonce_index.map_or(-1, i64::from);
    CryptoHash::digest(format!("{signer} {public_key} {nonce_index}").as_bytes())
}
