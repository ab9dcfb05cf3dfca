//! Encoding and decoding of transactions that are built here, and the errors of damaged ones.
//!
//! `SignedTransaction` and `EncodedTransaction` must give the same results.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::primitives::{Balance, Bytes, Gas, Scheme};

fn account(text: &str) -> AccountId {
    text.parse().unwrap()
}

fn key(scheme: Scheme) -> PublicKey {
    PublicKey::new(scheme, &vec![3; scheme.key_length()]).unwrap()
}

fn signature(scheme: Scheme) -> Signature {
    Signature::new(scheme, &vec![5; scheme.signature_length()]).unwrap()
}

fn permission() -> FunctionCallPermission {
    FunctionCallPermission {
        allowance: Some(Balance(u128::MAX)),
        receiver_id: String::from("Not An Account"),
        method_names: vec![String::from("play"), String::new()],
    }
}

/// All actions except the two delegate actions, in the order of their tags
fn plain_actions() -> Vec<Action> {
    let info = GasKeyInfo { balance: Balance(1 << 90), num_nonces: 1024 };
    let add_key = |scheme, permission| {
        let access_key = AccessKey { nonce: 9, permission };
        Action::AddKey(Box::new(AddKey { public_key: key(scheme), access_key }))
    };
    let code = Bytes(vec![0, 0x61, 0x73, 0x6d]);
    let by_hash = GlobalContractIdentifier::CodeHash(CryptoHash::digest(&code));
    let by_account = GlobalContractIdentifier::AccountId(account("factory.near"));
    let data = [(&[2][..], &[][..]), (&[1, 2], b"x"), (&[], b"empty")];
    let data = data.map(|(key, value)| (Bytes(key.to_vec()), Bytes(value.to_vec())));
    let state_init = |code, deposit| {
        let init = DeterministicStateInit { code, data: data.clone().into(), deposit };
        Action::DeterministicStateInit(Box::new(init))
    };
    let publish =
        |deploy_mode| Action::DeployGlobalContract { code: Box::new(code.clone()), deploy_mode };
    vec![
        Action::CreateAccount,
        Action::DeployContract { code: code.clone() },
        Action::FunctionCall(Box::new(FunctionCall {
            method_name: String::from("größe"),
            args: Bytes(b"{}".to_vec()),
            gas: Gas(u64::MAX),
            deposit: Balance(1),
        })),
        Action::Transfer { deposit: Balance(u128::MAX) },
        Action::Stake(Box::new(Stake { stake: Balance(2), public_key: key(Scheme::Secp256k1) })),
        add_key(Scheme::Ed25519, AccessKeyPermission::FunctionCall(permission())),
        add_key(Scheme::Secp256k1, AccessKeyPermission::FullAccess),
        add_key(Scheme::MlDsa65, AccessKeyPermission::GasKeyFunctionCall(info, permission())),
        add_key(Scheme::Ed25519, AccessKeyPermission::GasKeyFullAccess(info)),
        Action::DeleteKey { public_key: key(Scheme::MlDsa65) },
        Action::DeleteAccount { beneficiary_id: account("bob.near") },
        publish(GlobalContractDeployMode::CodeHash),
        publish(GlobalContractDeployMode::AccountId),
        Action::UseGlobalContract(Box::new(by_hash.clone())),
        Action::UseGlobalContract(Box::new(by_account.clone())),
        state_init(by_hash, Balance(3)),
        state_init(by_account, Balance(4)),
        Action::TransferToGasKey(Box::new(TransferToGasKey {
            public_key: key(Scheme::Ed25519),
            deposit: Balance(5),
        })),
        Action::WithdrawFromGasKey(Box::new(WithdrawFromGasKey {
            public_key: key(Scheme::Ed25519),
            amount: Balance(6),
        })),
        Action::UniversalStateInit(Box::new(UniversalStateInit {
            state_init: Bytes(vec![0xff; 5]),
            deposit: Balance(7),
        })),
    ]
}

fn inner_actions() -> Vec<NonDelegateAction> {
    plain_actions().into_iter().map(|action| action.try_into().unwrap()).collect()
}

