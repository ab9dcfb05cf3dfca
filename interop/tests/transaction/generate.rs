//! Random transactions of the node's own types from a seed: every action, key and version.
//!
//! The same seed gives the same transactions, except for signatures of ml-dsa-65, which are
//! randomised. Generated forms are counted, so that a test can assert that each occurred.

use std::collections::HashMap;

use milepost_testkit::Rng;
use ml_dsa::{ExpandedSigningKey, MlDsa65};
use near_crypto::{KeyType, PublicKey, PublicKeyHandle, SecretKey, Signature};
use near_primitives::account::{
    AccessKey, AccessKeyPermission, FunctionCallPermission, GasKeyInfo,
};
use near_primitives::action::delegate::{
    DelegateAction, DelegateActionV2, NonDelegateAction, SignedDelegateAction,
    VersionedDelegateActionPayload, VersionedSignedDelegateAction,
};
use near_primitives::action::{
    AddKeyAction, CreateAccountAction, DeleteAccountAction, DeleteKeyAction, DeployContractAction,
    DeployGlobalContractAction, DeterministicStateInitAction, FunctionCallAction,
    GlobalContractDeployMode, GlobalContractIdentifier, StakeAction, TransferAction,
    TransferToGasKeyAction, UniversalStateInitAction, UseGlobalContractAction,
    WithdrawFromGasKeyAction,
};
use near_primitives::deterministic_account_id::{
    DeterministicAccountStateInit, DeterministicAccountStateInitV1,
};
use near_primitives::hash::CryptoHash;
use near_primitives::transaction::{
    Action, NonceMode, SignedTransaction, Transaction, TransactionNonce, TransactionV0,
    TransactionV1,
};
use near_primitives::types::{AccountId, Balance, Gas};
use near_primitives::universal_state_init::{
    RawStateInit, UniversalStateInit, UniversalStateInitV1,
};
use near_primitives::utils::{derive_near_deterministic_account_id, derive_universal_account_id};

/// The number of action variants
pub(crate) const TAGS: u64 = 16;
/// The tags of delegate actions
const DELEGATE: u64 = 8;
const DELEGATE_V2: u64 = 14;

