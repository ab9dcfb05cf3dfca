// The types of requests and responses in the wire format.
//
// Integers have the type `number` here. Parsed with `{ bigint: true }` every integer of a response
// is a `bigint`, and the type is `Exact<…>` of the one below. Amounts of tokens are strings of
// digits in either case. Variants of newer protocol versions are not listed; they pass through
// unchanged.

import type { RpcProtocolConfigResponse } from "./config.js";
import type { TxExecutionError } from "./errors.js";

/** Base58 of 32 bytes */
export type CryptoHash = string;
/** 2 to 64 characters of `a-z 0-9 - _ .` */
export type AccountId = string;
/** `ed25519:`, `secp256k1:` or `ml-dsa-65:` and base58 */
export type PublicKey = string;
/** `ed25519:`, `secp256k1:` or `ml-dsa-65:` and base58 */
export type Signature = string;
/** yoctoNEAR (10^-24) as a string of digits: up to 128 bits */
export type NearToken = string;
/** Standard base64 with padding */
export type Base64 = string;
/** Unsigned, 64 bits: above 2^53 only `{ bigint: true }` is exact */
export type Uint64 = number;
/** Gas units, 64 bits */
export type NearGas = Uint64;
/** Shard id, 64 bits */
export type ShardId = Uint64;
/** Numerator and denominator */
export type Rational = [number, number];

/** An object with exactly one of these members */
export type OneOf<T> = { [K in keyof T]: { [P in K]: T[K] } }[keyof T];

/** Members that are fractions, and stay numbers */
type Fractions = "congestion_level" | "reject_tx_congestion_threshold";

/** A type with every integer as a `bigint`: what `{ bigint: true }` parses */
export type Exact<T> = T extends number
  ? bigint
  : T extends object
    ? { [K in keyof T]: K extends Fractions ? T[K] : Exact<T[K]> }
    : T;

// --- Requests ------------------------------------------------------------------------------------

/** The milestones of a transaction: a partial order, in which `EXECUTED_OPTIMISTIC` and
 *  `INCLUDED_FINAL` are incomparable */
export type TxExecutionStatus =
  | "NONE"
  | "INCLUDED"
  | "EXECUTED_OPTIMISTIC"
  | "INCLUDED_FINAL"
  | "EXECUTED"
  | "FINAL";

/** The id that the response repeats; `dontcare` if the request has none */
export type RequestId = string | number | bigint | null;

/** A transaction, and the milestone to wait for */
export type RpcTransactionStatusRequest = (
  | { signed_tx_base64: Base64 }
  | { tx_hash: CryptoHash; sender_account_id: AccountId }
) & {
  /** Default `EXECUTED_OPTIMISTIC` */
  wait_until?: TxExecutionStatus;
};

export type Finality = "optimistic" | "near-final" | "final";
export type SyncCheckpoint = "genesis" | "earliest_available";

/** The block whose configuration is requested */
export type RpcProtocolConfigRequest =
  | { block_id: Uint64 | bigint | CryptoHash }
  | { finality: Finality }
  | { sync_checkpoint: SyncCheckpoint };

interface RequestEnvelope {
  jsonrpc?: "2.0";
  id?: RequestId;
}

export interface TransactionStatusRpcRequest extends RequestEnvelope {
  /** `tx` omits the receipts from the response */
  method: "EXPERIMENTAL_tx_status" | "tx_status" | "tx";
  params: RpcTransactionStatusRequest | [Base64] | [CryptoHash, AccountId];
}

export interface ProtocolConfigRpcRequest extends RequestEnvelope {
  method: "EXPERIMENTAL_protocol_config";
  params: RpcProtocolConfigRequest;
}

export type RpcRequest = TransactionStatusRpcRequest | ProtocolConfigRpcRequest;

// --- Responses -----------------------------------------------------------------------------------

export interface RpcSuccessResponse<Result> {
  jsonrpc: "2.0";
  result: Result;
  error?: undefined;
  id: RequestId;
}

export interface RpcErrorResponse<Cause = RpcErrorCause> {
  jsonrpc: "2.0";
  result?: undefined;
  error: RpcError<Cause>;
  id: RequestId;
}

export type RpcResponse<Result, Cause = RpcErrorCause> = RpcSuccessResponse<Result> | RpcErrorResponse<Cause>;
export type TransactionStatusRpcResponse = RpcResponse<RpcTransactionResponse, RpcTransactionError>;
export type ProtocolConfigRpcResponse = RpcResponse<RpcProtocolConfigResponse, RpcProtocolConfigError>;

interface RpcErrorFields {
  /** -32700 parse error, -32601 method not found, -32000 any other */
  code: number;
  message: string;
  data?: unknown;
}

