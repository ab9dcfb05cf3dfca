//! Rules for transactions that need no state: the errors are the values of the node's crates.
//!
//! The version and the size of a transaction are checked by the node's crates themselves. The rules
//! for actions are in no published crate, so they are written here a second time, over the node's
//! types, features and limits.

use std::collections::HashMap;
use std::sync::Arc;

use milepost::codec::json;
use milepost::config::{TransactionRules, check};
use milepost::transaction::SignedTransaction;
use near_account_id::AccountType;
use near_crypto::key_conversion::is_valid_staking_key;
use near_parameters::vm::LimitConfig;
use near_parameters::{RuntimeConfig, RuntimeConfigStore, RuntimeConfigView};
use near_primitives::account::{AccessKey, AccessKeyPermission};
use near_primitives::action::StateInitCounts;
use near_primitives::errors::{ActionsValidationError as Violation, InvalidTxError};
use near_primitives::transaction::{Action, ValidatedTransaction};
use near_primitives::types::{AccountId, Balance, Gas};
use near_primitives::universal_state_init::{DecodeMode, RawStateInit, UniversalStateInit};
use near_primitives::utils::{derive_near_deterministic_account_id, derive_universal_account_id};
use near_primitives::version::ProtocolFeature;
use serde_json::json;

use super::generate::Generator;

type Checked = Result<(), Violation>;

/// The rules for a list of actions
struct Rules<'a> {
    limits: &'a LimitConfig,
    version: u32,
}

