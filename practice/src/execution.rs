//! Executing one transaction or one receipt: an outcome, and what it sets on its way.
//!
//! Chance is drawn from the id and the block, so the same receipt in two rival blocks can meet
//! two fates, as on a real chain, without any state being shared.

use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use milepost::primitives::{AccountId, CryptoHash};
use milepost::transaction::Action;
use serde_json::{Value, json};

use crate::action::{attached_gas, deposit, transfer};
use crate::cast::public_key;
use crate::outcome::{Outcome, Status};
use crate::receipt::{Data, Effect, Ending, Ids, Item, Plan, Receipt};
use crate::rng::Rng;
use crate::transaction::{Fate, Transaction};

/// Gas price of a practice chain, in yoctoNEAR: the minimum of the public networks
pub(crate) const GAS_PRICE: u128 = 100_000_000;

/// Gas burnt by turning a transaction into a receipt, without its arguments
const CONVERSION_GAS: u64 = 308_059_500_000;

/// The block in which something is executed
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) height: u64,
    pub(crate) block_hash: CryptoHash,
    /// Whether outcomes name the contracts that ran (metadata of version 4)
    pub(crate) names_contracts: bool,
    /// Thousandths of receipts that are delayed
    pub(crate) delays: u16,
}

/// What came of a receipt
#[derive(Debug)]
pub(crate) struct Executed {
    pub(crate) outcome: Outcome,
    /// Received in the next block
    pub(crate) created: Vec<Item>,
    /// Resumptions of yielded promises, and the blocks until each
    pub(crate) resumptions: Vec<(u64, Data)>,
}

/// Turns a transaction into its first receipt, or refuses it
pub(crate) fn convert(transaction: &Transaction, place: Place) -> (Outcome, Option<Receipt>) {
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
    let effect = match &transaction.fate {
        Fate::Executed(effect) | Fate::Late(effect) => effect.clone(),
        Fate::Invalid(error) => {
            outcome.status = Status::Failure(json!({ "InvalidTxError": error }));
            return (outcome, None);
        }
    };
    let id = Ids::new(transaction.hash, place.height).take();
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
        effect,
    };
    (outcome, Some(receipt))
}

/// Executes a receipt
pub(crate) fn execute(mut receipt: Receipt, place: Place) -> Executed {
    let mut rng = Rng::new(first_eight(receipt.id) ^ first_eight(place.block_hash));
    let mut ids = Ids::new(receipt.id, place.height);
    let outputs = mem::take(&mut receipt.outputs);
    let Effect { logs, children, ending, gas, .. } =
        mem::replace(&mut receipt.effect, Effect::plain());
    // A failed execution takes back the promises it made.
    let failed = matches!(ending, Ending::Failure(_));
    let children = if failed { Vec::new() } else { children };
    let (mut created, resumptions) = promise(children, &receipt, place, &mut ids, &mut rng);
    let metadata = metadata(&receipt.actions, gas, logs.len(), created.len(), place, &mut rng);

    let mut answers = Vec::new();
    let mut answer = |outputs: Vec<(CryptoHash, AccountId)>, result: Option<&[u8]>| {
        answers.extend(outputs.into_iter().map(|(data_id, receiver_id)| Data {
            id: ids.take(),
            predecessor_id: receipt.receiver_id.clone(),
            receiver_id,
            data_id,
            data: result.map(<[u8]>::to_vec),
            resume: false,
        }));
    };
    let status = match ending {
        Ending::Value(value) => {
            answer(outputs, Some(&value));
            Status::Value(value)
        }
        Ending::Failure(error) => {
            answer(outputs, None);
            Status::Failure(json!({ "ActionError": error }))
        }
        Ending::Child(child) => match created.get_mut(child) {
            // The promise that is returned answers for this receipt.
            Some(child) => {
                child.outputs.extend(outputs);
                Status::Receipt(child.id)
            }
            None => Status::Value(Vec::new()),
        },
    };
    created.extend(refunds(&receipt, gas, failed, &mut ids, &mut rng));

    let free = receipt.predecessor_id.is_system();
    let outcome = Outcome {
        id: receipt.id,
        executor_id: receipt.receiver_id,
        gas_burnt: gas,
        tokens_burnt: if free { 0 } else { u128::from(gas) * GAS_PRICE },
        logs,
        receipt_ids: created.iter().map(|receipt| receipt.id).collect(),
        status,
        metadata,
    };
    let answers = answers.into_iter().map(Item::Data);
    let created = created.into_iter().map(Item::from).chain(answers).collect();
    Executed { outcome, created, resumptions }
}

