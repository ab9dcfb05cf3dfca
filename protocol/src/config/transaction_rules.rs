//! The rules of a configuration for a transaction, as far as no state is needed.
//!
//! The rules, their order and their errors are those of node 2.14: first the actions, then the
//! version of the transaction, then its size. The signature comes after them and is checked
//! elsewhere. An absent limit is not checked. Of two limits for state inits that are both exceeded,
//! keys and entries, the one of keys is named; the order of the node is not published.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{Display, Write as _};

use crate::Error;
use crate::codec::floor_char_boundary;
use crate::codec::json::{self, Number, ReadError, Reader, Scalar};
use crate::primitives::{AccountId, Balance, BlockHeight, PublicKey, Scheme, Signature};
use crate::transaction::{
    Action, NonceMode, SignedTransaction, TransactionVersion, UniversalState, derive_account_id,
    derive_universal_account_id, is_staking_key,
};
use crate::views::{
    AccessKeyPermission, AddKeyAction, DeterministicAccountStateInit, FunctionCallPermission,
    NonDelegateAction,
};

/// The rules of a configuration for transactions, as far as they need no state
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct TransactionRules {
    protocol_version: u64,
    validity_period: Limit,
    /// Absent or 0 if access keys may have a receiver that is no account id
    account_id_rules: Option<u64>,
    max_actions: Limit,
    max_arguments: Limit,
    max_contract_size: Limit,
    max_deploy_actions: Limit,
    max_method_name: Limit,
    max_storage_key: Limit,
    max_storage_value: Limit,
    max_method_names: Limit,
    max_state_init_entries: Limit,
    max_state_init_keys: Limit,
    max_prepaid_gas: Limit,
    max_transaction_size: Limit,
}

/// A limit; absent, it is not checked
type Limit = Option<u64>;

/// The JSON of an error: a variant of `InvalidTxError`, or of `ActionsValidationError`
type Violation = String;

/// Protocol versions from which on a feature is there
mod feature {
    /// Transactions of version 1, gas keys, delegate actions of version 2, `ml-dsa-65`; the
    /// receiver of a delegate action is that of the state inits in it
    pub(super) const VERSION_1: u64 = 85;
    /// No delegate actions of version 2, no withdrawal in a delegate action, no empty method name
    pub(super) const STRICT_ACTIONS: u64 = 87;
    /// Universal accounts, whose state init has one accepted encoding
    pub(super) const UNIVERSAL_ACCOUNTS: u64 = 88;
}

/// Maximum number of nonces of a gas key, in all protocol versions
const MAX_NONCES: u16 = 1_024;

/// An action of a list, inside or outside of a delegate action
#[derive(Clone, Copy)]
enum Item<'a> {
    Plain(&'a NonDelegateAction),
    Delegate {
        version: u8,
        receiver: &'a AccountId,
        actions: &'a [NonDelegateAction],
        key: &'a PublicKey,
        signature: &'a Signature,
    },
}

impl<'a> Item<'a> {
    fn new(action: &'a Action) -> Self {
        match action {
            Action::NonDelegate(action) => Self::Plain(action),
            Action::Delegate(delegate) => Self::Delegate {
                version: 1,
                receiver: &delegate.delegate_action.receiver_id,
                actions: &delegate.delegate_action.actions,
                key: &delegate.delegate_action.public_key,
                signature: &delegate.signature,
            },
            Action::DelegateV2(delegate) => Self::Delegate {
                version: 2,
                receiver: &delegate.delegate_action.receiver_id,
                actions: &delegate.delegate_action.actions,
                key: &delegate.delegate_action.public_key,
                signature: &delegate.signature,
            },
        }
    }