fn delegate() -> Delegate {
    Delegate {
        delegate_action: DelegateAction {
            sender_id: account("carol.near"),
            receiver_id: account("app.near"),
            actions: inner_actions(),
            nonce: 8,
            max_block_height: 9,
            public_key: key(Scheme::Ed25519),
        },
        signature: signature(Scheme::Ed25519),
    }
}

fn delegate_v2(nonce: TransactionNonce) -> DelegateV2 {
    let Delegate { delegate_action, signature } = delegate();
    DelegateV2 {
        delegate_action: DelegateActionV2 {
            sender_id: delegate_action.sender_id,
            receiver_id: delegate_action.receiver_id,
            actions: delegate_action.actions,
            nonce,
            max_block_height: 10,
            public_key: key(Scheme::Secp256k1),
        },
        signature,
    }
}

const LANE: TransactionNonce = TransactionNonce::GasKeyNonce { nonce: 11, nonce_index: 12 };

fn signed(version: TransactionVersion, actions: Vec<Action>, scheme: Scheme) -> SignedTransaction {
    let transaction = Transaction {
        version,
        signer_id: account("alice.near"),
        public_key: key(scheme),
        receiver_id: account("bob.near"),
        block_hash: CryptoHash::digest(b"block"),
        actions,
    };
    SignedTransaction::new(transaction, signature(scheme))
}

fn all_actions() -> Vec<Action> {
    let mut actions = plain_actions();
    actions.push(Action::Delegate(Box::new(delegate())));
    actions.push(Action::DelegateV2(Box::new(delegate_v2(TransactionNonce::Nonce(13)))));
    actions.push(Action::DelegateV2(Box::new(delegate_v2(LANE))));
    actions
}

fn versions() -> Vec<TransactionVersion> {
    let nonces = [TransactionNonce::Nonce(1), LANE];
    let modes = [NonceMode::Monotonic, NonceMode::Strict];
    let mut versions = vec![TransactionVersion::V0 { nonce: u64::MAX }];
    for nonce in nonces {
        versions.extend(modes.map(|nonce_mode| TransactionVersion::V1 { nonce, nonce_mode }));
    }
    versions
}

/// A transaction of version 0 whose actions are these bytes
fn with_actions(count: u32, actions: &[u8]) -> Vec<u8> {
    let none = signed(TransactionVersion::V0 { nonce: 0 }, Vec::new(), Scheme::Ed25519);
    let encoded = none.encode();
    // The count of actions, and the signature after its tag.
    let (front, _) = encoded.split_at(encoded.len() - 65 - 4);
    let mut bytes = front.to_vec();
    bytes.extend(count.to_le_bytes());
    bytes.extend(actions);
    bytes.push(none.signature().scheme() as u8);
    bytes.extend(none.signature().as_bytes());
    bytes
}

/// Decodes bytes and checks that `EncodedTransaction` gives the same result
fn decode(bytes: &[u8]) -> Result<SignedTransaction, Error> {
    let decoded = SignedTransaction::decode(bytes);
    match (EncodedTransaction::new(bytes.to_vec()), &decoded) {
        (Ok(encoded), Ok(decoded)) => {
            assert_eq!(encoded.decode(), *decoded);
            assert_eq!(encoded.hash(), decoded.hash());
            assert_eq!(encoded.signer_id(), decoded.signer_id().as_str());
            assert_eq!(encoded.try_verify(), decoded.try_verify());
            assert_eq!(encoded.as_bytes(), bytes);
        }
        (encoded, decoded) => assert_eq!(encoded.err(), decoded.clone().err()),
    }
    decoded
}

fn error_text(bytes: &[u8]) -> String {
    decode(bytes).unwrap_err().to_string()
}

#[test]
fn every_form_round_trips() {
    for version in versions() {
        for scheme in [Scheme::Ed25519, Scheme::Secp256k1, Scheme::MlDsa65] {
            let signed = signed(version, all_actions(), scheme);
            let bytes = signed.encode();
            let decoded = decode(&bytes).unwrap();
            assert_eq!(decoded, signed);
            assert_eq!(decoded.encode(), bytes);
            let length = bytes.len() - 1 - scheme.signature_length();
            assert_eq!(decoded.hash(), CryptoHash::digest(&bytes[..length]));
        }
    }
}