export type RpcError<Cause = RpcErrorCause> = RpcErrorFields &
  (
    | { name: "REQUEST_VALIDATION_ERROR"; cause: RpcRequestValidationError }
    | { name: "HANDLER_ERROR"; cause: Cause }
    | { name: "INTERNAL_ERROR"; cause: RpcInternalError }
  );

export type RpcRequestValidationError =
  | { name: "METHOD_NOT_FOUND"; info: { method_name: string } }
  | { name: "PARSE_ERROR"; info: { error_message: string } };

export interface RpcInternalError {
  name: "INTERNAL_ERROR";
  info: { error_message: string };
}

export type RpcTransactionError =
  | { name: "INVALID_TRANSACTION"; info: Record<string, unknown> }
  | { name: "DOES_NOT_TRACK_SHARD"; info?: undefined }
  | { name: "REQUEST_ROUTED"; info: { transaction_hash: CryptoHash } }
  | { name: "UNKNOWN_TRANSACTION"; info: { requested_transaction_hash: CryptoHash } }
  | { name: "INTERNAL_ERROR"; info: { debug_info: string } }
  | { name: "TIMEOUT_ERROR"; info?: TimeoutErrorCause | null };

export type TimeoutErrorCause =
  | { cause: "NOT_OBSERVED" }
  | { cause: "PENDING"; status: RpcTransactionResponse }
  | { cause: "DOES_NOT_TRACK_SHARD"; shard_id: ShardId }
  | { cause: "ERROR"; debug_info: string };

export type RpcProtocolConfigError =
  | { name: "UNKNOWN_BLOCK"; info: Record<string, unknown> }
  | RpcInternalError;

export type RpcErrorCause = RpcTransactionError | RpcProtocolConfigError;

// --- The status of a transaction -----------------------------------------------------------------

export interface FinalExecutionOutcomeView {
  status: FinalExecutionStatus;
  transaction: SignedTransactionView;
  transaction_outcome: ExecutionOutcomeWithIdView;
  receipts_outcome: ExecutionOutcomeWithIdView[];
}

export interface FinalExecutionOutcomeWithReceiptView extends FinalExecutionOutcomeView {
  receipts: ReceiptView[];
}

/** No outcome is known yet */
export interface NoOutcome {
  status?: undefined;
  transaction?: undefined;
  transaction_outcome?: undefined;
  receipts_outcome?: undefined;
  receipts?: undefined;
}

export type RpcTransactionResponse = {
  /** What the blocks prove so far, never more */
  final_execution_status: TxExecutionStatus;
} & (
  | FinalExecutionOutcomeWithReceiptView
  | (FinalExecutionOutcomeView & { receipts?: undefined })
  | NoOutcome
);

export type FinalExecutionStatus =
  | "NotStarted"
  | "Started"
  | OneOf<{ Failure: TxExecutionError; SuccessValue: Base64 }>;

export interface SignedTransactionView {
  signer_id: AccountId;
  public_key: PublicKey;
  nonce: Uint64;
  receiver_id: AccountId;
  actions: ActionView[];
  /** No longer used; always 0 */
  priority_fee: Uint64;
  signature: Signature;
  hash: CryptoHash;
  nonce_mode?: "monotonic" | "strict" | null;
  nonce_index?: number | null;
}

export interface ExecutionOutcomeWithIdView {
  proof: MerklePathItem[];
  block_hash: CryptoHash;
  id: CryptoHash;
  outcome: ExecutionOutcomeView;
}

export interface MerklePathItem {
  hash: CryptoHash;
  direction: "Left" | "Right";
}

export interface ExecutionOutcomeView {
  logs: string[];
  receipt_ids: CryptoHash[];
  gas_burnt: NearGas;
  tokens_burnt: NearToken;
  executor_id: AccountId;
  status: ExecutionStatusView;
  metadata?: ExecutionMetadataView;
}

export type ExecutionStatusView =
  | "Unknown"
  | OneOf<{ Failure: TxExecutionError; SuccessValue: Base64; SuccessReceiptId: CryptoHash }>;

export interface ExecutionMetadataView {
  version: number;
  gas_profile?: CostGasUsed[] | null;
  contracts?: (AccountContractView | null)[] | null;
}

export interface CostGasUsed {
  cost_category: "ACTION_COST" | "WASM_HOST_COST" | (string & {});
  cost: string;
  /** Gas units; a string, unlike all other gas */
  gas_used: string;
}

export type AccountContractView = OneOf<{
  local: CryptoHash;
  global_hash: CryptoHash;
  global_account_id: AccountId;
}>;

export interface ReceiptView {
  predecessor_id: AccountId;
  receiver_id: AccountId;
  receipt_id: CryptoHash;
  receipt: ReceiptEnumView;
  /** No longer used; always 0 */
  priority?: Uint64;
}