/// Random numbers, and the count of each generated form
pub(crate) struct Generator {
    rng: Rng,
    /// The number of times each form was generated
    pub(crate) counts: HashMap<String, usize>,
    keys: Vec<SecretKey>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        let keys = [KeyType::ED25519, KeyType::SECP256K1, KeyType::MLDSA65]
            .into_iter()
            .flat_map(|kind| [0, 1].map(|number| SecretKey::from_seed(kind, &format!("{number}"))))
            .collect();
        Self { rng: Rng::new(seed), counts: HashMap::new(), keys }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.rng.next_u64()
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.rng.below(limit)
    }

    pub(crate) fn bytes(&mut self, max_len: u64) -> Vec<u8> {
        (0..self.below(max_len + 1)).map(|_| self.number() as u8).collect()
    }

    fn count(&mut self, form: &str) {
        *self.counts.entry(form.to_owned()).or_default() += 1;
    }

    fn edge_number(&mut self) -> u64 {
        match self.below(4) {
            0 => 0,
            1 => u64::MAX,
            2 => self.below(1000),
            _ => self.number(),
        }
    }

    fn balance(&mut self) -> Balance {
        let high = u128::from(self.edge_number());
        Balance::from_yoctonear(high << 64 | u128::from(self.edge_number()))
    }

    fn account_id(&mut self) -> AccountId {
        const NAMES: [&str; 7] = [
            "aa",
            "0u0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjg",
            "alice.near",
            "app_1-x.near",
            "0s0123456789abcdef0123456789abcdef01234567",
            "98793cd91a3f870fb126f66285808c7e094afcfc4eda8a970f6648cdf0dbd6de",
            "a.very.long.account.id.of.sixty-four.bytes.0123456789.0123.testn",
        ];
        NAMES[self.below(NAMES.len() as u64) as usize].parse().unwrap()
    }

    fn text(&mut self) -> String {
        const TEXTS: [&str; 5] =
            ["", "ft_transfer", "größe \u{1f600}", "a\"b\\c\n\u{1}", "Not an id"];
        TEXTS[self.below(TEXTS.len() as u64) as usize].to_owned()
    }

    fn hash(&mut self) -> CryptoHash {
        CryptoHash::hash_bytes(&self.number().to_le_bytes())
    }

    /// A key; long ones are rarer
    fn secret_key(&mut self) -> SecretKey {
        let pick = match self.below(20) {
            0 => 4 + self.below(2),
            1..=6 => 2 + self.below(2),
            _ => self.below(2),
        };
        let key = self.keys[pick as usize].clone();
        self.count(&format!("key {:?}", key.key_type()));
        key
    }

    fn public_key(&mut self) -> PublicKey {
        self.secret_key().public_key()
    }

    fn nonce(&mut self) -> TransactionNonce {
        let nonce = self.edge_number();
        if self.below(2) == 0 {
            self.count("nonce");
            TransactionNonce::Nonce { nonce }
        } else {
            self.count("nonce of a gas key");
            TransactionNonce::GasKeyNonce { nonce, nonce_index: self.number() as u16 }
        }
    }

    fn permission(&mut self) -> AccessKeyPermission {
        let max_nonces = if self.below(2) == 0 { 1_025 } else { u64::from(u16::MAX) };
        let num_nonces = self.below(max_nonces + 1) as u16;
        let info = GasKeyInfo { balance: self.balance(), num_nonces };
        let calls = FunctionCallPermission {
            allowance: (self.below(2) == 0).then(|| self.balance()),
            receiver_id: self.text(),
            method_names: (0..self.below(4)).map(|_| self.text()).collect(),
        };
        let pick = self.below(4);
        self.count(&format!("permission {pick}"));
        match pick {
            0 => AccessKeyPermission::FunctionCall(calls),
            1 => AccessKeyPermission::FullAccess,
            2 => AccessKeyPermission::GasKeyFunctionCall(info, calls),
            _ => AccessKeyPermission::GasKeyFullAccess(info),
        }
    }

    fn identifier(&mut self) -> GlobalContractIdentifier {
        if self.below(2) == 0 {
            self.count("contract by hash");
            GlobalContractIdentifier::CodeHash(self.hash())
        } else {
            self.count("contract by account");
            GlobalContractIdentifier::AccountId(self.account_id())
        }
    }

    /// The action with this tag; a delegate action contains any others
    pub(crate) fn action(&mut self, tag: u64) -> Action {
        self.count(&format!("action {tag}"));
        match tag {
            0 => Action::CreateAccount(CreateAccountAction {}),
            1 => Action::DeployContract(DeployContractAction { code: self.bytes(40) }),
            2 => Action::FunctionCall(Box::new(FunctionCallAction {
                method_name: self.text(),
                args: self.bytes(40),
                gas: Gas::from_gas(self.edge_number()),
                deposit: self.balance(),
            })),
            3 => Action::Transfer(TransferAction { deposit: self.balance() }),
            4 => Action::Stake(Box::new(StakeAction {
                stake: self.balance(),
                public_key: self.public_key(),
            })),
            5 => Action::AddKey(Box::new(AddKeyAction {
                public_key: self.public_key(),
                access_key: AccessKey { nonce: self.edge_number(), permission: self.permission() },
            })),
            6 => Action::DeleteKey(Box::new(DeleteKeyAction { public_key: self.public_key() })),
            7 => Action::DeleteAccount(DeleteAccountAction { beneficiary_id: self.account_id() }),
            DELEGATE => self.delegate(),
            9 => Action::DeployGlobalContract(DeployGlobalContractAction {
                code: self.bytes(40).into(),
                deploy_mode: if self.below(2) == 0 {
                    GlobalContractDeployMode::CodeHash
                } else {
                    GlobalContractDeployMode::AccountId
                },
            }),
            10 => Action::UseGlobalContract(Box::new(UseGlobalContractAction {
                contract_identifier: self.identifier(),
            })),
            11 => Action::DeterministicStateInit(Box::new(DeterministicStateInitAction {
                state_init: DeterministicAccountStateInit::V1(DeterministicAccountStateInitV1 {
                    code: self.identifier(),
                    data: (0..self.below(5)).map(|_| (self.bytes(6), self.bytes(6))).collect(),
                }),
                deposit: self.balance(),
            })),
            12 => Action::TransferToGasKey(Box::new(TransferToGasKeyAction {
                public_key: self.public_key(),
                deposit: self.balance(),
            })),
            13 => Action::WithdrawFromGasKey(Box::new(WithdrawFromGasKeyAction {
                public_key: self.public_key(),
                amount: self.balance(),
            })),
            DELEGATE_V2 => self.delegate_v2(),
            15 => Action::UniversalStateInit(Box::new(UniversalStateInitAction {
                state_init: self.universal_state_init(),
                deposit: self.balance(),
            })),
            _ => panic!("unknown tag {tag} of an action"),
        }
    }

    /// The state init of a universal account; one in four has its keys in any order, and one in
    /// eight is any bytes
    fn universal_state_init(&mut self) -> RawStateInit {
        let code = (self.below(2) == 0).then(|| self.identifier());
        let data: Vec<_> = (0..self.below(5)).map(|_| (self.bytes(6), self.bytes(6))).collect();
        let keys = (0..self.below(4)).map(|_| PublicKeyHandle::from(self.public_key()));
        let access_keys: Vec<_> = keys.collect();
        match self.below(8) {
            0 => RawStateInit(self.bytes(40)),
            1 | 2 => RawStateInit(borsh::to_vec(&(0_u8, code, data, access_keys)).unwrap()),
            _ => {
                let (data, access_keys) =
                    (data.into_iter().collect(), access_keys.into_iter().collect());
                UniversalStateInit::V1(UniversalStateInitV1 { code, data, access_keys }).to_raw()
            }
        }
    }

    fn inner_actions(&mut self) -> Vec<NonDelegateAction> {
        (0..self.below(8))
            .map(|_| {
                loop {
                    let tag = self.below(TAGS);
                    if tag != DELEGATE && tag != DELEGATE_V2 {
                        self.count(&format!("inner action {tag}"));
                        return self.action(tag).try_into().unwrap();
                    }
                }
            })
            .collect()
    }

    /// A signature of this digest; one in four is of another digest
    fn signature(&mut self, key: &SecretKey, digest: CryptoHash) -> Signature {
        let is_valid = self.below(4) != 0;
        self.count(if is_valid { "valid signature" } else { "invalid signature" });
        sign(key, if is_valid { digest } else { self.hash() }.as_ref())
    }

    /// A receiver of these actions: often the account derived from the first state init among them
    fn receiver(&mut self, actions: impl IntoIterator<Item = Action>) -> AccountId {
        let derived = actions.into_iter().find_map(|action| match action {
            Action::DeterministicStateInit(action) => {
                Some(derive_near_deterministic_account_id(&action.state_init))
            }
            Action::UniversalStateInit(action) => {
                Some(derive_universal_account_id(&action.state_init))
            }
            _ => None,
        });
        match derived {
            Some(derived) if self.below(4) != 0 => {
                self.count("derived receiver");
                derived
            }
            _ => self.account_id(),
        }
    }

    fn delegate(&mut self) -> Action {
        let key = self.secret_key();
        let actions = self.inner_actions();
        let delegate_action = DelegateAction {
            sender_id: self.account_id(),
            receiver_id: self.receiver(actions.iter().cloned().map(Action::from)),
            actions,
            nonce: self.edge_number(),
            max_block_height: self.edge_number(),
            public_key: key.public_key(),
        };
        let signature = self.signature(&key, delegate_action.get_nep461_hash());
        Action::Delegate(Box::new(SignedDelegateAction { delegate_action, signature }))
    }

    fn delegate_v2(&mut self) -> Action {
        let key = self.secret_key();
        let actions = self.inner_actions();
        let delegate_action = VersionedDelegateActionPayload::V2(DelegateActionV2 {
            sender_id: self.account_id(),
            receiver_id: self.receiver(actions.iter().cloned().map(Action::from)),
            actions,
            nonce: self.nonce(),
            max_block_height: self.edge_number(),
            public_key: key.public_key(),
        });
        let signature = self.signature(&key, delegate_action.get_nep461_hash());
        Action::DelegateV2(Box::new(VersionedSignedDelegateAction { delegate_action, signature }))
    }

    /// A signed transaction with these actions
    pub(crate) fn signed(&mut self, actions: Vec<Action>) -> SignedTransaction {
        let key = self.secret_key();
        let (signer_id, receiver_id) = (self.account_id(), self.receiver(actions.iter().cloned()));
        let (public_key, block_hash) = (key.public_key(), self.hash());
        let transaction = if self.below(2) == 0 {
            self.count("version 0");
            let nonce = self.edge_number();
            Transaction::V0(TransactionV0 {
                signer_id,
                public_key,
                nonce,
                receiver_id,
                block_hash,
                actions,
            })
        } else {
            let nonce = self.nonce();
            let nonce_mode =
                if self.below(2) == 0 { NonceMode::Monotonic } else { NonceMode::Strict };
            self.count(&format!("version 1, {nonce_mode:?}"));
            Transaction::V1(TransactionV1 {
                signer_id,
                public_key,
                nonce,
                receiver_id,
                block_hash,
                actions,
                nonce_mode,
            })
        };
        let (digest, _) = transaction.get_hash_and_size();
        let signature = self.signature(&key, digest);
        SignedTransaction::new(signature, transaction)
    }

    /// A signed transaction of up to five actions
    pub(crate) fn any(&mut self) -> SignedTransaction {
        let actions = (0..self.below(6))
            .map(|_| {
                let tag = self.below(TAGS);
                self.action(tag)
            })
            .collect();
        self.signed(actions)
    }
}

/// A signature that is the same in every run, so that records of it are
#[expect(deprecated, reason = "the node's crates keep the expanded key, and made it themselves")]
fn sign(key: &SecretKey, digest: &[u8]) -> Signature {
    let SecretKey::MLDSA65(secret) = key else { return key.sign(digest) };
    let secret = ExpandedSigningKey::<MlDsa65>::from_expanded((&*secret.0).into());
    let signature = secret.sign_deterministic(digest, &[]).unwrap().encode();
    Signature::from_parts(KeyType::MLDSA65, &signature).unwrap()
}