#[test]
fn every_truncation_is_rejected() {
    for version in versions() {
        // Without the actions with a long key, which have thousands of truncations.
        let mut actions = plain_actions();
        actions.retain(|action| !alloc::format!("{action:?}").contains("ml-dsa"));
        let inner: Vec<_> = actions.iter().cloned().map(|a| a.try_into().unwrap()).collect();
        let mut delegate = delegate();
        delegate.delegate_action.actions = inner;
        actions.push(Action::Delegate(Box::new(delegate)));
        let bytes = signed(version, actions, Scheme::Ed25519).encode();
        for length in 0..bytes.len() {
            let error = decode(&bytes[..length]).unwrap_err();
            assert!(error.offset().unwrap() <= length, "{error}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(error_text(&longer), alloc::format!("byte {}: 1 trailing bytes", bytes.len()));
    }
}

#[test]
fn errors_have_path_and_offset() {
    // signer 14, key 33, nonce 8, receiver 12, block 32: actions are counted at 99.
    let transfer = [&[3][..], &[0; 16]].concat();
    let mut two = transfer.clone();
    two.extend([6, 9]);
    assert_eq!(
        error_text(&with_actions(2, &two)),
        "actions[1].public_key: unknown key tag 9 (byte 121)"
    );
    assert_eq!(error_text(&with_actions(1, &[16])), "actions[0]: unknown action tag 16 (byte 103)");
    assert_eq!(
        error_text(&with_actions(u32::MAX, &transfer)),
        "actions: a length of 4294967295, but 82 bytes are left (byte 99)"
    );
    let mut bytes = with_actions(1, &transfer);
    *bytes.last_mut().unwrap() = 0x20;
    let last = bytes.len() - 1;
    assert_eq!(
        error_text(&bytes),
        alloc::format!(
            "signature: ed25519 signature whose last byte has one of its top 3 bits set (byte {last})"
        )
    );
    bytes[last - 64] = 3;
    assert!(error_text(&bytes).starts_with("signature: unknown signature tag 3"));
    bytes[4] = b'A';
    assert_eq!(
        error_text(&bytes),
        "signer_id: 'A' at offset 0 cannot be in an account id (byte 4)"
    );
    bytes[1] = 1;
    assert_eq!(error_text(&bytes), "byte 0: unknown transaction version tag 10");
    assert_eq!(error_text(&[]), "byte 0: ends early, 0 of 2 bytes are there");
}

#[test]
fn delegate_actions_do_not_nest() {
    for tag in [8, 14] {
        let mut bytes = vec![8];
        for name in ["carol.near", "app.near"] {
            bytes.extend([name.len() as u8, 0, 0, 0]);
            bytes.extend(name.bytes());
        }
        bytes.extend([1, 0, 0, 0, tag]);
        assert_eq!(
            error_text(&with_actions(1, &bytes)),
            "actions[0].delegate_action.actions[0]: a delegate action inside a delegate action (byte 134)"
        );
    }
    let nested = Action::Delegate(Box::new(delegate()));
    assert_eq!(NonDelegateAction::try_from(nested), Err(NestedDelegate));
}

#[test]
fn keys_of_a_map_may_be_in_any_order() {
    let init = |keys: [u8; 2], values: [u8; 2]| {
        let mut bytes = vec![11, 0, 0];
        bytes.extend([0; 32]);
        bytes.extend([2, 0, 0, 0]);
        let entries = keys.iter().zip(values);
        entries.for_each(|(key, value)| bytes.extend([1, 0, 0, 0, *key, 1, 0, 0, 0, value]));
        bytes.extend([0; 16]);
        with_actions(1, &bytes)
    };
    let sorted = decode(&init([1, 2], [7, 8])).unwrap();
    let turned = decode(&init([2, 1], [8, 7])).unwrap();
    assert_eq!(turned.hash(), sorted.hash());
    assert_eq!(turned.encode(), init([1, 2], [7, 8]));
    let twice = decode(&init([1, 1], [7, 8])).unwrap();
    assert_eq!(twice.hash(), twice.transaction().hash());
    assert!(twice.encode().len() < init([1, 1], [7, 8]).len());
}
