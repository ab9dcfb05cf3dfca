// Why a transaction or a receipt failed, in the wire format.
//
// Lists the errors of protocol versions up to 88; newer ones pass through unchanged.

import type {
  AccountId,
  CryptoHash,
  GlobalContractIdentifier,
  NearGas,
  NearToken,
  OneOf,
  PublicKey,
  Uint64,
} from "./wire.js";

export type TxExecutionError = OneOf<{ ActionError: ActionError; InvalidTxError: InvalidTxError }>;

export interface ActionError {
  /** Index of the action that failed */
  index?: Uint64 | null;
  kind: ActionErrorKind;
}

interface LengthAndLimit {
  length: Uint64;
  limit: Uint64;
}

interface SizeAndLimit {
  size: Uint64;
  limit: Uint64;
}

interface AccountContext {
  account_id: AccountId;
}

interface KeyContext extends AccountContext {
  public_key: PublicKey;
}

interface BalanceAndCost {
  signer_id: AccountId;
  balance: NearToken;
  cost: NearToken;
}

export type ActionErrorKind =
  | "DelegateActionInvalidSignature"
  | "DelegateActionExpired"
  | "MalformedUniversalStateInit"
  | OneOf<{
      AccountAlreadyExists: AccountContext;
      AccountDoesNotExist: AccountContext;
      CreateAccountOnlyByRegistrar: AccountContext & {
        registrar_account_id: AccountId;
        predecessor_id: AccountId;
      };
      CreateAccountNotAllowed: AccountContext & { predecessor_id: AccountId };
      ActorNoPermission: AccountContext & { actor_id: AccountId };
      DeleteKeyDoesNotExist: KeyContext;
      AddKeyAlreadyExists: KeyContext;
      DeleteAccountStaking: AccountContext;
      LackBalanceForState: AccountContext & { amount: NearToken };
      TriesToUnstake: AccountContext;
      TriesToStake: AccountContext & { stake: NearToken; locked: NearToken; balance: NearToken };
      InsufficientStake: AccountContext & { stake: NearToken; minimum_stake: NearToken };
      FunctionCallError: FunctionCallError;
      NewReceiptValidationError: ReceiptValidationError;
      OnlyImplicitAccountCreationAllowed: AccountContext;
      DeleteAccountWithLargeState: AccountContext;
      DelegateActionSenderDoesNotMatchTxReceiver: { sender_id: AccountId; receiver_id: AccountId };
      DelegateActionAccessKeyError: InvalidAccessKeyError;
      DelegateActionInvalidNonce: { delegate_nonce: Uint64; ak_nonce: Uint64 };
      DelegateActionNonceTooLarge: { delegate_nonce: Uint64; upper_bound: Uint64 };
      GlobalContractDoesNotExist: { identifier: GlobalContractIdentifier };
      GasKeyDoesNotExist: KeyContext;
      InsufficientGasKeyBalance: KeyContext & { balance: NearToken; required: NearToken };
      GasKeyBalanceTooHigh: AccountContext & { public_key?: PublicKey | null; balance: NearToken };
      DelegateActionInvalidNonceIndex: { nonce_index: number; num_nonces: number };
      TotalPromiseInputSizeExceeded: SizeAndLimit;
      ReceiptStorageProofSizeExceeded: { limit: Uint64 };
      AccountNotInitialized: AccountContext;
    }>;

export type InvalidTxError =
  | "InvalidSignature"
  | "CostOverflow"
  | "InvalidChain"
  | "Expired"
  | "InvalidTransactionVersion"
  | OneOf<{
      InvalidAccessKeyError: InvalidAccessKeyError;
      InvalidSignerId: { signer_id: string };
      SignerDoesNotExist: { signer_id: AccountId };
      InvalidNonce: { tx_nonce: Uint64; ak_nonce: Uint64 };
      NonceTooLarge: { tx_nonce: Uint64; upper_bound: Uint64 };
      InvalidReceiverId: { receiver_id: string };
      NotEnoughBalance: BalanceAndCost;
      LackBalanceForState: { signer_id: AccountId; amount: NearToken };
      ActionsValidation: ActionsValidationError;
      TransactionSizeExceeded: SizeAndLimit;
      StorageError: NodeStorageError;
      ShardCongested: { shard_id: number; congestion_level: number };
      ShardStuck: { shard_id: number; missed_chunks: Uint64 };
      InvalidNonceIndex: { tx_nonce_index?: number | null; num_nonces: number };
      NotEnoughGasKeyBalance: BalanceAndCost;
      NotEnoughBalanceForDeposit: BalanceAndCost & {
        reason: "NotEnoughBalance" | "LackBalanceForState";
      };
    }>;

