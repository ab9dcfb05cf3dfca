//! Random values of each type of the node's views.

use core::fmt::Debug;

use near_jsonrpc_primitives::types::transactions::RpcTransactionResponse;
use near_primitives::account::{
    AccessKey, AccessKeyPermission, FunctionCallPermission, GasKeyInfo,
};
use near_primitives::action::delegate::{
    DelegateAction, DelegateActionV2, NonDelegateAction, VersionedDelegateActionPayload,
};
use near_primitives::action::{
    Action, AddKeyAction, CreateAccountAction, DeleteAccountAction, DeleteKeyAction,
    DeployContractAction, DeployGlobalContractAction, DeterministicStateInitAction,
    FunctionCallAction, GlobalContractDeployMode, StakeAction, TransferAction,
    TransferToGasKeyAction, UniversalStateInitAction, UseGlobalContractAction,
    WithdrawFromGasKeyAction,
};
use near_primitives::deterministic_account_id::{
    DeterministicAccountStateInit, DeterministicAccountStateInitV1,
};
use near_primitives::errors::{
    ActionError, ActionErrorKind, ActionsValidationError, CompilationError,
    DepositCostFailureReason, FunctionCallError, HostError, InvalidAccessKeyError, InvalidTxError,
    MethodResolveError, MissingTrieValue, MissingTrieValueContext, PrepareError,
    ReceiptValidationError, StorageError, TxExecutionError, WasmTrap,
};
use near_primitives::global_contract::GlobalContractIdentifier;
use near_primitives::merkle::{Direction, MerklePathItem};
use near_primitives::transaction::{NonceMode, TransactionNonce};
use near_primitives::universal_state_init::RawStateInit;
use near_primitives::views::{
    AccessKeyPermissionView, AccessKeyView, AccountContractView, ActionView, CostGasUsed,
    DataReceiverView, ExecutionMetadataView, ExecutionOutcomeView, ExecutionOutcomeWithIdView,
    ExecutionStatusView, FinalExecutionOutcomeView, FinalExecutionOutcomeViewEnum,
    FinalExecutionOutcomeWithReceiptView, FinalExecutionStatus, GlobalContractIdentifierView,
    ReceiptEnumView, ReceiptView, SignedTransactionView, TxExecutionStatus,
};

use super::random::{Any, Random, any_enum, any_struct};

any_struct! {
    AccessKey { nonce, permission }
    AccessKeyView { nonce, permission }
    ActionError { index, kind }
    AddKeyAction { public_key, access_key }
    CostGasUsed { cost_category, cost, gas_used }
    CreateAccountAction {}
    DataReceiverView { data_id, receiver_id }
    DelegateAction { sender_id, receiver_id, actions, nonce, max_block_height, public_key }
    DelegateActionV2 { sender_id, receiver_id, actions, nonce, max_block_height, public_key }
    DeleteAccountAction { beneficiary_id }
    DeleteKeyAction { public_key }
    DeployContractAction { code }
    DeployGlobalContractAction { code, deploy_mode }
    DeterministicAccountStateInitV1 { code, data }
    DeterministicStateInitAction { state_init, deposit }
    ExecutionMetadataView { version, gas_profile, contracts }
    ExecutionOutcomeView {
        logs, receipt_ids, gas_burnt, tokens_burnt, executor_id, status, metadata,
    }
    ExecutionOutcomeWithIdView { proof, block_hash, id, outcome }
    FinalExecutionOutcomeView { status, transaction, transaction_outcome, receipts_outcome }
    FinalExecutionOutcomeWithReceiptView { final_outcome, receipts }
    FunctionCallAction { method_name, args, gas, deposit }
    FunctionCallPermission { allowance, receiver_id, method_names }
    GasKeyInfo { balance, num_nonces }
    MerklePathItem { hash, direction }
    MissingTrieValue { context, hash }
    ReceiptView { predecessor_id, receiver_id, receipt_id, receipt, _priority }
    RpcTransactionResponse { final_execution_outcome, final_execution_status }
    SignedTransactionView {
        signer_id, public_key, nonce, receiver_id, actions, _priority_fee, signature, hash,
        nonce_index, nonce_mode,
    }
    StakeAction { stake, public_key }
    TransferAction { deposit }
    TransferToGasKeyAction { public_key, deposit }
    UniversalStateInitAction { state_init, deposit }
    UseGlobalContractAction { contract_identifier }
    WithdrawFromGasKeyAction { public_key, amount }
}

impl Any for RawStateInit {
    fn any(random: &mut Random) -> Self {
        Self(Any::any(random))
    }
}

impl Any for NonDelegateAction {
    fn any(random: &mut Random) -> Self {
        loop {
            if let Ok(action) = SomeAction::any(random).0.try_into() {
                return action;
            }
        }
    }
}

