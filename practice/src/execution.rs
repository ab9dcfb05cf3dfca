//! Executes one transaction or one receipt: its outcome, and the receipts that it creates.
//!
//! Random numbers are seeded by the id and the block, so the same receipt can have different
//! results in two forks, as on a real chain, without shared state.

use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use milepost::primitives::{AccountId, CryptoHash};
use milepost::transaction::Action;
use serde_json::{Value, json};

use crate::accounts::public_key;
use crate::action::{as_call, attached_gas, deposit, transfer};
use crate::outcome::{Outcome, Status};
use crate::receipt::{
    DataReceipt, IncomingReceipt, PlannedExecution, PlannedReceipt, Receipt, ReceiptIds, ReturnData,
};
use crate::rng::Rng;
use crate::transaction::{PlannedResult, Transaction};

/// Gas price of a practice chain, in yoctoNEAR: the minimum of the public networks
pub(crate) const GAS_PRICE: u128 = 100_000_000;

/// Gas burnt by converting a transaction into a receipt, without its arguments
pub(crate) const CONVERSION_GAS: u64 = 308_059_500_000;

/// The block of an execution
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockContext {
    pub(crate) height: u64,
    pub(crate) block_hash: CryptoHash,
    /// Whether outcomes name the contracts that ran (metadata of version 4)
    pub(crate) names_contracts: bool,
    /// Whether a chunk skips a transaction that it has listed before
    pub(crate) skips_copies: bool,
    /// Probability that a receipt is delayed, in thousandths
    pub(crate) delays: u16,
}

/// The result of executing a receipt
#[derive(Debug)]
pub(crate) struct ExecutionResult {
    pub(crate) outcome: Outcome,
    /// Receipts that are received in the next block
    pub(crate) created: Vec<IncomingReceipt>,
    /// Resumptions of yielded promises, with the number of blocks until each
    pub(crate) resumptions: Vec<(u64, DataReceipt)>,
}

/// Converts a transaction into its first receipt; an invalid one has none
///
/// `previous` is the number of receipts that it has become in this block before.
pub(crate) fn convert(
    transaction: &Transaction,
    previous: u64,
    block: BlockContext,
) -> (Outcome, Option<Receipt>) {
    let mut outcome = Outcome {
        id: transaction.hash,
        executor_id: transaction.signer_id.clone(),
        gas_burnt: 0,
        tokens_burnt: 0,
        logs: Vec::new(),
        receipt_ids: Vec::new(),
        status: Status::Value(Vec::new()),
        metadata: json!({ "version": 1, "gas_profile": null }),
    };
    let execution = match &transaction.planned_result {
        PlannedResult::Executed(execution) | PlannedResult::Late(execution) => execution.clone(),
        PlannedResult::Invalid(error) => {
            outcome.status = Status::Failure(json!({ "InvalidTxError": error }));
            return (outcome, None);
        }
    };
    let id = ReceiptIds::new(transaction.hash, block.height, previous).next_id();
    outcome.gas_burnt = CONVERSION_GAS + transaction.signed.len() as u64 * 2_235_934;
    outcome.tokens_burnt = u128::from(outcome.gas_burnt) * GAS_PRICE;
    outcome.receipt_ids.push(id);
    outcome.status = Status::Receipt(id);
    let receipt = Receipt {
        id,
        tx_hash: transaction.hash,
        predecessor_id: transaction.signer_id.clone(),
        receiver_id: transaction.receiver_id.clone(),
        signer_id: transaction.signer_id.clone(),
        signer_public_key: transaction.public_key.clone(),
        gas_price: GAS_PRICE,
        actions: transaction.actions.clone(),
        outputs: Vec::new(),
        inputs: Vec::new(),
        yielded: false,
        execution,
    };
    (outcome, Some(receipt))
}