    /// Whether it has a key or a signature of a scheme that only protocol versions from 85 on have
    fn is_post_quantum(self) -> bool {
        let is_new = |key: &PublicKey| key.scheme() == Scheme::MlDsa65;
        match self {
            Self::Plain(NonDelegateAction::Stake(action)) => is_new(&action.public_key),
            Self::Plain(NonDelegateAction::AddKey(action)) => is_new(&action.public_key),
            Self::Plain(NonDelegateAction::DeleteKey(action)) => is_new(&action.public_key),
            Self::Plain(NonDelegateAction::TransferToGasKey(action)) => is_new(&action.public_key),
            Self::Plain(NonDelegateAction::WithdrawFromGasKey(action)) => {
                is_new(&action.public_key)
            }
            Self::Plain(NonDelegateAction::UniversalStateInit(action)) => {
                UniversalState::read(&action.state_init.0)
                    .is_ok_and(|state| state.is_post_quantum())
            }
            Self::Plain(_) => false,
            Self::Delegate { actions, key, signature, .. } => {
                is_new(key)
                    || signature.scheme() == Scheme::MlDsa65
                    || actions.iter().any(|action| Self::Plain(action).is_post_quantum())
            }
        }
    }

    /// Numbers of access keys and of entries in its state inits; none in those that are malformed
    fn state_init_counts(self) -> (usize, usize) {
        match self {
            Self::Plain(NonDelegateAction::DeterministicStateInit(action)) => {
                match &action.state_init {
                    DeterministicAccountStateInit::V1(state) => (0, state.data.0.len()),
                    _ => (0, 0),
                }
            }
            Self::Plain(NonDelegateAction::UniversalStateInit(action)) => {
                UniversalState::read(&action.state_init.0)
                    .map(|state| (state.access_key_count(), state.entry_count()))
                    .unwrap_or_default()
            }
            Self::Plain(_) => (0, 0),
            Self::Delegate { actions, .. } => state_init_counts(actions.iter().map(Self::Plain)),
        }
    }

    /// The gas that it attaches; `None` if the sum overflows
    fn prepaid_gas(self) -> Option<u64> {
        match self {
            Self::Plain(NonDelegateAction::FunctionCall(call)) => Some(call.gas.0),
            Self::Plain(_) => Some(0),
            Self::Delegate { actions, .. } => prepaid_gas(actions.iter().map(Self::Plain)),
        }
    }
}

fn state_init_counts<'a>(items: impl Iterator<Item = Item<'a>>) -> (usize, usize) {
    items.map(Item::state_init_counts).fold((0, 0), |total, counts| {
        // Each is a part of the transaction, so the sum is below its size.
        (total.0 + counts.0, total.1 + counts.1)
    })
}

fn prepaid_gas<'a>(mut items: impl Iterator<Item = Item<'a>>) -> Option<u64> {
    items.try_fold(0, |total: u64, item| total.checked_add(item.prepaid_gas()?))
}

impl TransactionRules {
    /// Reads the rules in a configuration that was checked on import
    ///
    /// # Errors
    ///
    /// The text is not one that was checked.
    pub fn read(config: &str) -> Result<Self, Error> {
        Self::read_from(Reader::new(config)).map_err(|error| error.into_error(config))
    }

    fn read_from(mut config: Reader<'_>) -> Result<Self, ReadError> {
        const OBJECT: &str = "an object";
        const NAMES: [&str; 3] =
            ["protocol_version", "transaction_validity_period", "runtime_config"];
        let [version, validity_period, runtime] = config.members(NAMES, OBJECT)?;
        let mut rules = Self {
            protocol_version: limit(version)?.unwrap_or_default(),
            validity_period: limit(validity_period)?,
            ..Self::default()
        };
        let Some(mut runtime) = runtime else { return Ok(rules) };
        let [Some(mut wasm)] = runtime.members(["wasm_config"], OBJECT)? else {
            return Ok(rules);
        };
        let [Some(mut limits)] = wasm.members(["limit_config"], OBJECT)? else {
            return Ok(rules);
        };
        let fields = [
            ("account_id_validity_rules_version", &mut rules.account_id_rules),
            ("max_actions_per_receipt", &mut rules.max_actions),
            ("max_arguments_length", &mut rules.max_arguments),
            ("max_contract_size", &mut rules.max_contract_size),
            ("max_deploy_actions_per_receipt", &mut rules.max_deploy_actions),
            ("max_length_method_name", &mut rules.max_method_name),
            ("max_length_storage_key", &mut rules.max_storage_key),
            ("max_length_storage_value", &mut rules.max_storage_value),
            ("max_number_bytes_method_names", &mut rules.max_method_names),
            ("max_state_init_entries", &mut rules.max_state_init_entries),
            ("max_total_prepaid_gas", &mut rules.max_prepaid_gas),
            ("max_transaction_size", &mut rules.max_transaction_size),
            ("max_universal_state_init_keys", &mut rules.max_state_init_keys),
        ];
        let found = limits.members(fields.each_ref().map(|(name, _)| *name), OBJECT)?;
        for ((_, field), found) in fields.into_iter().zip(found) {
            *field = limit(found)?;
        }
        Ok(rules)
    }

