//! Writes transactions: who sends what to whom, and everything that will come of it.
//!
//! Every tree of receipts is one chain with side branches, so it has at most a few dozen receipts
//! however deep it is.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, Balance, Bytes, CryptoHash, PublicKey};
use milepost::transaction::{
    AccessKey, AccessKeyPermission, Action, AddKey, Delegate, DelegateAction,
    FunctionCallPermission, NonDelegateAction, Stake,
};
use serde_json::json;

use crate::Kind;
use crate::action::{self, TERA_GAS, transfer};
use crate::cast::{Cast, public_key};
use crate::failures;
use crate::receipt::{Effect, Ending, Plan};
use crate::rng::Rng;
use crate::transaction::{Draft, Fate};

/// 1 NEAR in yoctoNEAR
const NEAR: u128 = 1_000_000_000_000_000_000_000_000;

/// Where transactions are written
#[derive(Debug)]
pub(crate) struct Desk<'a> {
    pub(crate) cast: &'a Cast,
    pub(crate) rng: &'a mut Rng,
    /// Height of the block that the transaction will be in
    pub(crate) height: u64,
    /// A nonce that no one used before
    pub(crate) nonce: u64,
    /// Thousandths of transactions with a late outcome
    pub(crate) late_outcomes: u16,
    /// Thousandths of receipts that are delayed
    pub(crate) delays: u16,
}