impl Rules<'_> {
    fn require(&self, feature: ProtocolFeature, name: &str) -> Checked {
        if feature.enabled(self.version) {
            return Ok(());
        }
        let (protocol_feature, version) = (name.to_owned(), self.version);
        Err(Violation::UnsupportedProtocolFeature { protocol_feature, version })
    }

    fn list(&self, actions: &[Action], receiver: &AccountId) -> Checked {
        let limits = self.limits;
        let total_number_of_actions = actions.len() as u64;
        let limit = limits.max_actions_per_receipt;
        if total_number_of_actions > limit {
            return Err(Violation::TotalNumberOfActionsExceeded { total_number_of_actions, limit });
        }
        if actions.iter().any(Action::post_quantum_signatures_required) {
            self.require(ProtocolFeature::PostQuantumSignatures, "PostQuantumSignatures")?;
        }
        let deploys = actions.iter().filter(|action| {
            matches!(action, Action::DeployContract(_) | Action::DeployGlobalContract(_))
        });
        let number_of_deploy_actions = deploys.count() as u64;
        let limit = limits.max_deploy_actions_per_receipt;
        if number_of_deploy_actions > limit {
            return Err(Violation::TotalNumberOfDeployActionsExceeded {
                number_of_deploy_actions,
                limit,
            });
        }
        let counts = actions
            .iter()
            .map(Action::state_init_counts)
            .fold(StateInitCounts::ZERO, StateInitCounts::saturating_add);
        let (number_of_keys, limit) = (counts.keys, limits.max_universal_state_init_keys);
        if number_of_keys > limit {
            return Err(Violation::TotalNumberOfStateInitKeysExceeded { number_of_keys, limit });
        }
        let (number_of_entries, limit) = (counts.entries, limits.max_state_init_entries);
        if number_of_entries > limit {
            return Err(Violation::TotalNumberOfStateInitEntriesExceeded {
                number_of_entries,
                limit,
            });
        }
        let mut delegates = 0;
        for (index, action) in actions.iter().enumerate() {
            match action {
                Action::DeleteAccount(_) if index + 1 < actions.len() => {
                    return Err(Violation::DeleteActionMustBeFinal);
                }
                Action::Delegate(_) | Action::DelegateV2(_) => delegates += 1,
                _ => {}
            }
            if delegates > 1 {
                return Err(Violation::DelegateActionMustBeOnlyOne);
            }
            self.one(action, receiver)?;
        }
        let limit = limits.max_total_prepaid_gas;
        let total_prepaid_gas = prepaid_gas(actions).ok_or(Violation::IntegerOverflow)?;
        if total_prepaid_gas > limit {
            return Err(Violation::TotalPrepaidGasExceeded { total_prepaid_gas, limit });
        }
        Ok(())
    }

    fn one(&self, action: &Action, receiver: &AccountId) -> Checked {
        let limits = self.limits;
        match action {
            Action::DeployContract(action) => self.contract(&action.code),
            Action::DeployGlobalContract(action) => self.contract(&action.code),
            Action::FunctionCall(call) => {
                if call.gas == Gas::ZERO {
                    return Err(Violation::FunctionCallZeroAttachedGas);
                }
                let is_empty = call.method_name.is_empty();
                if is_empty && ProtocolFeature::RejectEmptyMethodName.enabled(self.version) {
                    return Err(Violation::FunctionCallEmptyMethodName);
                }
                let (length, limit) =
                    (call.method_name.len() as u64, limits.max_length_method_name);
                if length > limit {
                    return Err(Violation::FunctionCallMethodNameLengthExceeded { length, limit });
                }
                let (length, limit) = (call.args.len() as u64, limits.max_arguments_length);
                if length > limit {
                    return Err(Violation::FunctionCallArgumentsLengthExceeded { length, limit });
                }
                Ok(())
            }
            Action::Stake(stake) if !is_valid_staking_key(&stake.public_key) => {
                let public_key = Box::new(stake.public_key.clone());
                Err(Violation::UnsuitableStakingKey { public_key })
            }
            Action::AddKey(action) => self.access_key(&action.access_key),
            Action::Transfer(_)
                if ProtocolFeature::RejectUniversalAccountTransfers.enabled(self.version)
                    && !ProtocolFeature::UniversalAccounts.enabled(self.version)
                    && receiver.get_account_type() == AccountType::UniversalAccount =>
            {
                let account_id = receiver.clone();
                Err(Violation::TransferToUniversalAccountNotAllowed { account_id })
            }
            Action::DeterministicStateInit(action) => {
                let derived_id = derive_near_deterministic_account_id(&action.state_init);
                if derived_id != *receiver {
                    let receiver_id = receiver.clone();
                    return Err(Violation::InvalidDeterministicStateInitReceiver {
                        receiver_id,
                        derived_id,
                    });
                }
                for (key, value) in action.state_init.data() {
                    let (length, limit) = (key.len() as u64, limits.max_length_storage_key);
                    if length > limit {
                        return Err(Violation::DeterministicStateInitKeyLengthExceeded {
                            length,
                            limit,
                        });
                    }
                    let (length, limit) = (value.len() as u64, limits.max_length_storage_value);
                    if length > limit {
                        return Err(Violation::DeterministicStateInitValueLengthExceeded {
                            length,
                            limit,
                        });
                    }
                }
                Ok(())
            }
            Action::TransferToGasKey(_) | Action::WithdrawFromGasKey(_) => {
                self.require(ProtocolFeature::GasKeys, "GasKeys")
            }
            Action::UniversalStateInit(action) => {
                self.require(ProtocolFeature::UniversalAccounts, "UniversalAccounts")?;
                self.universal_state_init(&action.state_init, receiver)
            }
            Action::Delegate(delegate) => {
                let delegate = &delegate.delegate_action;
                let inner = self.inner_receiver(receiver, &delegate.receiver_id);
                self.delegate(&delegate.get_actions(), inner)
            }
            Action::DelegateV2(delegate) => {
                self.require(ProtocolFeature::DelegateV2, "DelegateV2")?;
                if ProtocolFeature::RejectDelegateV2.enabled(self.version) {
                    let (protocol_feature, version) = ("DelegateV2".to_owned(), self.version);
                    return Err(Violation::RemovedProtocolFeature { protocol_feature, version });
                }
                use near_primitives::action::delegate::VersionedDelegateActionRef;
                let delegate = VersionedDelegateActionRef::from(&delegate.delegate_action);
                let inner = self.inner_receiver(receiver, delegate.receiver_id());
                self.delegate(&delegate.get_actions(), inner)
            }
            _ => Ok(()),
        }
    }

    /// The receiver that the actions of a delegate action are checked for
    fn inner_receiver<'r>(&self, outer: &'r AccountId, inner: &'r AccountId) -> &'r AccountId {
        let is_fixed = ProtocolFeature::FixDelegatedDeterministicStateInit.enabled(self.version);
        if is_fixed { inner } else { outer }
    }

    fn delegate(&self, actions: &[Action], receiver: &AccountId) -> Checked {
        let (total_number_of_actions, limit) =
            (actions.len() as u64, self.limits.max_actions_per_receipt);
        if total_number_of_actions > limit {
            return Err(Violation::TotalNumberOfActionsExceeded { total_number_of_actions, limit });
        }
        if ProtocolFeature::RejectWithdrawFromGasKeyInDelegate.enabled(self.version)
            && actions.iter().any(|action| matches!(action, Action::WithdrawFromGasKey(_)))
        {
            return Err(Violation::WithdrawFromGasKeyNotAllowedInDelegate);
        }
        self.list(actions, receiver)
    }

    fn universal_state_init(&self, raw: &RawStateInit, receiver: &AccountId) -> Checked {
        let derived_id = derive_universal_account_id(raw);
        if derived_id != *receiver {
            let receiver_id = receiver.clone();
            return Err(Violation::InvalidUniversalStateInitReceiver { receiver_id, derived_id });
        }
        let is_strict = ProtocolFeature::CanonicalUniversalStateInit.enabled(self.version);
        let state = UniversalStateInit::from_raw(raw, DecodeMode::strict_if(is_strict))
            .map_err(|_| Violation::MalformedUniversalStateInit)?;
        for (key, value) in state.data() {
            let (length, limit) = (key.len() as u64, self.limits.max_length_storage_key);
            if length > limit {
                return Err(Violation::UniversalStateInitKeyLengthExceeded { length, limit });
            }
            let (length, limit) = (value.len() as u64, self.limits.max_length_storage_value);
            if length > limit {
                return Err(Violation::UniversalStateInitValueLengthExceeded { length, limit });
            }
        }
        Ok(())
    }

    fn contract(&self, code: &[u8]) -> Checked {
        let (size, limit) = (code.len() as u64, self.limits.max_contract_size);
        if size > limit {
            return Err(Violation::ContractSizeExceeded { size, limit });
        }
        Ok(())
    }

    fn access_key(&self, key: &AccessKey) -> Checked {
        let limits = self.limits;
        let permission = key.permission.function_call_permission();
        if let Some(permission) = permission {
            if permission.receiver_id.parse::<AccountId>().is_err() {
                let account_id = permission.receiver_id.clone();
                return Err(Violation::InvalidAccountId { account_id });
            }
            let mut total_number_of_bytes = 0;
            for name in &permission.method_names {
                let (length, limit) = (name.len() as u64, limits.max_length_method_name);
                if length > limit {
                    return Err(Violation::AddKeyMethodNameLengthExceeded { length, limit });
                }
                total_number_of_bytes += length + 1;
            }
            let limit = limits.max_number_bytes_method_names;
            if total_number_of_bytes > limit {
                return Err(Violation::AddKeyMethodNamesNumberOfBytesExceeded {
                    total_number_of_bytes,
                    limit,
                });
            }
        }
        let Some(info) = key.gas_key_info() else { return Ok(()) };
        self.require(ProtocolFeature::GasKeys, "GasKeys")?;
        if permission.is_some_and(|permission| permission.allowance.is_some()) {
            return Err(Violation::GasKeyFunctionCallAllowanceNotAllowed);
        }
        let (requested_nonces, limit) =
            (info.num_nonces, AccessKeyPermission::MAX_NONCES_FOR_GAS_KEY);
        if requested_nonces == 0 || requested_nonces > limit {
            return Err(Violation::GasKeyInvalidNumNonces { requested_nonces, limit });
        }
        if info.balance != Balance::ZERO {
            return Err(Violation::AddGasKeyWithNonZeroBalance { balance: info.balance });
        }
        Ok(())
    }
}