    /// Checks a transaction; the signatures in it are not verified
    ///
    /// Costs no more than decoding the transaction did, except for one multiplication on the curve
    /// for each key to stake with, and one pass of Keccak-256 over each state init.
    ///
    /// # Errors
    ///
    /// The first rule that is violated: an `InvalidTxError` as compact JSON with sorted keys.
    pub fn check(&self, signed: &SignedTransaction) -> Result<(), String> {
        let transaction = signed.transaction();
        let items: Vec<Item<'_>> = transaction.actions.iter().map(Item::new).collect();
        self.check_actions(&items, &transaction.receiver_id)
            .map_err(|violation| ["{\"ActionsValidation\":", &violation, "}"].concat())?;
        let is_new = signed.signature().scheme() == Scheme::MlDsa65
            || transaction.public_key.scheme() == Scheme::MlDsa65
            || !matches!(transaction.version, TransactionVersion::V0 { .. })
            || *transaction.nonce_mode() != NonceMode::Monotonic;
        if is_new && !self.has(feature::VERSION_1) {
            return Err(variant("InvalidTransactionVersion", &[]));
        }
        self.check_size(signed)
    }

    /// Whether a transaction can no longer be included on top of a head of this height, given the
    /// height of the base block that it names
    ///
    /// It can be as long as the head is at most `transaction_validity_period` heights above the
    /// base block; skipped heights count.
    pub fn is_expired(&self, base: BlockHeight, head: BlockHeight) -> bool {
        self.last_height(base).is_some_and(|last| head > last)
    }

    /// The greatest height of a head on top of which a transaction can be included, given the
    /// height of its base block; `None` if it does not expire
    pub fn last_height(&self, base: BlockHeight) -> Option<BlockHeight> {
        self.validity_period.map(|period| base.saturating_add(period))
    }

    fn has(&self, feature: u64) -> bool {
        self.protocol_version >= feature
    }

    /// Checks the size, to which the signature belongs since signatures can be large
    fn check_size(&self, signed: &SignedTransaction) -> Result<(), Violation> {
        let mut size = signed.encode().len();
        if !self.has(feature::VERSION_1) {
            // A tag is before the signature.
            size -= 1 + signed.signature().as_bytes().len();
        }
        within(self.max_transaction_size, "TransactionSizeExceeded", "size", size)
    }