/// The parts of a draft that depend on the kind
type Scene = (&'static str, AccountId, Vec<Action>, Effect);

impl Desk<'_> {
    /// The next transaction
    pub(crate) fn draft(mut self) -> Draft {
        let signer = self.cast.person(self.rng);
        let kind = self.kind();
        let (label, receiver_id, actions, mut effect) = match kind {
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
        if effect.wait == 0 && kind != Kind::Local && self.rng.chance(self.delays) {
            effect.wait = self.rng.within(&(3..=8));
        }
        let (fate, label) = if kind == Kind::LateOutcome {
            (Fate::Late(effect), "moves tokens, executed two blocks after it was included")
        } else {
            (Fate::Executed(effect), label)
        };
        Draft { kind, label, signer, receiver_id, actions, fate }
    }

    fn kind(&mut self) -> Kind {
        if self.rng.chance(self.late_outcomes) {
            return Kind::LateOutcome;
        }
        let mut ticket = self.rng.below(100);
        for kind in Kind::ALL {
            match ticket.checked_sub(kind.weight()) {
                Some(rest) => ticket = rest,
                None => return kind,
            }
        }
        // Never reached, because the weights are hundredths.
        Kind::Transfer
    }

    fn signer_id(&self, signer: usize) -> &AccountId {
        &self.cast.people[signer].id
    }

    fn some_amount(&mut self) -> u128 {
        NEAR / 1000 * u128::from(self.rng.within(&(1..=100_000)))
    }

    /// What a called contract burns, logs and returns
    fn answer(&mut self) -> Effect {
        Effect {
            logs: self.logs(),
            ending: Ending::Value(self.value()),
            gas: TERA_GAS + self.rng.below(8 * TERA_GAS),
            ..Effect::plain()
        }
    }

    fn value(&mut self) -> Vec<u8> {
        match self.rng.below(4) {
            0 => Vec::new(),
            1 => b"null".to_vec(),
            2 => format!("\"{}\"", self.rng.next_u64()).into_bytes(),
            // Bytes that are no text.
            _ => CryptoHash::digest(&self.rng.next_u64().to_le_bytes()).as_bytes().to_vec(),
        }
    }

    fn logs(&mut self) -> Vec<String> {
        let count = self.rng.below(4);
        (0..count).map(|_| self.log()).collect()
    }

    fn log(&mut self) -> String {
        let amount = self.rng.next_u64();
        let (from, to) = (self.cast.person(self.rng), self.cast.person(self.rng));
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

    fn transfer(&mut self, signer: usize) -> Scene {
        let action = transfer(self.some_amount());
        if self.rng.chance(150) {
            let implicit = CryptoHash::digest(&self.rng.next_u64().to_le_bytes());
            let hex: String =
                implicit.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            if let Ok(receiver) = hex.parse() {
                return (
                    "moves tokens to a new implicit account",
                    receiver,
                    vec![action],
                    Effect::plain(),
                );
            }
        }
        let receiver = self.cast.other(signer, self.rng).clone();
        ("moves tokens", receiver, vec![action], Effect::plain())
    }

    fn local(&mut self, signer: usize) -> Scene {
        let receiver = self.signer_id(signer).clone();
        let effect = self.answer();
        let action = action::call("tidy_up", &json!({ "round": self.rng.below(1000) }), 30, 0);
        ("calls the contract on its own account", receiver, vec![action], effect)
    }

    fn call(&mut self) -> Scene {
        let receiver = self.cast.contract(self.rng).clone();
        let method = *self.rng.one_of(&["claim", "ft_transfer", "nft_mint", "ping", "vote"]);
        let args = json!({ "id": self.rng.next_u64().to_string() });
        let action = action::call(method, &args, 30, self.rng.below(2).into());
        ("calls a contract", receiver, vec![action], self.answer())
    }

    /// A call somewhere, as a step of something bigger
    fn step(&mut self, method: &str, tera_gas: u64) -> Plan {
        let receiver = self.cast.contract(self.rng).clone();
        let action = action::call(method, &json!({ "step": self.rng.below(100) }), tera_gas, 0);
        Plan::new(receiver, vec![action], self.answer())
    }

    fn across_shards(&mut self) -> Scene {
        let depth = self.rng.within(&(2..=6));
        let fails = self.rng.chance(200);
        // From the last receipt of the chain back to its first.
        let mut effect = self.answer();
        if fails {
            let executor = self.cast.contract(self.rng).clone();
            effect.ending = Ending::Failure(failures::of_a_call(&executor, self.rng));
        }
        for level in (1..depth).rev() {
            let mut next = self.step("on_step", 20 + 10 * (depth - level));
            next.effect = effect;
            let mut children = vec![next];
            for _ in 0..self.rng.below(3) {
                let mut side = self.step("notify", 10);
                if self.rng.chance(150) {
                    side.effect.ending =
                        Ending::Failure(failures::of_a_call(&side.receiver_id, self.rng));
                }
                children.push(side);
            }
            // The promise that is returned is not always the first one made.
            let place = self.rng.below(children.len() as u64) as usize;
            children.swap(0, place);
            effect = Effect { children, ending: Ending::Child(place), ..self.answer() };
        }
        let label = match (fails, depth) {
            (true, _) => "calls across shards and fails at the last step",
            (false, 2..=3) => "calls across shards, a short chain",
            (false, _) => "calls across shards, a long chain",
        };
        let first = self.step("start", 300);
        (label, first.receiver_id, first.actions, effect)
    }

    fn callback(&mut self, signer: usize) -> Scene {
        let token = self.cast.named("token");
        let asked = 1 + self.rng.below(2) as usize;
        let mut children: Vec<_> = (0..asked).map(|_| self.step("ft_on_transfer", 40)).collect();
        if self.rng.chance(250) {
            let executor = children[0].receiver_id.clone();
            children[0].effect.ending = Ending::Failure(failures::of_a_call(&executor, self.rng));
        }
        let mut resolve = self.step("ft_resolve_transfer", 10);
        resolve.receiver_id = token.clone();
        resolve.awaits = (0..asked).collect();
        children.push(resolve);
        let effect = Effect { children, ending: Ending::Child(asked), ..self.answer() };
        let args = json!({
            "receiver_id": self.cast.other(signer, self.rng),
            "amount": self.rng.next_u64().to_string(),
            "msg": "{\"swap\":[\"a\",\"b\"]}",
        });
        let action = action::call("ft_transfer_call", &args, 100, 1);
        ("calls a contract that waits for the answers of others", token, vec![action], effect)
    }

    fn yielding(&mut self) -> Scene {
        let oracle = self.cast.named("oracle");
        let mut plan = self.step("return_signature", 50);
        plan.receiver_id = oracle.clone();
        plan.resumed_after = Some(self.rng.within(&(3..=9)));
        let effect = Effect { children: vec![plan], ending: Ending::Child(0), ..self.answer() };
        let action = action::call("sign", &json!({ "payload": self.rng.next_u64() }), 150, 0);
        ("calls a contract that yields and is resumed later", oracle, vec![action], effect)
    }

    fn congestion(&mut self) -> Scene {
        let (_, receiver, actions, effect) = self.call();
        let wait = self.rng.within(&(3..=8));
        ("calls a contract on a busy shard", receiver, actions, Effect { wait, ..effect })
    }

    fn failure(&mut self, signer: usize) -> Scene {
        if self.rng.chance(300) {
            let receiver = self.cast.newcomer(self.rng);
            let effect = Effect::failing(failures::no_account(&receiver));
            let action = transfer(self.some_amount());
            return (
                "moves tokens to an account that does not exist",
                receiver,
                vec![action],
                effect,
            );
        }
        if self.rng.chance(200) {
            let receiver = self.cast.other(signer, self.rng).clone();
            let effect = Effect::failing(failures::account_exists(&receiver));
            let actions = vec![Action::CreateAccount, transfer(NEAR)];
            return ("creates an account that exists already", receiver, actions, effect);
        }
        let (_, receiver, mut actions, mut effect) = self.call();
        if let Some(Action::FunctionCall(call)) = actions.first_mut() {
            call.deposit.0 = if self.rng.chance(500) { NEAR } else { 0 };
        }
        effect.ending = Ending::Failure(failures::of_a_call(&receiver, self.rng));
        ("calls a contract that fails", receiver, actions, effect)
    }

    fn delegate(&mut self, signer: usize) -> Scene {
        let people = self.cast.people.len();
        let person =
            &self.cast.people[(signer + 1 + self.rng.below(people as u64 - 1) as usize) % people];
        let step = self.step("ft_transfer", 30);
        let inner = step.actions.iter().cloned();
        let delegate_action = DelegateAction {
            sender_id: person.id.clone(),
            receiver_id: step.receiver_id.clone(),
            // None of them is a delegate action, so none is left out.
            actions: inner.filter_map(|action| NonDelegateAction::try_from(action).ok()).collect(),
            nonce: self.nonce,
            max_block_height: self.height + 600,
            public_key: person.public_key.clone(),
        };
        let signature = person.sign(delegate_action.digest());
        let action = Action::Delegate(Box::new(Delegate { delegate_action, signature }));
        if self.rng.chance(150) {
            let effect = Effect::failing(failures::delegate_expired());
            return (
                "relays a delegate action that has expired",
                person.id.clone(),
                vec![action],
                effect,
            );
        }
        let effect = Effect { children: vec![step], ..Effect::plain() };
        ("relays a delegate action", person.id.clone(), vec![action], effect)
    }

    fn deployment(&mut self, signer: usize) -> Scene {
        let receiver = self.signer_id(signer).clone();
        // The header of a module, then bytes that no one will run.
        let mut code = b"\0asm\x01\0\0\0".to_vec();
        for _ in 0..4 {
            code.extend_from_slice(&self.rng.next_u64().to_le_bytes());
        }
        let actions = vec![
            Action::DeployContract { code: Bytes(code) },
            action::call("new", &json!({}), 20, 0),
        ];
        ("deploys a contract and initialises it", receiver, actions, self.answer())
    }

    fn account(&mut self, signer: usize) -> Scene {
        let key = public_key(CryptoHash::digest(&self.rng.next_u64().to_le_bytes()).as_bytes());
        let own = self.signer_id(signer).clone();
        let (label, receiver, actions) = match self.rng.below(5) {
            0 => {
                let actions = vec![
                    Action::CreateAccount,
                    transfer(NEAR),
                    new_key(key, AccessKeyPermission::FullAccess),
                ];
                ("creates an account", self.cast.newcomer(self.rng), actions)
            }
            1 => {
                let permission = FunctionCallPermission {
                    allowance: self.rng.chance(500).then_some(Balance(NEAR / 4)),
                    receiver_id: self.cast.contract(self.rng).to_string(),
                    method_names: vec!["ping".into(), "vote".into()],
                };
                let actions = vec![new_key(key, AccessKeyPermission::FunctionCall(permission))];
                ("adds a key that may call one contract", own, actions)
            }
            2 => ("deletes a key", own, vec![Action::DeleteKey { public_key: key }]),
            3 => {
                let stake = Stake { stake: Balance(50_000 * NEAR), public_key: key };
                ("stakes", own, vec![Action::Stake(Box::new(stake))])
            }
            _ => {
                let beneficiary_id = self.cast.other(signer, self.rng).clone();
                ("deletes its account", own, vec![Action::DeleteAccount { beneficiary_id }])
            }
        };
        (label, receiver, actions, Effect::plain())
    }

    fn invalid(mut self, signer: usize) -> Draft {
        let (_, receiver_id, actions, _) = self.transfer(signer);
        let person = &self.cast.people[signer];
        let (label, error) =
            failures::of_a_transaction(&person.id, &person.public_key, self.nonce, self.rng);
        Draft {
            kind: Kind::Invalid,
            label,
            signer,
            receiver_id,
            actions,
            fate: Fate::Invalid(error),
        }
    }
}

/// Adds a key that starts from nonce 0
fn new_key(public_key: PublicKey, permission: AccessKeyPermission) -> Action {
    let access_key = AccessKey { nonce: 0, permission };
    Action::AddKey(Box::new(AddKey { public_key, access_key }))
}