/// Turns the plans of a receipt into receipts, tied to each other where one waits for another
fn promise(
    plans: Vec<Plan>,
    parent: &Receipt,
    place: Place,
    ids: &mut Ids,
    rng: &mut Rng,
) -> (Vec<Receipt>, Vec<(u64, Data)>) {
    let mut created: Vec<Receipt> = Vec::new();
    let mut resumptions = Vec::new();
    for mut plan in plans {
        let id = ids.take();
        let mut inputs = Vec::new();
        for sibling in plan.awaits {
            let data_id = ids.take();
            inputs.push(data_id);
            if let Some(sibling) = created.get_mut(sibling) {
                sibling.outputs.push((data_id, plan.receiver_id.clone()));
            }
        }
        if let Some(blocks) = plan.resumed_after {
            let data_id = ids.take();
            inputs.push(data_id);
            let resumption = Data {
                id: ids.take(),
                predecessor_id: plan.receiver_id.clone(),
                receiver_id: plan.receiver_id.clone(),
                data_id,
                data: Some(br#"{"signature":"resumed"}"#.to_vec()),
                resume: true,
            };
            resumptions.push((blocks, resumption));
        }
        if plan.effect.wait == 0 && rng.chance(place.delays) {
            plan.effect.wait = rng.within(&(3..=8));
        }
        created.push(Receipt {
            id,
            tx_hash: parent.tx_hash,
            predecessor_id: parent.receiver_id.clone(),
            receiver_id: plan.receiver_id,
            signer_id: parent.signer_id.clone(),
            signer_public_key: parent.signer_public_key.clone(),
            gas_price: GAS_PRICE,
            actions: plan.actions,
            outputs: Vec::new(),
            inputs,
            yielded: plan.resumed_after.is_some(),
            effect: plan.effect,
        });
    }
    (created, resumptions)
}

/// What a receipt gives back: the deposits when it failed, to its sender, and most often the gas
/// that it did not burn, to the signer
fn refunds(
    receipt: &Receipt,
    gas: u64,
    failed: bool,
    ids: &mut Ids,
    rng: &mut Rng,
) -> Vec<Receipt> {
    // Text of the crate; its validity is tested with every refund.
    let system: AccountId = "system".parse().expect("`system` is an account id");
    // The protocol's own transfers come from nobody: what fails of them is lost.
    if receipt.predecessor_id == system {
        return Vec::new();
    }
    let mut owed = Vec::new();
    let moved: u128 = receipt.actions.iter().map(deposit).sum();
    if failed && moved > 0 {
        let nobody = public_key(&[0; 32]);
        owed.push((&receipt.predecessor_id, moved, &system, nobody));
    }
    let attached: u64 = receipt.actions.iter().map(attached_gas).sum();
    if attached > gas && (failed || rng.chance(800)) {
        let signer = &receipt.signer_id;
        let key = receipt.signer_public_key.clone();
        owed.push((signer, u128::from(attached - gas) * GAS_PRICE, signer, key));
    }
    let mut refund = |(receiver_id, amount, signer_id, key): (&AccountId, _, &AccountId, _)| {
        let wait = if rng.chance(300) { rng.within(&(1..=3)) } else { 0 };
        Receipt {
            id: ids.take(),
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
            effect: Effect { wait, ..Effect::plain() },
        }
    };
    owed.into_iter().map(&mut refund).collect()
}

/// The first eight bytes of a hash, as a seed
fn first_eight(hash: CryptoHash) -> u64 {
    hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The metadata of a receipt's outcome: a gas profile that adds up, and the contracts that ran
fn metadata(
    actions: &[Action],
    gas: u64,
    logs: usize,
    children: usize,
    place: Place,
    rng: &mut Rng,
) -> Value {
    let calls = |action: &Action| matches!(action, Action::FunctionCall(_));
    let mut costs = Vec::new();
    if actions.iter().any(calls) {
        let mut left = gas;
        let mut share = |category, name, wanted: u64| {
            let used = wanted.min(left);
            left -= used;
            if used > 0 {
                costs.push((category, name, used));
            }
        };
        share("ACTION_COST", "FUNCTION_CALL_BASE", 200_000_000_000 * children as u64);
        share("ACTION_COST", "NEW_ACTION_RECEIPT", 108_059_500_000 * children as u64);
        share("WASM_HOST_COST", "BASE", 264_768_111 * (1 + rng.below(40)));
        share("WASM_HOST_COST", "CONTRACT_LOADING_BASE", 35_445_963);
        share("WASM_HOST_COST", "CONTRACT_LOADING_BYTES", 1_089_295 * (1 + rng.below(200_000)));
        share("WASM_HOST_COST", "LOG_BASE", 3_543_313_050 * logs as u64);
        share("WASM_HOST_COST", "READ_MEMORY_BASE", 2_609_863_200 * (1 + rng.below(20)));
        share("WASM_HOST_COST", "STORAGE_READ_BASE", 56_356_845_749 * rng.below(4));
        share("WASM_HOST_COST", "STORAGE_WRITE_BASE", 64_196_736_000 * rng.below(3));
        // The rest: instructions take what nothing else took.
        share("WASM_HOST_COST", "WASM_INSTRUCTION", u64::MAX);
    }
    let profile: Value = costs
        .into_iter()
        .map(|(category, cost, used)| {
            json!({ "cost_category": category, "cost": cost, "gas_used": alloc::format!("{used}") })
        })
        .collect();
    if !place.names_contracts {
        return json!({ "version": 3, "gas_profile": profile });
    }
    let contracts: Value = actions
        .iter()
        .map(|action| match action {
            Action::FunctionCall(call) => {
                let code = CryptoHash::digest(call.method_name.as_bytes());
                let kind = rng.one_of(&["local", "local", "global_hash"]);
                json!({ (*kind): code })
            }
            _ => Value::Null,
        })
        .collect();
    json!({ "version": 4, "gas_profile": profile, "contracts": contracts })
}