    /// Checks a list of actions; recurses once, for the actions of a delegate action
    fn check_actions(&self, items: &[Item<'_>], outer: &AccountId) -> Result<(), Violation> {
        const COUNT: &str = "TotalNumberOfActionsExceeded";
        within(self.max_actions, COUNT, "total_number_of_actions", items.len())?;
        if !self.has(feature::VERSION_1) && items.iter().any(|item| item.is_post_quantum()) {
            self.require(feature::VERSION_1, "PostQuantumSignatures")?;
        }
        let is_deploy = |item: &&Item<'_>| {
            use NonDelegateAction::{DeployContract, DeployGlobalContract};
            matches!(item, Item::Plain(DeployContract(_) | DeployGlobalContract(_)))
        };
        let deploys = items.iter().filter(is_deploy).count();
        const DEPLOYS: &str = "TotalNumberOfDeployActionsExceeded";
        within(self.max_deploy_actions, DEPLOYS, "number_of_deploy_actions", deploys)?;
        self.check_state_init_counts(items)?;

        let mut has_delegate = false;
        for (index, item) in items.iter().enumerate() {
            match *item {
                Item::Plain(action) => {
                    if matches!(action, NonDelegateAction::DeleteAccount(_))
                        && index + 1 < items.len()
                    {
                        return Err(variant("DeleteActionMustBeFinal", &[]));
                    }
                    self.check_action(action, outer)?;
                }
                Item::Delegate { version, receiver, actions, .. } => {
                    if has_delegate {
                        return Err(variant("DelegateActionMustBeOnlyOne", &[]));
                    }
                    has_delegate = true;
                    let receiver = if self.has(feature::VERSION_1) { receiver } else { outer };
                    self.check_delegate(version, actions, receiver)?;
                }
            }
        }
        const GAS: &str = "TotalPrepaidGasExceeded";
        match prepaid_gas(items.iter().copied()) {
            None => Err(variant("IntegerOverflow", &[])),
            Some(gas) => within(self.max_prepaid_gas, GAS, "total_prepaid_gas", gas),
        }
    }