export type InvalidAccessKeyError =
  | "RequiresFullAccess"
  | "DepositWithFunctionCall"
  | "DelegateActionRequiresNonGasKey"
  | "DelegateActionRequiresGasKey"
  | OneOf<{
      AccessKeyNotFound: KeyContext;
      ReceiverMismatch: { tx_receiver: AccountId; ak_receiver: string };
      MethodNameMismatch: { method_name: string };
      NotEnoughAllowance: KeyContext & { allowance: NearToken; cost: NearToken };
    }>;

export type ActionsValidationError =
  | "DeleteActionMustBeFinal"
  | "IntegerOverflow"
  | "FunctionCallZeroAttachedGas"
  | "DelegateActionMustBeOnlyOne"
  | "GasKeyFunctionCallAllowanceNotAllowed"
  | "FunctionCallEmptyMethodName"
  | "MalformedUniversalStateInit"
  | "WithdrawFromGasKeyNotAllowedInDelegate"
  | OneOf<{
      TotalPrepaidGasExceeded: { total_prepaid_gas: NearGas; limit: NearGas };
      TotalNumberOfActionsExceeded: { total_number_of_actions: Uint64; limit: Uint64 };
      AddKeyMethodNamesNumberOfBytesExceeded: { total_number_of_bytes: Uint64; limit: Uint64 };
      AddKeyMethodNameLengthExceeded: LengthAndLimit;
      InvalidAccountId: { account_id: string };
      ContractSizeExceeded: SizeAndLimit;
      FunctionCallMethodNameLengthExceeded: LengthAndLimit;
      FunctionCallArgumentsLengthExceeded: LengthAndLimit;
      UnsuitableStakingKey: { public_key: PublicKey };
      UnsupportedProtocolFeature: { protocol_feature: string; version: number };
      InvalidDeterministicStateInitReceiver: { receiver_id: AccountId; derived_id: AccountId };
      DeterministicStateInitKeyLengthExceeded: LengthAndLimit;
      DeterministicStateInitValueLengthExceeded: LengthAndLimit;
      GasKeyInvalidNumNonces: { requested_nonces: number; limit: number };
      AddGasKeyWithNonZeroBalance: { balance: NearToken };
      TotalNumberOfDeployActionsExceeded: { number_of_deploy_actions: Uint64; limit: Uint64 };
      InvalidUniversalStateInitReceiver: { receiver_id: AccountId; derived_id: AccountId };
      UniversalStateInitKeyLengthExceeded: LengthAndLimit;
      UniversalStateInitValueLengthExceeded: LengthAndLimit;
      RemovedProtocolFeature: { protocol_feature: string; version: number };
      TotalNumberOfStateInitKeysExceeded: { number_of_keys: Uint64; limit: Uint64 };
      TotalNumberOfStateInitEntriesExceeded: { number_of_entries: Uint64; limit: Uint64 };
      TransferToUniversalAccountNotAllowed: AccountContext;
    }>;

export type ReceiptValidationError = OneOf<{
  InvalidPredecessorId: { account_id: string };
  InvalidReceiverId: { account_id: string };
  InvalidSignerId: { account_id: string };
  InvalidDataReceiverId: { account_id: string };
  ReturnedValueLengthExceeded: LengthAndLimit;
  NumberInputDataDependenciesExceeded: {
    number_of_input_data_dependencies: Uint64;
    limit: Uint64;
  };
  ActionsValidation: ActionsValidationError;
  ReceiptSizeExceeded: SizeAndLimit;
  InvalidRefundTo: { account_id: string };
}>;