/// An action of the protocol that is not a delegate action
struct SomeAction(Action);

impl Any for SomeAction {
    fn any(random: &mut Random) -> Self {
        // Listed in full: no wildcard.
        const _: fn(&Action) = |action| match action {
            Action::Delegate(_) | Action::DelegateV2(_) => {}
            Action::CreateAccount(_)
            | Action::DeployContract(_)
            | Action::FunctionCall(_)
            | Action::Transfer(_)
            | Action::Stake(_)
            | Action::AddKey(_)
            | Action::DeleteKey(_)
            | Action::DeleteAccount(_)
            | Action::DeployGlobalContract(_)
            | Action::UseGlobalContract(_)
            | Action::DeterministicStateInit(_)
            | Action::TransferToGasKey(_)
            | Action::WithdrawFromGasKey(_)
            | Action::UniversalStateInit(_) => {}
        };
        const NAMES: [&str; 14] = [
            "CreateAccount",
            "DeployContract",
            "FunctionCall",
            "Transfer",
            "Stake",
            "AddKey",
            "DeleteKey",
            "DeleteAccount",
            "DeployGlobalContract",
            "UseGlobalContract",
            "DeterministicStateInit",
            "TransferToGasKey",
            "WithdrawFromGasKey",
            "UniversalStateInit",
        ];
        Self(match random.choose("NonDelegateAction", &NAMES) {
            0 => Action::CreateAccount(Any::any(random)),
            1 => Action::DeployContract(Any::any(random)),
            2 => Action::FunctionCall(Any::any(random)),
            3 => Action::Transfer(Any::any(random)),
            4 => Action::Stake(Any::any(random)),
            5 => Action::AddKey(Any::any(random)),
            6 => Action::DeleteKey(Any::any(random)),
            7 => Action::DeleteAccount(Any::any(random)),
            8 => Action::DeployGlobalContract(Any::any(random)),
            9 => Action::UseGlobalContract(Any::any(random)),
            10 => Action::DeterministicStateInit(Any::any(random)),
            11 => Action::TransferToGasKey(Any::any(random)),
            12 => Action::WithdrawFromGasKey(Any::any(random)),
            _ => Action::UniversalStateInit(Any::any(random)),
        })
    }
}

/// A number of a type that is only constructed from `f64`
fn level<T: TryFrom<f64, Error: Debug>>(random: &mut Random) -> T {
    let level = match random.below(4) {
        0 => 1.0,
        1 => 0.0,
        // 2^-53 times 53 bits: every float of this form below 1.
        _ => (random.bits() >> 11) as f64 / 9_007_199_254_740_992.0,
    };
    T::try_from(level).unwrap()
}