    /// Checks what the state inits contain in sum, also those inside of delegate actions
    fn check_state_init_counts(&self, items: &[Item<'_>]) -> Result<(), Violation> {
        let (keys, entries) = state_init_counts(items.iter().copied());
        const KEYS: &str = "TotalNumberOfStateInitKeysExceeded";
        within(self.max_state_init_keys, KEYS, "number_of_keys", keys)?;
        const ENTRIES: &str = "TotalNumberOfStateInitEntriesExceeded";
        within(self.max_state_init_entries, ENTRIES, "number_of_entries", entries)
    }

    fn check_delegate(
        &self,
        version: u8,
        actions: &[NonDelegateAction],
        receiver: &AccountId,
    ) -> Result<(), Violation> {
        if version == 2 {
            const NAME: &str = "DelegateV2";
            self.require(feature::VERSION_1, NAME)?;
            if self.has(feature::STRICT_ACTIONS) {
                return Err(self.feature_error("RemovedProtocolFeature", NAME));
            }
        }
        const COUNT: &str = "TotalNumberOfActionsExceeded";
        within(self.max_actions, COUNT, "total_number_of_actions", actions.len())?;
        let is_withdrawal = |action: &_| matches!(action, NonDelegateAction::WithdrawFromGasKey(_));
        if self.has(feature::STRICT_ACTIONS) && actions.iter().any(is_withdrawal) {
            return Err(variant("WithdrawFromGasKeyNotAllowedInDelegate", &[]));
        }
        let items: Vec<Item<'_>> = actions.iter().map(Item::Plain).collect();
        self.check_actions(&items, receiver)
    }

    fn check_action(
        &self,
        action: &NonDelegateAction,
        receiver: &AccountId,
    ) -> Result<(), Violation> {
        match action {
            NonDelegateAction::DeployContract(action) => self.check_contract(action.code.0.len()),
            NonDelegateAction::DeployGlobalContract(action) => {
                self.check_contract(action.code.0.len())
            }
            NonDelegateAction::FunctionCall(call) => {
                if call.gas.0 == 0 {
                    return Err(variant("FunctionCallZeroAttachedGas", &[]));
                }
                if call.method_name.is_empty() && self.has(feature::STRICT_ACTIONS) {
                    return Err(variant("FunctionCallEmptyMethodName", &[]));
                }
                const NAME: &str = "FunctionCallMethodNameLengthExceeded";
                within(self.max_method_name, NAME, "length", call.method_name.len())?;
                const ARGUMENTS: &str = "FunctionCallArgumentsLengthExceeded";
                within(self.max_arguments, ARGUMENTS, "length", call.args.0.len())
            }
            NonDelegateAction::Stake(stake) if !is_staking_key(&stake.public_key) => {
                let key = quoted(&stake.public_key);
                Err(variant("UnsuitableStakingKey", &[("public_key", &key)]))
            }
            NonDelegateAction::AddKey(action) => self.check_key(action),
            NonDelegateAction::DeterministicStateInit(action) => {
                let DeterministicAccountStateInit::V1(state) = &action.state_init else {
                    return Ok(());
                };
                if let Some(derived) = derive_account_id(&action.state_init) {
                    check_derived_id("InvalidDeterministicStateInitReceiver", &derived, receiver)?;
                }
                state.data.0.iter().try_for_each(|(key, value)| {
                    const KEY: &str = "DeterministicStateInitKeyLengthExceeded";
                    const VALUE: &str = "DeterministicStateInitValueLengthExceeded";
                    self.check_entry([KEY, VALUE], &key.0, &value.0)
                })
            }
            // Accounts that cannot be created yet would keep what they receive.
            NonDelegateAction::Transfer(_)
                if self.has(feature::STRICT_ACTIONS)
                    && !self.has(feature::UNIVERSAL_ACCOUNTS)
                    && is_universal(receiver.as_str()) =>
            {
                let members: [(_, &dyn Display); 1] = [("account_id", &quoted(receiver))];
                Err(variant("TransferToUniversalAccountNotAllowed", &members))
            }
            NonDelegateAction::TransferToGasKey(_) | NonDelegateAction::WithdrawFromGasKey(_) => {
                self.require(feature::VERSION_1, "GasKeys")
            }
            NonDelegateAction::UniversalStateInit(action) => {
                self.require(feature::UNIVERSAL_ACCOUNTS, "UniversalAccounts")?;
                let bytes = &action.state_init.0;
                let derived = derive_universal_account_id(bytes);
                check_derived_id("InvalidUniversalStateInitReceiver", &derived, receiver)?;
                let state = UniversalState::read(bytes).ok().filter(UniversalState::is_canonical);
                let Some(state) = state else {
                    return Err(variant("MalformedUniversalStateInit", &[]));
                };
                state.data.iter().try_for_each(|(key, value)| {
                    const KEY: &str = "UniversalStateInitKeyLengthExceeded";
                    const VALUE: &str = "UniversalStateInitValueLengthExceeded";
                    self.check_entry([KEY, VALUE], key, value)
                })
            }
            _ => Ok(()),
        }
    }

    /// Checks an entry of a state init; `errors` are those of a key and of a value
    fn check_entry(&self, errors: [&str; 2], key: &[u8], value: &[u8]) -> Result<(), Violation> {
        within(self.max_storage_key, errors[0], "length", key.len())?;
        within(self.max_storage_value, errors[1], "length", value.len())
    }

    fn check_contract(&self, size: usize) -> Result<(), Violation> {
        within(self.max_contract_size, "ContractSizeExceeded", "size", size)
    }

    fn check_key(&self, action: &AddKeyAction) -> Result<(), Violation> {
        let (gas_key, permission) = match &action.access_key.permission {
            AccessKeyPermission::FunctionCall(permission) => (None, Some(permission)),
            AccessKeyPermission::GasKeyFunctionCall((info, permission)) => {
                (Some(info), Some(permission))
            }
            AccessKeyPermission::GasKeyFullAccess(info) => (Some(info), None),
            _ => return Ok(()),
        };
        if let Some(permission) = permission {
            self.check_permission(permission)?;
        }
        let Some(info) = gas_key else { return Ok(()) };
        self.require(feature::VERSION_1, "GasKeys")?;
        if permission.is_some_and(|permission| permission.allowance.is_some()) {
            return Err(variant("GasKeyFunctionCallAllowanceNotAllowed", &[]));
        }
        let requested = info.num_nonces;
        if !(1..=MAX_NONCES).contains(&requested) {
            let members: [(_, &dyn Display); 2] =
                [("limit", &MAX_NONCES), ("requested_nonces", &requested)];
            return Err(variant("GasKeyInvalidNumNonces", &members));
        }
        if info.balance != Balance(0) {
            let balance = quoted(&info.balance);
            return Err(variant("AddGasKeyWithNonZeroBalance", &[("balance", &balance)]));
        }
        Ok(())
    }

    fn check_permission(&self, permission: &FunctionCallPermission) -> Result<(), Violation> {
        let receiver = &*permission.receiver_id;
        if self.account_id_rules > Some(0) && AccountId::check(receiver).is_err() {
            // The node quotes as much of it.
            const MAX_LEN: usize = 128;
            let start = &receiver[..floor_char_boundary(receiver, MAX_LEN)];
            return Err(variant("InvalidAccountId", &[("account_id", &json::write(start))]));
        }
        let mut total = 0;
        for name in &permission.method_names {
            const NAME: &str = "AddKeyMethodNameLengthExceeded";
            within(self.max_method_name, NAME, "length", name.len())?;
            // A terminating byte is counted with each.
            total += name.len() + 1;
        }
        const TOTAL: &str = "AddKeyMethodNamesNumberOfBytesExceeded";
        within(self.max_method_names, TOTAL, "total_number_of_bytes", total)
    }

    /// Checks that the protocol version has a feature
    fn require(&self, feature: u64, name: &str) -> Result<(), Violation> {
        if self.has(feature) {
            return Ok(());
        }
        Err(self.feature_error("UnsupportedProtocolFeature", name))
    }

    fn feature_error(&self, error: &str, feature: &str) -> Violation {
        let feature = quoted(&feature);
        variant(error, &[("protocol_feature", &feature), ("version", &self.protocol_version)])
    }
}

/// Checks that the receiver of a state init is the account that is derived from it
fn check_derived_id(
    error: &str,
    derived: &AccountId,
    receiver: &AccountId,
) -> Result<(), Violation> {
    if derived == receiver {
        return Ok(());
    }
    let members: [(_, &dyn Display); 2] =
        [("derived_id", &quoted(derived)), ("receiver_id", &quoted(receiver))];
    Err(variant(error, &members))
}

/// Whether an account id is that of a universal account: 256 bits in Crockford's base 32, of which
/// the last digit has one
fn is_universal(account_id: &str) -> bool {
    let Some(digits) = account_id.strip_prefix("0u") else { return false };
    let is_digit =
        |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase() && !b"ilou".contains(&byte);
    digits.len() == 52 && digits.bytes().all(is_digit) && digits.ends_with(['0', 'g'])
}

/// Reads a number, which as gas may be a string
fn limit(found: Option<Reader<'_>>) -> Result<Limit, ReadError> {
    let Some(mut reader) = found else { return Ok(None) };
    Ok(match reader.scalar()? {
        Scalar::Number(Number::Unsigned(number)) => Some(number),
        Scalar::String(text) => text.parse().ok(),
        _ => None,
    })
}

/// Checks that a value is not above its limit; `member` is its name in the error
fn within(
    limit: Limit,
    error: &str,
    member: &str,
    value: impl TryInto<u64>,
) -> Result<(), Violation> {
    let value = value.try_into().unwrap_or(u64::MAX);
    match limit {
        Some(limit) if value > limit => {
            let mut members: [(_, &dyn Display); 2] = [("limit", &limit), (member, &value)];
            if member < "limit" {
                members.reverse();
            }
            Err(variant(error, &members))
        }
        _ => Ok(()),
    }
}

fn quoted(text: &dyn Display) -> impl Display {
    alloc::format!("\"{text}\"")
}

/// The JSON of a variant; the members are sorted and their values are JSON
fn variant(name: &str, members: &[(&str, &dyn Display)]) -> Violation {
    let mut json = String::new();
    // Writing to a string does not fail.
    let _ = if members.is_empty() {
        write!(json, "\"{name}\"")
    } else {
        let mut open = "{";
        write!(json, "{{\"{name}\":")
            .and_then(|()| {
                members.iter().try_for_each(|(member, value)| {
                    write!(json, "{open}\"{member}\":{value}").map(|()| open = ",")
                })
            })
            .and_then(|()| write!(json, "}}}}"))
    };
    json
}

#[cfg(test)]
mod tests;
