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
/** Gas units as a string of digits, unlike all other gas */
export type GasText = string;
/** Shard id, 64 bits */
export type ShardId = Uint64;
/** Numerator and denominator */
export type Rational = [number, number];

/** An object with exactly one of these members */
export type OneOf<T> = { [K in keyof T]: { [P in K]: T[K] } }[keyof T];

/** A type with every integer as a `bigint`: what `{ bigint: true }` parses */
export type Exact<T> = T extends number
  ? bigint
  : T extends object
    ? { [K in keyof T]: K extends Fractions ? T[K] : Exact<T[K]> }
    : T;