/// Executes a receipt
pub(crate) fn execute(mut receipt: Receipt, block: BlockContext) -> ExecutionResult {
    let mut rng = Rng::new(seed_from(receipt.id) ^ seed_from(block.block_hash));
    let mut ids = ReceiptIds::new(receipt.id, block.height, 0);
    let outputs = mem::take(&mut receipt.outputs);
    let PlannedExecution { logs, children, return_data, gas, .. } =
        mem::replace(&mut receipt.execution, PlannedExecution::plain());
    // A failed execution creates no receipts.
    let failed = matches!(return_data, ReturnData::Failure(_));
    let children = if failed { Vec::new() } else { children };
    let (mut created, resumptions) = create_receipts(children, &receipt, block, &mut ids, &mut rng);
    let metadata = metadata(&receipt.actions, gas, logs.len(), created.len(), block, &mut rng);

    let mut data_receipts = Vec::new();
    let mut push_data_receipts = |outputs: Vec<(CryptoHash, AccountId)>, result: Option<&[u8]>| {
        data_receipts.extend(outputs.into_iter().map(|(data_id, receiver_id)| DataReceipt {
            id: ids.next_id(),
            predecessor_id: receipt.receiver_id.clone(),
            receiver_id,
            data_id,
            data: result.map(<[u8]>::to_vec),
            resume: false,
        }));
    };
    let status = match return_data {
        ReturnData::Value(value) => {
            push_data_receipts(outputs, Some(&value));
            Status::Value(value)
        }
        ReturnData::Failure(error) => {
            push_data_receipts(outputs, None);
            Status::Failure(json!({ "ActionError": error }))
        }
        ReturnData::Child(child) => match created.get_mut(child) {
            // The child returns its result to the receivers of this receipt.
            Some(child) => {
                child.outputs.extend(outputs);
                Status::Receipt(child.id)
            }
            None => Status::Value(Vec::new()),
        },
    };
    created.extend(refunds(&receipt, gas, failed, &mut ids, &mut rng));

    let is_refund = receipt.predecessor_id.is_system();
    let outcome = Outcome {
        id: receipt.id,
        executor_id: receipt.receiver_id,
        gas_burnt: gas,
        tokens_burnt: if is_refund { 0 } else { u128::from(gas) * GAS_PRICE },
        logs,
        receipt_ids: created.iter().map(|receipt| receipt.id).collect(),
        status,
        metadata,
    };
    let data_receipts = data_receipts.into_iter().map(IncomingReceipt::Data);
    let created = created.into_iter().map(IncomingReceipt::from).chain(data_receipts).collect();
    ExecutionResult { outcome, created, resumptions }
}