export type ReceiptEnumView = OneOf<{
  Action: {
    signer_id: AccountId;
    signer_public_key: PublicKey;
    gas_price: NearToken;
    output_data_receivers: { data_id: CryptoHash; receiver_id: AccountId }[];
    input_data_ids: CryptoHash[];
    actions: ActionView[];
    is_promise_yield?: boolean;
    refund_to?: AccountId | null;
  };
  Data: { data_id: CryptoHash; data?: Base64 | null; is_promise_resume?: boolean };
  GlobalContractDistribution: {
    id: GlobalContractIdentifier;
    target_shard: ShardId;
    already_delivered_shards: ShardId[];
    code: Base64;
    nonce?: Uint64 | null;
  };
}>;

export type GlobalContractIdentifier = OneOf<{ hash: CryptoHash; account_id: AccountId }>;

// --- Actions -------------------------------------------------------------------------------------

interface FunctionCall {
  method_name: string;
  args: Base64;
  gas: NearGas;
  deposit: NearToken;
}

interface KeyAndDeposit {
  public_key: PublicKey;
  deposit: NearToken;
}

interface KeyAndAmount {
  public_key: PublicKey;
  amount: NearToken;
}

interface StakeAction {
  stake: NearToken;
  public_key: PublicKey;
}

export type ActionView =
  | "CreateAccount"
  | OneOf<{
      /** Base64 of the hash of the code, here and in the other deployment actions */
      DeployContract: { code: Base64 };
      FunctionCall: FunctionCall;
      Transfer: { deposit: NearToken };
      Stake: StakeAction;
      AddKey: { public_key: PublicKey; access_key: AccessKeyView };
      DeleteKey: { public_key: PublicKey };
      DeleteAccount: { beneficiary_id: AccountId };
      Delegate: { delegate_action: DelegateAction; signature: Signature };
      DelegateV2: { delegate_action: { V2: DelegateActionV2 }; signature: Signature };
      DeployGlobalContract: { code: Base64 };
      DeployGlobalContractByAccountId: { code: Base64 };
      UseGlobalContract: { code_hash: CryptoHash };
      UseGlobalContractByAccountId: { account_id: AccountId };
      DeterministicStateInit: {
        code: GlobalContractIdentifier;
        data: Record<Base64, Base64>;
        deposit: NearToken;
      };
      TransferToGasKey: KeyAndDeposit;
      WithdrawFromGasKey: KeyAndAmount;
      UniversalStateInit: { state_init: Base64; deposit: NearToken };
    }>;

interface FunctionCallPermission {
  allowance?: NearToken | null;
  receiver_id: string;
  method_names: string[];
}

interface GasKeyInfo {
  balance: NearToken;
  num_nonces: number;
}

export interface AccessKeyView {
  nonce: Uint64;
  permission:
    | "FullAccess"
    | OneOf<{
        FunctionCall: FunctionCallPermission;
        GasKeyFunctionCall: FunctionCallPermission & GasKeyInfo;
        GasKeyFullAccess: GasKeyInfo;
      }>;
}

/** An access key inside a delegate action */
export interface AccessKey {
  nonce: Uint64;
  permission:
    | "FullAccess"
    | OneOf<{
        FunctionCall: FunctionCallPermission;
        GasKeyFunctionCall: [GasKeyInfo, FunctionCallPermission];
        GasKeyFullAccess: GasKeyInfo;
      }>;
}

interface DelegatedActions {
  sender_id: AccountId;
  receiver_id: AccountId;
  actions: NonDelegateAction[];
  max_block_height: Uint64;
  public_key: PublicKey;
}

export interface DelegateAction extends DelegatedActions {
  nonce: Uint64;
}

export interface DelegateActionV2 extends DelegatedActions {
  nonce: OneOf<{
    Nonce: { nonce: Uint64 };
    GasKeyNonce: { nonce: Uint64; nonce_index: number };
  }>;
}

/** An action inside a delegate action: the protocol's own form, with the whole code */
export type NonDelegateAction = OneOf<{
  CreateAccount: Record<string, never>;
  DeployContract: { code: Base64 };
  FunctionCall: FunctionCall;
  Transfer: { deposit: NearToken };
  Stake: StakeAction;
  AddKey: { public_key: PublicKey; access_key: AccessKey };
  DeleteKey: { public_key: PublicKey };
  DeleteAccount: { beneficiary_id: AccountId };
  DeployGlobalContract: { code: Base64; deploy_mode: "CodeHash" | "AccountId" };
  UseGlobalContract: { contract_identifier: GlobalContractIdentifier };
  DeterministicStateInit: {
    state_init: { V1: { code: GlobalContractIdentifier; data: Record<Base64, Base64> } };
    deposit: NearToken;
  };
  TransferToGasKey: KeyAndDeposit;
  WithdrawFromGasKey: KeyAndAmount;
  UniversalStateInit: { state_init: Base64; deposit: NearToken };
}>;