/// The gas that actions attach; `None` if the sum overflows
fn prepaid_gas(actions: &[Action]) -> Option<Gas> {
    actions.iter().try_fold(Gas::ZERO, |total, action| {
        let gas = match action {
            Action::FunctionCall(call) => call.gas,
            Action::Delegate(delegate) => prepaid_gas(&delegate.delegate_action.get_actions())?,
            Action::DelegateV2(delegate) => {
                use near_primitives::action::delegate::VersionedDelegateActionRef;
                let delegate = VersionedDelegateActionRef::from(&delegate.delegate_action);
                prepaid_gas(&delegate.get_actions())?
            }
            _ => Gas::ZERO,
        };
        total.checked_add(gas)
    })
}

/// The configuration of a protocol version with small limits
fn runtime_config(
    generator: &mut Generator,
    store: &RuntimeConfigStore,
    version: u32,
) -> RuntimeConfig {
    let mut config = RuntimeConfig::clone(store.get_config(version));
    let limits = &mut Arc::make_mut(&mut config.wasm_config).limit_config;
    for (limit, below) in [
        (&mut limits.max_actions_per_receipt, 8),
        (&mut limits.max_deploy_actions_per_receipt, 4),
        (&mut limits.max_state_init_entries, 12),
        (&mut limits.max_universal_state_init_keys, 6),
        (&mut limits.max_contract_size, 80),
        (&mut limits.max_length_method_name, 24),
        (&mut limits.max_arguments_length, 80),
        (&mut limits.max_length_storage_key, 12),
        (&mut limits.max_length_storage_value, 12),
        (&mut limits.max_number_bytes_method_names, 60),
        (&mut limits.max_transaction_size, 3_000),
    ] {
        *limit = generator.below(below);
    }
    if generator.below(2) == 0 {
        limits.max_total_prepaid_gas = Gas::from_gas(u64::MAX);
    }
    config
}

