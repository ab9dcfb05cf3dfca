//! Who has to execute what: the signer a transaction, its receiver the receipt that it becomes, and
//! the receiver of a receipt that receipt.
//!
//! An outcome's leaf covers its executor, so a transaction or receipt of another account
//! contradicts a hash, in its own block or in the one that executes it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::answer::Index;
use super::message::{Outcome, Shard, TransactionParties};
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
        let executed =
            |id: &CryptoHash| index.all(id).last().map(|(_, position)| listed[*position]);
        let mut expected: Vec<Expectation<'_>> = Vec::new();
        let mut expect = |place, id: &CryptoHash, account| {
            let outcome = executed(id);
            let executor = outcome.map(|outcome| &*outcome.executor_id);
            expected.push(Expectation { id: *id, account, executor, place });
            outcome.and_then(|outcome| outcome.success_receipt_id.as_ref())
        };
        for (shard, content) in shards.iter().enumerate() {
            for TransactionParties { hash, signer_id, receiver_id } in &content.transactions {
                let place = (shard, "transaction", hash, "signer_id");
                if let Some(id) = expect(place, hash, signer_id) {
                    let place = (shard, "transaction", hash, "receiver_id");
                    expect(place, id, receiver_id);
                }
            }
            for (id, receiver) in &content.receipts {
                expect((shard, "receipt", id, "receiver_id"), id, receiver);
            }
        }
        let index = Index::new(&mut expected.iter().map(|expectation| expectation.id));
        for Expectation { id, account, executor, place } in &expected {
            let first = || index.get(id).map_or(*account, |first| expected[first].account);
            let known = executor.unwrap_or_else(first);
            if known != *account {
                let (shard, body, hash, member) = place;
                let error = of_another(executor.is_some(), known, account);
                return Err(error.at(format_args!("shards[{shard}].{body} {hash}.{member}")));
            }
        }
        let mut awaited: Vec<(CryptoHash, Box<str>)> = Vec::new();
        for (id, position) in &index.0 {
            let Expectation { account, executor, .. } = expected[*position];
            if executor.is_none() && awaited.last().is_none_or(|(last, _)| last != id) {
                awaited.push((*id, account.into()));
            }
        }
        let executed = outcomes().map(|(shard, it)| (it.id, shard, Box::from(&*it.executor_id)));
        Ok(Self { awaited, executed: executed.collect() })
    }
}

/// That an account executes a transaction or receipt
struct Expectation<'s> {
    id: CryptoHash,
    account: &'s str,
    /// The account that has executed it
    executor: Option<&'s str>,
    /// The member that says so: its shard, the transaction or receipt, its hash, and the name
    place: (usize, &'static str, &'s CryptoHash, &'static str),
}

/// That an account is another one, by an executor or by a body in a block
pub(super) fn of_another(is_executor: bool, known: &str, found: &str) -> Error {
    let why = if is_executor { ", which executed it" } else { "" };
    Error::new(ErrorKind::Chain, format_args!("expected {known}{why}, found {found}"))
}
