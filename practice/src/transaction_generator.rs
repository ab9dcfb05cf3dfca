//! Draws random transactions, together with the execution of all their receipts.
//!
//! Every tree of receipts is a chain with side branches, so it has at most a few dozen receipts at
//! any depth.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, Balance, Bytes, CryptoHash, PublicKey};
use milepost::transaction::{
    AccessKey, AccessKeyPermission, Action, AddKeyAction, CreateAccountAction, Delegate,
    DelegateAction, DeleteAccountAction, DeleteKeyAction, DeployContractAction,
    FunctionCallPermission, NonDelegateAction, StakeAction, UnknownFields,
};
use serde_json::json;

use crate::Kind;
use crate::accounts::{Accounts, public_key};
use crate::action::{self, TERA_GAS, transfer};
use crate::errors;
use crate::execution::{CONVERSION_GAS, GAS_PRICE};
use crate::receipt::{PlannedExecution, PlannedReceipt, ReturnData};
use crate::rng::Rng;
use crate::transaction::{ENCODES, PlannedResult, TransactionDraft};

/// 1 NEAR in yoctoNEAR
const NEAR: u128 = 1_000_000_000_000_000_000_000_000;

/// The fee of a transfer: the gas of its conversion and of its receipt, without its bytes
const TRANSFER_FEE: u128 = (CONVERSION_GAS + PlannedExecution::PLAIN_GAS) as u128 * GAS_PRICE;

/// No unknown members
const NONE: UnknownFields = UnknownFields::new();

/// Draws one transaction
#[derive(Debug)]
pub(crate) struct TransactionGenerator<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) rng: &'a mut Rng,
    /// Height of the block that includes the transaction
    pub(crate) height: u64,
    /// An unused nonce
    pub(crate) nonce: u64,
    /// Probability of a late outcome, in thousandths
    pub(crate) late_outcomes: u16,
    /// Probability that a receipt is delayed, in thousandths
    pub(crate) delays: u16,
}