#[test]
fn unknown_transactions_are_refused_for_the_reasons_of_a_node() {
    let mut generator = Generator::new(20_261_122);
    let store = RuntimeConfigStore::for_chain_id("mainnet");
    let mut counts: HashMap<String, usize> = HashMap::new();
    for _ in 0..4_000 {
        let version = 84 + generator.below(5) as u32;
        let config = runtime_config(&mut generator, &store, version);
        let text = json!({
            "chain_id": "mainnet",
            "genesis_height": 0,
            "protocol_version": version,
            "runtime_config": RuntimeConfigView::from(config.clone()),
        });
        let rules = TransactionRules::read(&check(&text.to_string(), true).unwrap().text).unwrap();
        let theirs = match generator.below(4) {
            0 => generator.any(),
            1 => {
                let calls = [(); 3].map(|()| generator.action(2));
                generator.signed(calls.to_vec())
            }
            // One action, of which the rules for single actions are seen more often.
            _ => {
                let tag = generator.below(super::TAGS);
                let action = generator.action(tag);
                generator.signed(vec![action])
            }
        };
        let limits = &config.wasm_config.limit_config;
        let (actions, receiver) = (theirs.transaction.actions(), theirs.transaction.receiver_id());
        let expected = Rules { limits, version }
            .list(actions, receiver)
            .map_err(InvalidTxError::ActionsValidation)
            .and_then(|()| ValidatedTransaction::check_valid_for_config(&config, &theirs, version));

        let bytes = borsh::to_vec(&theirs).unwrap();
        let found = rules.check(&SignedTransaction::decode(&bytes).unwrap());
        let expected = expected.map_err(|error| {
            let mut text = String::new();
            json::canonical(&serde_json::to_string(&error).unwrap(), &mut text).unwrap();
            text
        });
        assert_eq!(found, expected, "{version} {theirs:?}");
        let variant = match &found {
            Ok(()) => "valid".to_owned(),
            Err(text) => {
                let names = text.split(['{', '"', ':']).filter(|name| !name.is_empty());
                names
                    .take(if text.contains("ActionsValidation") { 2 } else { 1 })
                    .last()
                    .unwrap()
                    .to_owned()
            }
        };
        *counts.entry(variant).or_default() += 1;
    }
    for name in "valid TotalNumberOfActionsExceeded UnsupportedProtocolFeature \
                 TotalNumberOfDeployActionsExceeded TotalNumberOfStateInitEntriesExceeded \
                 DeleteActionMustBeFinal DelegateActionMustBeOnlyOne ContractSizeExceeded \
                 FunctionCallZeroAttachedGas FunctionCallEmptyMethodName \
                 FunctionCallMethodNameLengthExceeded FunctionCallArgumentsLengthExceeded \
                 UnsuitableStakingKey InvalidAccountId GasKeyInvalidNumNonces \
                 AddGasKeyWithNonZeroBalance InvalidDeterministicStateInitReceiver \
                 DeterministicStateInitKeyLengthExceeded \
                 DeterministicStateInitValueLengthExceeded RemovedProtocolFeature \
                 WithdrawFromGasKeyNotAllowedInDelegate TransferToUniversalAccountNotAllowed \
                 InvalidUniversalStateInitReceiver MalformedUniversalStateInit \
                 UniversalStateInitKeyLengthExceeded UniversalStateInitValueLengthExceeded \
                 TotalNumberOfStateInitKeysExceeded \
                 TotalPrepaidGasExceeded IntegerOverflow InvalidTransactionVersion \
                 TransactionSizeExceeded"
        .split_whitespace()
    {
        assert!(counts.get(name).is_some_and(|count| *count > 0), "{name}: {counts:?}");
    }
}

