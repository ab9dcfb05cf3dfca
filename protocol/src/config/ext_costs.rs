//! Gas of the host functions that contracts call.
//!
//! There are one hundred, and each release of the node adds a few. All are gas and optional, so
//! only their names are listed.

use crate::primitives::Gas;
use crate::views::wire::wire_struct;

/// Declares the structure from names and docs
macro_rules! costs {
    ($( $(#[$doc:meta])* $name:ident , )*) => {
        wire_struct! {
            /// Gas of host functions
            ///
            /// 300000000000000 (300 Tgas) means that the protocol version does not have the
            /// function yet.
            pub struct ExtCostsConfigView {
                $( $(#[$doc])* pub $name: Option<Gas> = absent, )*
            }
        }
    };
}

costs! {
    /// Multiexponentiation in alt_bn128 G1
    alt_bn128_g1_multiexp_base,
    /// Each element of it
    alt_bn128_g1_multiexp_element,
    /// Sum in alt_bn128 G1
    alt_bn128_g1_sum_base,
    /// Each element of it
    alt_bn128_g1_sum_element,
    /// Pairing check over alt_bn128
    alt_bn128_pairing_check_base,
    /// Each element of it
    alt_bn128_pairing_check_element,
    /// Any host function call
    base,
    /// Multiexponentiation in BLS12-381 G1
    bls12381_g1_multiexp_base,
    /// Each element of it
    bls12381_g1_multiexp_element,
    /// Multiexponentiation in BLS12-381 G2
    bls12381_g2_multiexp_base,
    /// Each element of it
    bls12381_g2_multiexp_element,
    /// Mapping field elements to BLS12-381 G2
    bls12381_map_fp2_to_g2_base,
    /// Each element of it
    bls12381_map_fp2_to_g2_element,
    /// Mapping field elements to BLS12-381 G1
    bls12381_map_fp_to_g1_base,
    /// Each element of it
    bls12381_map_fp_to_g1_element,
    /// Decompressing points of BLS12-381 G1
    bls12381_p1_decompress_base,
    /// Each element of it
    bls12381_p1_decompress_element,
    /// Sum on the first curve of BLS12-381
    bls12381_p1_sum_base,
    /// Each element of it
    bls12381_p1_sum_element,
    /// Decompressing points of BLS12-381 G2
    bls12381_p2_decompress_base,
    /// Each element of it
    bls12381_p2_decompress_element,
    /// Sum on the second curve of BLS12-381
    bls12381_p2_sum_base,
    /// Each element of it
    bls12381_p2_sum_element,
    /// Pairing check over BLS12-381
    bls12381_pairing_base,
    /// Each element of it
    bls12381_pairing_element,
    /// Compiling a contract; 0 in recent versions
    contract_compile_base,
    /// Each byte of it; 0 in recent versions
    contract_compile_bytes,
    /// Loading a contract
    contract_loading_base,
    /// Each byte of a contract that is loaded
    contract_loading_bytes,
    /// Recovering a secp256k1 key
    ecrecover_base,
    /// Checking an ed25519 signature
    ed25519_verify_base,
    /// Each byte of its message
    ed25519_verify_byte,
    /// Keccak-256
    keccak256_base,
    /// Each byte that is hashed with it
    keccak256_byte,
    /// Keccak-512
    keccak512_base,
    /// Each byte that is hashed with it
    keccak512_byte,
    /// Logging a line
    log_base,
    /// Each byte of it
    log_byte,
    /// Checking an ml-dsa-65 signature
    ml_dsa_verify_base,
    /// Each byte of its message
    ml_dsa_verify_byte,
    /// Checking a p256 signature
    p256_verify_base,
    /// Each byte of its message
    p256_verify_byte,
    /// Joining promises
    promise_and_base,
    /// Each promise that is joined
    promise_and_per_promise,
    /// Returning a promise
    promise_return,
    /// Reading a node of the trie again in the same chunk
    read_cached_trie_node,
    /// Reading the memory of a contract
    read_memory_base,
    /// Each byte read from it
    read_memory_byte,
    /// Reading a register
    read_register_base,
    /// Each byte read from it
    read_register_byte,
    /// RIPEMD-160
    ripemd160_base,
    /// Each block of 64 bytes that is hashed with it
    ripemd160_block,
    /// SHA-256
    sha256_base,
    /// Each byte that is hashed with it
    sha256_byte,
    /// SHA3-256
    sha3_256_base,
    /// Each byte that is hashed with it
    sha3_256_byte,
    /// SHA3-384
    sha3_384_base,
    /// Each byte that is hashed with it
    sha3_384_byte,
    /// SHA3-512
    sha3_512_base,
    /// Each byte that is hashed with it
    sha3_512_byte,
    /// Checking whether a key exists
    storage_has_key_base,
    /// Each byte of that key
    storage_has_key_byte,
    /// Each byte of the start of a range; never charged
    storage_iter_create_from_byte,
    /// Iterating over a prefix; never charged
    storage_iter_create_prefix_base,
    /// Each byte of the prefix; never charged
    storage_iter_create_prefix_byte,
    /// Iterating over a range; never charged
    storage_iter_create_range_base,
    /// Each byte of the end of the range; never charged
    storage_iter_create_to_byte,
    /// Stepping to the next key; never charged
    storage_iter_next_base,
    /// Each byte of that key; never charged
    storage_iter_next_key_byte,
    /// Each byte of its value; never charged
    storage_iter_next_value_byte,
    /// Reading a value that is not stored inline
    storage_large_read_overhead_base,
    /// Each byte of such a value
    storage_large_read_overhead_byte,
    /// Reading the storage
    storage_read_base,
    /// Each byte of the key that is read
    storage_read_key_byte,
    /// Each byte of the value that is read
    storage_read_value_byte,
    /// Removing from the storage
    storage_remove_base,
    /// Each byte of the key that is removed
    storage_remove_key_byte,
    /// Each byte of the value that is removed
    storage_remove_ret_value_byte,
    /// Writing to the storage
    storage_write_base,
    /// Each byte of the value that is replaced
    storage_write_evicted_byte,
    /// Each byte of the key that is written
    storage_write_key_byte,
    /// Each byte of the value that is written
    storage_write_value_byte,
    /// Reading a node of the trie for the first time in a chunk
    touching_trie_node,
    /// Deriving the account id of a universal state init
    universal_state_init_to_account_id_base,
    /// Each byte of that state init
    universal_state_init_to_account_id_byte,
    /// Decoding UTF-16
    utf16_decoding_base,
    /// Each byte of it
    utf16_decoding_byte,
    /// Decoding UTF-8
    utf8_decoding_base,
    /// Each byte of it
    utf8_decoding_byte,
    /// Reading the stake of a validator
    validator_stake_base,
    /// Reading the stake of all validators
    validator_total_stake_base,
    /// Writing to the memory of a contract
    write_memory_base,
    /// Each byte written to it
    write_memory_byte,
    /// Writing a register
    write_register_base,
    /// Each byte written to it
    write_register_byte,
    /// Creating a yield
    yield_create_base,
    /// Each byte of its method name and arguments
    yield_create_byte,
    /// Creating a yield with a given id
    yield_create_with_id_base,
    /// Resuming a yield
    yield_resume_base,
    /// Each byte of its payload
    yield_resume_byte,
}