/** An error of the node's storage */
export type NodeStorageError =
  | "StorageInternalError"
  | "UnexpectedTrieValue"
  | OneOf<{
      MissingTrieValue: {
        context:
          | "TrieIterator"
          | "TriePrefetchingStorage"
          | "TrieMemoryPartialStorage"
          | "TrieStorage";
        hash: CryptoHash;
      };
      StorageInconsistentState: string;
      FlatStorageBlockNotSupported: string;
      MemTrieLoadingError: string;
    }>;

export type FunctionCallError =
  | "WasmUnknownError"
  | "_EVMError"
  | OneOf<{
      CompilationError: OneOf<{
        CodeDoesNotExist: AccountContext;
        PrepareError: PrepareError;
        WasmerCompileError: { msg: string };
      }>;
      LinkError: { msg: string };
      MethodResolveError: "MethodEmptyName" | "MethodNotFound" | "MethodInvalidSignature";
      WasmTrap: WasmTrap;
      HostError: HostError;
      ExecutionError: string;
    }>;

export type PrepareError =
  | "Serialization"
  | "Deserialization"
  | "InternalMemoryDeclared"
  | "GasInstrumentation"
  | "StackHeightInstrumentation"
  | "Instantiate"
  | "Memory"
  | "TooManyFunctions"
  | "TooManyLocals"
  | "TooManyTables"
  | "TooManyTableElements"
  | "FunctionBodyTooLarge"
  | "InstrumentedCodeTooLarge"
  | "TooManyBlocksPerFunction"
  | "TooManyBlocksPerContract"
  | "TooManyTypes"
  | "TooManyParamsPerFunction"
  | "TooManyParamsPerContract"
  | "OperandStackTooLarge"
  | "TooManyGlobals";

export type WasmTrap =
  | "Unreachable"
  | "IncorrectCallIndirectSignature"
  | "MemoryOutOfBounds"
  | "CallIndirectOOB"
  | "IllegalArithmetic"
  | "MisalignedAtomicAccess"
  | "IndirectCallToNull"
  | "StackOverflow"
  | "GenericTrap";

export type HostError =
  | "BadUTF16"
  | "BadUTF8"
  | "GasExceeded"
  | "GasLimitExceeded"
  | "BalanceExceeded"
  | "EmptyMethodName"
  | "IntegerOverflow"
  | "CannotAppendActionToJointPromise"
  | "CannotReturnJointPromise"
  | "MemoryAccessViolation"
  | "InvalidAccountId"
  | "InvalidMethodName"
  | "InvalidPublicKey"
  | OneOf<{
      GuestPanic: { panic_msg: string };
      InvalidPromiseIndex: { promise_idx: Uint64 };
      InvalidPromiseResultIndex: { result_idx: Uint64 };
      InvalidRegisterId: { register_id: Uint64 };
      IteratorWasInvalidated: { iterator_index: Uint64 };
      InvalidReceiptIndex: { receipt_index: Uint64 };
      InvalidIteratorIndex: { iterator_index: Uint64 };
      ProhibitedInView: { method_name: string };
      NumberOfLogsExceeded: { limit: Uint64 };
      KeyLengthExceeded: LengthAndLimit;
      ValueLengthExceeded: LengthAndLimit;
      TotalLogLengthExceeded: LengthAndLimit;
      NumberPromisesExceeded: { number_of_promises: Uint64; limit: Uint64 };
      NumberInputDataDependenciesExceeded: {
        number_of_input_data_dependencies: Uint64;
        limit: Uint64;
      };
      ReturnedValueLengthExceeded: LengthAndLimit;
      ContractSizeExceeded: SizeAndLimit;
      Deprecated: { method_name: string };
      ECRecoverError: { msg: string };
      AltBn128InvalidInput: { msg: string };
      Ed25519VerifyInvalidInput: { msg: string };
      P256VerifyInvalidInput: { msg: string };
      MlDsaVerifyInvalidInput: { msg: string };
    }>;