/// Valid keys, points with torsion and texts that are no point
#[test]
fn staking_keys_are_those_that_a_node_takes() {
    let stake = |key: &[u8]| {
        let key = bs58::encode(key).into_string();
        let action = json!({"Stake": {"public_key": format!("ed25519:{key}"), "stake": "1"}});
        json::read::<milepost::transaction::NonDelegateAction>(&action.to_string()).unwrap()
    };
    let mut generator = Generator::new(20_261_123);
    let config = r#"{"protocol_version":88}"#;
    let rules = TransactionRules::read(config).unwrap();
    let template = SignedTransaction::decode(&borsh::to_vec(&generator.signed(vec![])).unwrap());
    let (template, signature) = template.unwrap().into_parts();
    let (mut valid, mut invalid) = (0, 0);
    for number in 0..400_u16 {
        let mut key = [0; 32];
        if number < 100 {
            // Points of small order are among the smallest and the largest numbers.
            key.fill(if number < 50 { 0 } else { 0xff });
            key[0] = number as u8;
            key[31] = if number < 50 { 0 } else { 0x7f };
        } else {
            let bytes = generator.number().to_le_bytes();
            for (byte, value) in key.iter_mut().zip(bytes.iter().cycle().zip(number..)) {
                *byte = value.0 ^ value.1 as u8;
            }
        }
        let mut transaction = template.clone();
        transaction.actions = vec![stake(&key).into()];
        let signed = SignedTransaction::new(transaction, signature.clone()).unwrap();
        let theirs: near_crypto::PublicKey =
            borsh::from_slice(&[&[0][..], &key[..]].concat()).unwrap();
        let is_valid = is_valid_staking_key(&theirs);
        assert_eq!(rules.check(&signed).is_ok(), is_valid, "{key:02x?}");
        *(if is_valid { &mut valid } else { &mut invalid }) += 1;
    }
    assert!(valid > 10 && invalid > 200, "{valid} {invalid}");
}