/// The parts of a draft that depend on the kind: label, receiver, actions, execution
type DraftParts = (&'static str, AccountId, Vec<Action>, PlannedExecution);

impl TransactionGenerator<'_> {
    /// A random transaction
    pub(crate) fn draft(mut self) -> TransactionDraft {
        let signer = self.accounts.random_signer(self.rng);
        let kind = self.kind();
        let (label, receiver_id, actions, mut execution) = match kind {
            Kind::Transfer | Kind::LateOutcome => self.transfer(signer),
            Kind::Local => self.local(signer),
            Kind::CallAcrossShards => self.across_shards(),
            Kind::Callback => self.callback(signer),
            Kind::Yield => self.yielding(),
            Kind::Congestion => self.congestion(),
            Kind::Failure => self.failure(signer),
            Kind::Delegate => self.delegate(signer),
            Kind::Deployment => self.deployment(signer),
            Kind::Account => self.account(signer),
            Kind::Call => self.call(),
            Kind::Invalid => return self.invalid(signer),
        };
        if execution.delay == 0 && kind != Kind::Local && self.rng.chance(self.delays) {
            execution.delay = self.rng.within(&(3..=8));
        }
        let (planned_result, label) = if kind == Kind::LateOutcome {
            (
                PlannedResult::Late(execution),
                "moves tokens, executed two blocks after it was included",
            )
        } else {
            (PlannedResult::Executed(execution), label)
        };
        TransactionDraft { kind, label, signer, receiver_id, actions, planned_result }
    }

    fn kind(&mut self) -> Kind {
        if self.rng.chance(self.late_outcomes) {
            return Kind::LateOutcome;
        }
        let mut draw = self.rng.below(100);
        for kind in Kind::ALL {
            match draw.checked_sub(kind.weight()) {
                Some(rest) => draw = rest,
                None => return kind,
            }
        }
        // Never reached, because the weights add up to 100.
        Kind::Transfer
    }

    fn signer_id(&self, signer: usize) -> &AccountId {
        &self.accounts.signers[signer].id
    }

    fn amount(&mut self) -> u128 {
        NEAR / 1000 * u128::from(self.rng.within(&(1..=100_000)))
    }

    /// The execution of a called contract that succeeds without creating receipts
    fn contract_execution(&mut self) -> PlannedExecution {
        PlannedExecution {
            logs: self.logs(),
            return_data: ReturnData::Value(self.value()),
            gas: TERA_GAS + self.rng.below(8 * TERA_GAS),
            ..PlannedExecution::plain()
        }
    }

    fn value(&mut self) -> Vec<u8> {
        match self.rng.below(4) {
            0 => Vec::new(),
            1 => b"null".to_vec(),
            2 => format!("\"{}\"", self.rng.next_u64()).into_bytes(),
            // Not UTF-8.
            _ => CryptoHash::digest(&self.rng.next_u64().to_le_bytes()).as_bytes().to_vec(),
        }
    }

    fn logs(&mut self) -> Vec<String> {
        let count = self.rng.below(4);
        (0..count).map(|_| self.log()).collect()
    }

    fn log(&mut self) -> String {
        let amount = self.rng.next_u64();
        let (from, to) =
            (self.accounts.random_signer(self.rng), self.accounts.random_signer(self.rng));
        let (from, to) = (self.signer_id(from).clone(), self.signer_id(to).clone());
        match self.rng.below(5) {
            0 => format!("Transfer {amount} from {from} to {to}"),
            1 => format!("total_writes_count {}\n\ttotal_written_bytes {amount}", amount % 97),
            2 => format!("a path C:\\temp\\{to}, a quote \" and a bell \u{7}"),
            3 => format!("“{from}” → «{to}»: 10 € für Tee ☕ 🚀 {amount}"),
            _ => {
                let event = json!({
                    "standard": "nep141",
                    "version": "1.0.0",
                    "event": "ft_transfer",
                    "data": [{
                        "old_owner_id": from,
                        "new_owner_id": to,
                        "amount": amount.to_string(),
                        "memo": "thé \"à la menthe\" 🍵",
                    }],
                });
                format!("EVENT_JSON:{event}")
            }
        }
    }

    fn transfer(&mut self, signer: usize) -> DraftParts {
        let action = transfer(self.amount());
        if self.rng.chance(150) {
            let implicit = CryptoHash::digest(&self.rng.next_u64().to_le_bytes());
            let hex: String =
                implicit.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            if let Ok(receiver) = hex.parse() {
                return (
                    "moves tokens to a new implicit account",
                    receiver,
                    vec![action],
                    PlannedExecution::plain(),
                );
            }
        }
        let receiver = self.accounts.random_other(signer, self.rng).clone();
        ("moves tokens", receiver, vec![action], PlannedExecution::plain())
    }

    fn local(&mut self, signer: usize) -> DraftParts {
        let receiver = self.signer_id(signer).clone();
        let execution = self.contract_execution();
        let action = action::call("tidy_up", &json!({ "round": self.rng.below(1000) }), 30, 0);
        ("calls the contract on its own account", receiver, vec![action], execution)
    }

    fn call(&mut self) -> DraftParts {
        let receiver = self.accounts.random_contract(self.rng).clone();
        let method = *self.rng.one_of(&["claim", "ft_transfer", "nft_mint", "ping", "vote"]);
        let args = json!({ "id": self.rng.next_u64().to_string() });
        let action = action::call(method, &args, 30, self.rng.below(2).into());
        ("calls a contract", receiver, vec![action], self.contract_execution())
    }

    /// A call of a random contract, as part of a larger tree
    fn step(&mut self, method: &str, tera_gas: u64) -> PlannedReceipt {
        let receiver = self.accounts.random_contract(self.rng).clone();
        let action = action::call(method, &json!({ "step": self.rng.below(100) }), tera_gas, 0);
        PlannedReceipt::new(receiver, vec![action], self.contract_execution())
    }

    fn across_shards(&mut self) -> DraftParts {
        let depth = self.rng.within(&(2..=6));
        let fails = self.rng.chance(200);
        // From the last receipt of the chain to its first.
        let mut execution = self.contract_execution();
        if fails {
            let executor = self.accounts.random_contract(self.rng).clone();
            execution.return_data =
                ReturnData::Failure(errors::function_call_error(&executor, self.rng));
        }
        for level in (1..depth).rev() {
            let mut next = self.step("on_step", 20 + 10 * (depth - level));
            next.execution = execution;
            let mut children = vec![next];
            for _ in 0..self.rng.below(3) {
                let mut side = self.step("notify", 10);
                if self.rng.chance(150) {
                    side.execution.return_data = ReturnData::Failure(errors::function_call_error(
                        &side.receiver_id,
                        self.rng,
                    ));
                }
                children.push(side);
            }
            // The returned promise is not always the first one.
            let index = self.rng.below(children.len() as u64) as usize;
            children.swap(0, index);
            execution = PlannedExecution {
                children,
                return_data: ReturnData::Child(index),
                ..self.contract_execution()
            };
        }
        let label = match (fails, depth) {
            (true, _) => "calls across shards and fails at the last step",
            (false, 2..=3) => "calls across shards, a short chain",
            (false, _) => "calls across shards, a long chain",
        };
        let first = self.step("start", 300);
        (label, first.receiver_id, first.actions, execution)
    }

    fn callback(&mut self, signer: usize) -> DraftParts {
        let token = self.accounts.named("token");
        let calls = 1 + self.rng.below(2) as usize;
        let mut children: Vec<_> = (0..calls).map(|_| self.step("ft_on_transfer", 40)).collect();
        if self.rng.chance(250) {
            let executor = children[0].receiver_id.clone();
            children[0].execution.return_data =
                ReturnData::Failure(errors::function_call_error(&executor, self.rng));
        }
        let mut resolve = self.step("ft_resolve_transfer", 10);
        resolve.receiver_id = token.clone();
        resolve.awaits = (0..calls).collect();
        children.push(resolve);
        let execution = PlannedExecution {
            children,
            return_data: ReturnData::Child(calls),
            ..self.contract_execution()
        };
        let args = json!({
            "receiver_id": self.accounts.random_other(signer, self.rng),
            "amount": self.rng.next_u64().to_string(),
            "msg": "{\"swap\":[\"a\",\"b\"]}",
        });
        let action = action::call("ft_transfer_call", &args, 100, 1);
        ("calls a contract that waits for the results of others", token, vec![action], execution)
    }

    fn yielding(&mut self) -> DraftParts {
        let oracle = self.accounts.named("oracle");
        let mut plan = self.step("return_signature", 50);
        plan.receiver_id = oracle.clone();
        plan.resumed_after = Some(self.rng.within(&(3..=9)));
        let execution = PlannedExecution {
            children: vec![plan],
            return_data: ReturnData::Child(0),
            ..self.contract_execution()
        };
        let action = action::call("sign", &json!({ "payload": self.rng.next_u64() }), 150, 0);
        ("calls a contract that yields and is resumed later", oracle, vec![action], execution)
    }

    fn congestion(&mut self) -> DraftParts {
        let (_, receiver, actions, execution) = self.call();
        let delay = self.rng.within(&(3..=8));
        (
            "calls a contract on a busy shard",
            receiver,
            actions,
            PlannedExecution { delay, ..execution },
        )
    }

    fn failure(&mut self, signer: usize) -> DraftParts {
        if self.rng.chance(300) {
            let receiver = self.accounts.random_new_account(self.rng);
            let execution = PlannedExecution::failing(errors::account_does_not_exist(&receiver));
            let action = transfer(self.amount());
            return (
                "moves tokens to an account that does not exist",
                receiver,
                vec![action],
                execution,
            );
        }
        if self.rng.chance(200) {
            let receiver = self.accounts.random_other(signer, self.rng).clone();
            let execution = PlannedExecution::failing(errors::account_already_exists(&receiver));
            let actions = vec![create_account(), transfer(NEAR)];
            return ("creates an account that exists already", receiver, actions, execution);
        }
        let (_, receiver, mut actions, mut execution) = self.call();
        if let Some(Action::NonDelegate(NonDelegateAction::FunctionCall(call))) =
            actions.first_mut()
        {
            call.deposit.0 = if self.rng.chance(500) { NEAR } else { 0 };
        }
        execution.return_data =
            ReturnData::Failure(errors::function_call_error(&receiver, self.rng));
        ("calls a contract that fails", receiver, actions, execution)
    }

    fn delegate(&mut self, signer: usize) -> DraftParts {
        let signers = self.accounts.signers.len();
        let random_signer = &self.accounts.signers
            [(signer + 1 + self.rng.below(signers as u64 - 1) as usize) % signers];
        let step = self.step("ft_transfer", 30);
        // None of them is a delegate action, so none is dropped.
        let inner = step.actions.iter().filter_map(|action| match action {
            Action::NonDelegate(action) => Some(action.clone()),
            _ => None,
        });
        let delegate_action = DelegateAction {
            actions: inner.collect(),
            max_block_height: self.height + 600,
            nonce: self.nonce,
            public_key: random_signer.public_key.clone(),
            receiver_id: step.receiver_id.clone(),
            sender_id: random_signer.id.clone(),
            unknown_fields: NONE,
        };
        let signature = random_signer.sign(delegate_action.digest().expect(ENCODES));
        let action = Action::Delegate(Box::new(Delegate { delegate_action, signature }));
        if self.rng.chance(150) {
            let execution = PlannedExecution::failing(errors::delegate_action_expired());
            return (
                "relays a delegate action that has expired",
                random_signer.id.clone(),
                vec![action],
                execution,
            );
        }
        let execution = PlannedExecution { children: vec![step], ..PlannedExecution::plain() };
        ("relays a delegate action", random_signer.id.clone(), vec![action], execution)
    }

    fn deployment(&mut self, signer: usize) -> DraftParts {
        let receiver = self.signer_id(signer).clone();
        // The header of a module, then random bytes.
        let mut code = b"\0asm\x01\0\0\0".to_vec();
        for _ in 0..4 {
            code.extend_from_slice(&self.rng.next_u64().to_le_bytes());
        }
        let actions = vec![
            DeployContractAction { code: Bytes(code), unknown_fields: NONE }.into(),
            action::call("new", &json!({}), 20, 0),
        ];
        ("deploys a contract and initialises it", receiver, actions, self.contract_execution())
    }

    fn account(&mut self, signer: usize) -> DraftParts {
        let key = public_key(CryptoHash::digest(&self.rng.next_u64().to_le_bytes()).as_bytes());
        let own = self.signer_id(signer).clone();
        let (label, receiver, actions) = match self.rng.below(5) {
            0 => {
                let actions = vec![
                    create_account(),
                    transfer(NEAR),
                    new_key(key, AccessKeyPermission::FullAccess),
                ];
                ("creates an account", self.accounts.random_new_account(self.rng), actions)
            }
            1 => {
                let permission = FunctionCallPermission {
                    allowance: self.rng.chance(500).then_some(Balance(NEAR / 4)),
                    method_names: vec!["ping".into(), "vote".into()],
                    receiver_id: self.accounts.random_contract(self.rng).to_string(),
                    unknown_fields: NONE,
                };
                let actions = vec![new_key(key, AccessKeyPermission::FunctionCall(permission))];
                ("adds a key that may call one contract", own, actions)
            }
            2 => {
                let delete = DeleteKeyAction { public_key: key, unknown_fields: NONE };
                ("deletes a key", own, vec![delete.into()])
            }
            3 => {
                let stake = Balance(50_000 * NEAR);
                // Random bytes are no key with which a validator can stake.
                let public_key = self.accounts.signers[signer].public_key.clone();
                let stake = StakeAction { public_key, stake, unknown_fields: NONE };
                ("stakes", own, vec![stake.into()])
            }
            _ => {
                let beneficiary_id = self.accounts.random_other(signer, self.rng).clone();
                let delete = DeleteAccountAction { beneficiary_id, unknown_fields: NONE };
                ("deletes its account", own, vec![delete.into()])
            }
        };
        (label, receiver, actions, PlannedExecution::plain())
    }

    fn invalid(mut self, signer: usize) -> TransactionDraft {
        let (_, receiver_id, actions, _) = self.transfer(signer);
        let random_signer = &self.accounts.signers[signer];
        let cost = transfer_cost(&actions);
        let (label, error) = errors::invalid_transfer(
            &random_signer.id,
            &random_signer.public_key,
            self.nonce,
            cost,
            self.rng,
        );
        TransactionDraft {
            kind: Kind::Invalid,
            label,
            signer,
            receiver_id,
            actions,
            planned_result: PlannedResult::Invalid(error),
        }
    }
}

/// The cost of a transfer with these actions
pub(crate) fn transfer_cost(actions: &[Action]) -> u128 {
    actions.iter().map(action::deposit).fold(TRANSFER_FEE, u128::saturating_add)
}

fn create_account() -> Action {
    CreateAccountAction { unknown_fields: NONE }.into()
}

/// Adds a key that starts from nonce 0
fn new_key(public_key: PublicKey, permission: AccessKeyPermission) -> Action {
    let access_key = AccessKey { nonce: 0, permission, unknown_fields: NONE };
    AddKeyAction { access_key, public_key, unknown_fields: NONE }.into()
}