/// Creates the planned receipts, with data dependencies where one waits for another
fn create_receipts(
    planned_receipts: Vec<PlannedReceipt>,
    parent: &Receipt,
    block: BlockContext,
    ids: &mut ReceiptIds,
    rng: &mut Rng,
) -> (Vec<Receipt>, Vec<(u64, DataReceipt)>) {
    let mut created: Vec<Receipt> = Vec::new();
    let mut resumptions = Vec::new();
    for mut planned in planned_receipts {
        let id = ids.next_id();
        let mut inputs = Vec::new();
        for sibling in planned.awaits {
            let data_id = ids.next_id();
            inputs.push(data_id);
            if let Some(sibling) = created.get_mut(sibling) {
                sibling.outputs.push((data_id, planned.receiver_id.clone()));
            }
        }
        if let Some(blocks) = planned.resumed_after {
            let data_id = ids.next_id();
            inputs.push(data_id);
            let resumption = DataReceipt {
                id: ids.next_id(),
                predecessor_id: planned.receiver_id.clone(),
                receiver_id: planned.receiver_id.clone(),
                data_id,
                data: Some(br#"{"signature":"resumed"}"#.to_vec()),
                resume: true,
            };
            resumptions.push((blocks, resumption));
        }
        if planned.execution.delay == 0 && rng.chance(block.delays) {
            planned.execution.delay = rng.within(&(3..=8));
        }
        created.push(Receipt {
            id,
            tx_hash: parent.tx_hash,
            predecessor_id: parent.receiver_id.clone(),
            receiver_id: planned.receiver_id,
            signer_id: parent.signer_id.clone(),
            signer_public_key: parent.signer_public_key.clone(),
            gas_price: GAS_PRICE,
            actions: planned.actions,
            outputs: Vec::new(),
            inputs,
            yielded: planned.resumed_after.is_some(),
            execution: planned.execution,
        });
    }
    (created, resumptions)
}

/// The refunds of a receipt: deposits to its predecessor if it failed, and most often the gas that
/// it did not burn to the signer
fn refunds(
    receipt: &Receipt,
    gas: u64,
    failed: bool,
    ids: &mut ReceiptIds,
    rng: &mut Rng,
) -> Vec<Receipt> {
    // A constant; tested with every refund.
    let system: AccountId = "system".parse().expect("`system` is an account id");
    // A refund is not refunded.
    if receipt.predecessor_id == system {
        return Vec::new();
    }
    let mut amounts = Vec::new();
    let deposits = receipt.actions.iter().map(deposit).fold(0, u128::saturating_add);
    if failed && deposits > 0 {
        let system_key = public_key(&[0; 32]);
        amounts.push((&receipt.predecessor_id, deposits, &system, system_key));
    }
    let attached = receipt.actions.iter().map(attached_gas).fold(0, u64::saturating_add);
    if attached > gas && (failed || rng.chance(800)) {
        let signer = &receipt.signer_id;
        let key = receipt.signer_public_key.clone();
        amounts.push((signer, u128::from(attached - gas) * GAS_PRICE, signer, key));
    }
    let mut refund = |(receiver_id, amount, signer_id, key): (&AccountId, _, &AccountId, _)| {
        let delay = if rng.chance(300) { rng.within(&(1..=3)) } else { 0 };
        Receipt {
            id: ids.next_id(),
            tx_hash: receipt.tx_hash,
            predecessor_id: system.clone(),
            receiver_id: receiver_id.clone(),
            signer_id: signer_id.clone(),
            signer_public_key: key,
            gas_price: 0,
            actions: vec![transfer(amount)],
            outputs: Vec::new(),
            inputs: Vec::new(),
            yielded: false,
            execution: PlannedExecution { delay, ..PlannedExecution::plain() },
        }
    };
    amounts.into_iter().map(&mut refund).collect()
}

/// The first eight bytes of a hash as a seed
fn seed_from(hash: CryptoHash) -> u64 {
    hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The metadata of a receipt's outcome: a gas profile whose sum is `gas`, and the contracts that
/// ran
fn metadata(
    actions: &[Action],
    gas: u64,
    logs: usize,
    children: usize,
    block: BlockContext,
    rng: &mut Rng,
) -> Value {
    let is_call = |action: &Action| as_call(action).is_some();
    let mut costs = Vec::new();
    if actions.iter().any(is_call) {
        let mut remaining = gas;
        let mut add = |category, name, cost: u64| {
            let used = cost.min(remaining);
            remaining -= used;
            if used > 0 {
                costs.push((category, name, used));
            }
        };
        add("ACTION_COST", "FUNCTION_CALL_BASE", 200_000_000_000 * children as u64);
        add("ACTION_COST", "NEW_ACTION_RECEIPT", 108_059_500_000 * children as u64);
        add("WASM_HOST_COST", "BASE", 264_768_111 * (1 + rng.below(40)));
        add("WASM_HOST_COST", "CONTRACT_LOADING_BASE", 35_445_963);
        add("WASM_HOST_COST", "CONTRACT_LOADING_BYTES", 1_089_295 * (1 + rng.below(200_000)));
        add("WASM_HOST_COST", "LOG_BASE", 3_543_313_050 * logs as u64);
        add("WASM_HOST_COST", "READ_MEMORY_BASE", 2_609_863_200 * (1 + rng.below(20)));
        add("WASM_HOST_COST", "STORAGE_READ_BASE", 56_356_845_749 * rng.below(4));
        add("WASM_HOST_COST", "STORAGE_WRITE_BASE", 64_196_736_000 * rng.below(3));
        // The rest.
        add("WASM_HOST_COST", "WASM_INSTRUCTION", u64::MAX);
    }
    let profile: Value = costs
        .into_iter()
        .map(|(category, cost, used)| {
            json!({ "cost_category": category, "cost": cost, "gas_used": alloc::format!("{used}") })
        })
        .collect();
    if !block.names_contracts {
        return json!({ "version": 3, "gas_profile": profile });
    }
    let contracts: Value = actions
        .iter()
        .map(|action| match as_call(action) {
            Some(call) => {
                let code = CryptoHash::digest(call.method_name.as_bytes());
                let kind = rng.one_of(&["local", "local", "global_hash"]);
                json!({ (*kind): code })
            }
            None => Value::Null,
        })
        .collect();
    json!({ "version": 4, "gas_profile": profile, "contracts": contracts })
}
