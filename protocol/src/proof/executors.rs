//! Who has to execute what: the signer a transaction, its receiver the receipt that it becomes, and
//! the receiver of a receipt that receipt.
//!
//! An outcome's leaf covers its executor, so a transaction or receipt of another account
//! contradicts a hash, in its own block or in the one that executes it.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::answer::Index;
use super::message::{Outcome, Shard};
use crate::primitives::CryptoHash;
use crate::{Error, ErrorKind};

/// The executors that a block names
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Executors {
    /// The executors of receipts that this block does not execute
    pub(super) awaited: Vec<(CryptoHash, Box<str>)>,
    /// The executor of each outcome, with the index of its shard
    pub(super) executed: Vec<(CryptoHash, usize, Box<str>)>,
}

impl Executors {
    /// Compares the transactions and receipts of shards with their outcomes
    ///
    /// # Errors
    ///
    /// The first transaction or receipt of another account.
    pub(super) fn of(shards: &[Shard<'_>]) -> Result<Self, Error> {
        let outcomes = || {
            let shards = shards.iter().enumerate();
            shards.flat_map(|(index, shard)| shard.outcomes.iter().map(move |it| (index, it)))
        };
        let listed: Vec<&Outcome<'_>> = outcomes().map(|(_, outcome)| outcome).collect();
        let index = Index::new(&mut listed.iter().map(|outcome| outcome.id));
        let executed = |id| index.all(id).last().map(|(_, position)| listed[*position]);
        let mut awaited: BTreeMap<CryptoHash, &Cow<'_, str>> = BTreeMap::new();
        let mut expect = |id, account, place: &dyn Fn() -> String| {
            let executor = executed(id).map(|outcome| &outcome.executor_id);
            let known = executor.unwrap_or_else(|| awaited.entry(id).or_insert(account));
            if known == account {
                return Ok(());
            }
            Err(of_another(executor.is_some(), known, account).at(place()))
        };
        for (index, shard) in shards.iter().enumerate() {
            for transaction in &shard.transactions {
                let place =
                    |name| format!("shards[{index}].transaction {}.{name}", transaction.hash);
                expect(transaction.hash, &transaction.signer_id, &|| place("signer_id"))?;
                let outcome = executed(transaction.hash);
                if let Some(id) = outcome.and_then(|outcome| outcome.success_receipt_id) {
                    expect(id, &transaction.receiver_id, &|| place("receiver_id"))?;
                }
            }
            for (id, receiver) in &shard.receipts {
                let place = || format!("shards[{index}].receipt {id}.receiver_id");
                expect(*id, receiver, &place)?;
            }
        }
        let owned = |account: &str| Box::from(account);
        Ok(Self {
            awaited: awaited.into_iter().map(|(id, account)| (id, owned(account))).collect(),
            executed: outcomes()
                .map(|(index, it)| (it.id, index, owned(&it.executor_id)))
                .collect(),
        })
    }
}

/// That an account is another one, by an executor or by a body in a block
pub(super) fn of_another(is_executor: bool, known: &str, found: &str) -> Error {
    let why = if is_executor { ", which executed it" } else { "" };
    Error::new(ErrorKind::Chain, format_args!("expected {known}{why}, found {found}"))
}