any_enum! {
    AccessKeyPermission {
        FunctionCall(permission),
        FullAccess,
        GasKeyFunctionCall(info, permission),
        GasKeyFullAccess(info),
    }
    AccessKeyPermissionView {
        FunctionCall { allowance, receiver_id, method_names },
        FullAccess,
        GasKeyFunctionCall { balance, num_nonces, allowance, receiver_id, method_names },
        GasKeyFullAccess { balance, num_nonces },
    }
    AccountContractView { Local(hash), GlobalHash(hash), GlobalAccountId(account_id) }
    ActionErrorKind {
        AccountAlreadyExists { account_id },
        AccountDoesNotExist { account_id },
        CreateAccountOnlyByRegistrar { account_id, registrar_account_id, predecessor_id },
        CreateAccountNotAllowed { account_id, predecessor_id },
        ActorNoPermission { account_id, actor_id },
        DeleteKeyDoesNotExist { account_id, public_key },
        AddKeyAlreadyExists { account_id, public_key },
        DeleteAccountStaking { account_id },
        LackBalanceForState { account_id, amount },
        TriesToUnstake { account_id },
        TriesToStake { account_id, stake, locked, balance },
        InsufficientStake { account_id, stake, minimum_stake },
        FunctionCallError(error),
        NewReceiptValidationError(error),
        OnlyImplicitAccountCreationAllowed { account_id },
        DeleteAccountWithLargeState { account_id },
        DelegateActionInvalidSignature,
        DelegateActionSenderDoesNotMatchTxReceiver { sender_id, receiver_id },
        DelegateActionExpired,
        DelegateActionAccessKeyError(error),
        DelegateActionInvalidNonce { delegate_nonce, ak_nonce },
        DelegateActionNonceTooLarge { delegate_nonce, upper_bound },
        GlobalContractDoesNotExist { identifier },
        GasKeyDoesNotExist { account_id, public_key },
        InsufficientGasKeyBalance { account_id, public_key, balance, required },
        GasKeyBalanceTooHigh { account_id, public_key, balance },
        DelegateActionInvalidNonceIndex { nonce_index, num_nonces },
        TotalPromiseInputSizeExceeded { size, limit },
        ReceiptStorageProofSizeExceeded { limit },
        MalformedUniversalStateInit,
        AccountNotInitialized { account_id },
    }
    ActionView {
        CreateAccount,
        DeployContract { code },
        FunctionCall { method_name, args, gas, deposit },
        Transfer { deposit },
        Stake { stake, public_key },
        AddKey { public_key, access_key },
        DeleteKey { public_key },
        DeleteAccount { beneficiary_id },
        Delegate { delegate_action, signature },
        DelegateV2 { delegate_action, signature },
        DeployGlobalContract { code },
        DeployGlobalContractByAccountId { code },
        UseGlobalContract { code_hash },
        UseGlobalContractByAccountId { account_id },
        DeterministicStateInit { code, data, deposit },
        TransferToGasKey { public_key, deposit },
        WithdrawFromGasKey { public_key, amount },
        UniversalStateInit { state_init, deposit },
    }
    ActionsValidationError {
        DeleteActionMustBeFinal,
        TotalPrepaidGasExceeded { total_prepaid_gas, limit },
        TotalNumberOfActionsExceeded { total_number_of_actions, limit },
        AddKeyMethodNamesNumberOfBytesExceeded { total_number_of_bytes, limit },
        AddKeyMethodNameLengthExceeded { length, limit },
        IntegerOverflow,
        InvalidAccountId { account_id },
        ContractSizeExceeded { size, limit },
        FunctionCallMethodNameLengthExceeded { length, limit },
        FunctionCallArgumentsLengthExceeded { length, limit },
        UnsuitableStakingKey { public_key },
        FunctionCallZeroAttachedGas,
        DelegateActionMustBeOnlyOne,
        UnsupportedProtocolFeature { protocol_feature, version },
        InvalidDeterministicStateInitReceiver { receiver_id, derived_id },
        DeterministicStateInitKeyLengthExceeded { length, limit },
        DeterministicStateInitValueLengthExceeded { length, limit },
        GasKeyInvalidNumNonces { requested_nonces, limit },
        AddGasKeyWithNonZeroBalance { balance },
        GasKeyFunctionCallAllowanceNotAllowed,
        TotalNumberOfDeployActionsExceeded { number_of_deploy_actions, limit },
        FunctionCallEmptyMethodName,
        InvalidUniversalStateInitReceiver { receiver_id, derived_id },
        UniversalStateInitKeyLengthExceeded { length, limit },
        UniversalStateInitValueLengthExceeded { length, limit },
        MalformedUniversalStateInit,
        RemovedProtocolFeature { protocol_feature, version },
        WithdrawFromGasKeyNotAllowedInDelegate,
        TotalNumberOfStateInitKeysExceeded { number_of_keys, limit },
        TotalNumberOfStateInitEntriesExceeded { number_of_entries, limit },
        TransferToUniversalAccountNotAllowed { account_id },
    }
    CompilationError {
        CodeDoesNotExist { account_id },
        PrepareError(error),
        WasmerCompileError { msg },
    }
    DepositCostFailureReason { NotEnoughBalance, LackBalanceForState }
    DeterministicAccountStateInit { V1(init) }
    Direction { Left, Right }
    ExecutionStatusView { Unknown, Failure(error), SuccessValue(value), SuccessReceiptId(id) }
    FinalExecutionOutcomeViewEnum {
        FinalExecutionOutcomeWithReceipt(outcome),
        FinalExecutionOutcome(outcome),
    }
    FinalExecutionStatus { NotStarted, Started, Failure(error), SuccessValue(value) }
    FunctionCallError {
        CompilationError(error),
        LinkError { msg },
        MethodResolveError(error),
        WasmTrap(trap),
        WasmUnknownError,
        HostError(error),
        _EVMError,
        ExecutionError(text),
    }
    GlobalContractDeployMode { CodeHash, AccountId }
    GlobalContractIdentifier { CodeHash(hash), AccountId(account_id) }
    GlobalContractIdentifierView { CodeHash(hash), AccountId(account_id) }
    HostError {
        BadUTF16,
        BadUTF8,
        GasExceeded,
        GasLimitExceeded,
        BalanceExceeded,
        EmptyMethodName,
        GuestPanic { panic_msg },
        IntegerOverflow,
        InvalidPromiseIndex { promise_idx },
        CannotAppendActionToJointPromise,
        CannotReturnJointPromise,
        InvalidPromiseResultIndex { result_idx },
        InvalidRegisterId { register_id },
        IteratorWasInvalidated { iterator_index },
        MemoryAccessViolation,
        InvalidReceiptIndex { receipt_index },
        InvalidIteratorIndex { iterator_index },
        InvalidAccountId,
        InvalidMethodName,
        InvalidPublicKey,
        ProhibitedInView { method_name },
        NumberOfLogsExceeded { limit },
        KeyLengthExceeded { length, limit },
        ValueLengthExceeded { length, limit },
        TotalLogLengthExceeded { length, limit },
        NumberPromisesExceeded { number_of_promises, limit },
        NumberInputDataDependenciesExceeded { number_of_input_data_dependencies, limit },
        ReturnedValueLengthExceeded { length, limit },
        ContractSizeExceeded { size, limit },
        Deprecated { method_name },
        ECRecoverError { msg },
        AltBn128InvalidInput { msg },
        Ed25519VerifyInvalidInput { msg },
        P256VerifyInvalidInput { msg },
        MlDsaVerifyInvalidInput { msg },
    }
    InvalidAccessKeyError {
        AccessKeyNotFound { account_id, public_key },
        ReceiverMismatch { tx_receiver, ak_receiver },
        MethodNameMismatch { method_name },
        RequiresFullAccess,
        NotEnoughAllowance { account_id, public_key, allowance, cost },
        DepositWithFunctionCall,
        DelegateActionRequiresNonGasKey,
        DelegateActionRequiresGasKey,
    }
    InvalidTxError {
        InvalidAccessKeyError(error),
        InvalidSignerId { signer_id },
        SignerDoesNotExist { signer_id },
        InvalidNonce { tx_nonce, ak_nonce },
        NonceTooLarge { tx_nonce, upper_bound },
        InvalidReceiverId { receiver_id },
        InvalidSignature,
        NotEnoughBalance { signer_id, balance, cost },
        LackBalanceForState { signer_id, amount },
        CostOverflow,
        InvalidChain,
        Expired,
        ActionsValidation(error),
        TransactionSizeExceeded { size, limit },
        InvalidTransactionVersion,
        StorageError(error),
        ShardCongested { shard_id, congestion_level = level },
        ShardStuck { shard_id, missed_chunks },
        InvalidNonceIndex { tx_nonce_index, num_nonces },
        NotEnoughGasKeyBalance { signer_id, balance, cost },
        NotEnoughBalanceForDeposit { signer_id, balance, cost, reason },
    }
    MethodResolveError { MethodEmptyName, MethodNotFound, MethodInvalidSignature }
    MissingTrieValueContext {
        TrieIterator,
        TriePrefetchingStorage,
        TrieMemoryPartialStorage,
        TrieStorage,
    }
    NonceMode { Monotonic, Strict }
    PrepareError {
        Serialization,
        Deserialization,
        InternalMemoryDeclared,
        GasInstrumentation,
        StackHeightInstrumentation,
        Instantiate,
        Memory,
        TooManyFunctions,
        TooManyLocals,
        TooManyTables,
        TooManyTableElements,
        FunctionBodyTooLarge,
        InstrumentedCodeTooLarge,
        TooManyBlocksPerFunction,
        TooManyBlocksPerContract,
        TooManyTypes,
        TooManyParamsPerFunction,
        TooManyParamsPerContract,
        OperandStackTooLarge,
        TooManyGlobals,
    }
    ReceiptEnumView {
        Action {
            signer_id, signer_public_key, gas_price, output_data_receivers, input_data_ids,
            actions, is_promise_yield, refund_to,
        },
        Data { data_id, data, is_promise_resume },
        GlobalContractDistribution { id, target_shard, already_delivered_shards, code, nonce },
    }
    ReceiptValidationError {
        InvalidPredecessorId { account_id },
        InvalidReceiverId { account_id },
        InvalidSignerId { account_id },
        InvalidDataReceiverId { account_id },
        ReturnedValueLengthExceeded { length, limit },
        NumberInputDataDependenciesExceeded { number_of_input_data_dependencies, limit },
        ActionsValidation(error),
        ReceiptSizeExceeded { size, limit },
        InvalidRefundTo { account_id },
    }
    StorageError {
        StorageInternalError,
        MissingTrieValue(value),
        UnexpectedTrieValue,
        StorageInconsistentState(text),
        FlatStorageBlockNotSupported(text),
        MemTrieLoadingError(text),
    }
    TransactionNonce { Nonce { nonce }, GasKeyNonce { nonce, nonce_index } }
    TxExecutionError { ActionError(error), InvalidTxError(error) }
    TxExecutionStatus { None, Included, ExecutedOptimistic, IncludedFinal, Executed, Final }
    VersionedDelegateActionPayload { V2(action) }
    WasmTrap {
        Unreachable,
        IncorrectCallIndirectSignature,
        MemoryOutOfBounds,
        CallIndirectOOB,
        IllegalArithmetic,
        MisalignedAtomicAccess,
        IndirectCallToNull,
        StackOverflow,
        GenericTrap,
    }
}
