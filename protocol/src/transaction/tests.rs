//! Encoding and decoding of transactions that are built here, and the errors of damaged ones.
//!
//! `SignedTransaction` and `EncodedTransaction` must give the same results.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::codec::json;
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

const NONE: UnknownFields = UnknownFields::new();

fn permission() -> FunctionCallPermission {
    FunctionCallPermission {
        allowance: Some(Balance(u128::MAX)),
        method_names: vec![String::from("play"), String::new()],
        receiver_id: String::from("Not An Account"),
        unknown_fields: NONE,
    }
}

/// All actions except the two delegate actions, in the order of their tags
fn plain_actions() -> Vec<NonDelegateAction> {
    let info = GasKeyInfo { balance: Balance(1 << 90), num_nonces: 1024, unknown_fields: NONE };
    let add_key = |scheme, permission| {
        let access_key = AccessKey { nonce: 9, permission, unknown_fields: NONE };
        AddKeyAction { access_key, public_key: key(scheme), unknown_fields: NONE }.into()
    };
    let code = Bytes(vec![0, 0x61, 0x73, 0x6d]);
    let by_hash = GlobalContractIdentifier::Hash(CryptoHash::digest(&code));
    let by_account = GlobalContractIdentifier::AccountId(account("factory.near"));
    let data = [(&[2][..], &[][..]), (&[1, 2], b"x"), (&[], b"empty")];
    let data = data.map(|(key, value)| (Bytes(key.to_vec()), Bytes(value.to_vec())));
    let state_init = |code, deposit| {
        let data = StateInitData(data.clone().into());
        let init = DeterministicAccountStateInitV1 { code, data, unknown_fields: NONE };
        let state_init = DeterministicAccountStateInit::V1(init);
        DeterministicStateInitAction { deposit, state_init, unknown_fields: NONE }.into()
    };
    let publish = |deploy_mode| {
        let code = code.clone();
        DeployGlobalContractAction { code, deploy_mode, unknown_fields: NONE }.into()
    };
    let use_contract = |contract_identifier| {
        UseGlobalContractAction { contract_identifier, unknown_fields: NONE }.into()
    };
    vec![
        CreateAccountAction { unknown_fields: NONE }.into(),
        DeployContractAction { code: code.clone(), unknown_fields: NONE }.into(),
        FunctionCallAction {
            args: Bytes(b"{}".to_vec()),
            deposit: Balance(1),
            gas: Gas(u64::MAX),
            method_name: String::from("größe"),
            unknown_fields: NONE,
        }
        .into(),
        TransferAction { deposit: Balance(u128::MAX), unknown_fields: NONE }.into(),
        StakeAction { public_key: key(Scheme::Secp256k1), stake: Balance(2), unknown_fields: NONE }
            .into(),
        add_key(Scheme::Ed25519, AccessKeyPermission::FunctionCall(permission())),
        add_key(Scheme::Secp256k1, AccessKeyPermission::FullAccess),
        add_key(
            Scheme::MlDsa65,
            AccessKeyPermission::GasKeyFunctionCall((info.clone(), permission())),
        ),
        add_key(Scheme::Ed25519, AccessKeyPermission::GasKeyFullAccess(info)),
        DeleteKeyAction { public_key: key(Scheme::MlDsa65), unknown_fields: NONE }.into(),
        DeleteAccountAction { beneficiary_id: account("bob.near"), unknown_fields: NONE }.into(),
        publish(GlobalContractDeployMode::CodeHash),
        publish(GlobalContractDeployMode::AccountId),
        use_contract(by_hash.clone()),
        use_contract(by_account.clone()),
        state_init(by_hash, Balance(3)),
        state_init(by_account, Balance(4)),
        TransferToGasKeyAction {
            deposit: Balance(5),
            public_key: key(Scheme::Ed25519),
            unknown_fields: NONE,
        }
        .into(),
        WithdrawFromGasKeyAction {
            amount: Balance(6),
            public_key: key(Scheme::Ed25519),
            unknown_fields: NONE,
        }
        .into(),
        UniversalStateInitAction {
            deposit: Balance(7),
            state_init: Bytes(vec![0xff; 5]),
            unknown_fields: NONE,
        }
        .into(),
    ]
}

fn delegate() -> Delegate {
    Delegate {
        delegate_action: DelegateAction {
            actions: plain_actions(),
            max_block_height: 9,
            nonce: 8,
            public_key: key(Scheme::Ed25519),
            receiver_id: account("app.near"),
            sender_id: account("carol.near"),
            unknown_fields: NONE,
        },
        signature: signature(Scheme::Ed25519),
    }
}

fn delegate_v2(nonce: u64, nonce_index: Option<u16>) -> DelegateV2 {
    let Delegate { delegate_action, signature } = delegate();
    DelegateV2 {
        delegate_action: DelegateActionV2 {
            actions: delegate_action.actions,
            max_block_height: 10,
            nonce: TransactionNonce::new(nonce, nonce_index),
            public_key: key(Scheme::Secp256k1),
            receiver_id: delegate_action.receiver_id,
            sender_id: delegate_action.sender_id,
            unknown_fields: NONE,
        },
        signature,
    }
}

fn signed(version: TransactionVersion, actions: Vec<Action>, scheme: Scheme) -> SignedTransaction {
    let transaction = Transaction {
        version,
        signer_id: account("alice.near"),
        public_key: key(scheme),
        receiver_id: account("bob.near"),
        block_hash: CryptoHash::digest(b"block"),
        actions,
    };
    SignedTransaction::new(transaction, signature(scheme)).unwrap()
}

fn all_actions() -> Vec<Action> {
    let mut actions: Vec<_> = plain_actions().into_iter().map(Action::NonDelegate).collect();
    actions.push(Action::Delegate(Box::new(delegate())));
    actions.push(Action::DelegateV2(Box::new(delegate_v2(13, None))));
    actions.push(Action::DelegateV2(Box::new(delegate_v2(11, Some(12)))));
    actions
}

fn versions() -> Vec<TransactionVersion> {
    let mut versions = vec![TransactionVersion::V0 { nonce: u64::MAX }];
    for (nonce, nonce_index) in [(1, None), (11, Some(12))] {
        versions.extend(
            [NonceMode::Monotonic, NonceMode::Strict].map(|nonce_mode| TransactionVersion::V1 {
                nonce,
                nonce_index,
                nonce_mode,
            }),
        );
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
            let signed = signed(version.clone(), all_actions(), scheme);
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
        let mut delegate = delegate();
        delegate.delegate_action.actions = actions.clone();
        let mut actions: Vec<_> = actions.into_iter().map(Action::NonDelegate).collect();
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
    assert_eq!(twice.transaction().hash(), Ok(twice.hash()));
    assert!(twice.encode().len() < init([1, 1], [7, 8]).len());
}

/// An unknown part anywhere is an error with its path; nothing is left out of what is signed
#[test]
fn unknown_members_and_variants_have_no_encoding() {
    let cases = [
        (r#"{"CreateAccount":{"new":1}}"#, "", r#"member "new""#),
        (r#"{"Transfer":{"deposit":"1","memo":"x"}}"#, "", r#"member "memo""#),
        (r#"{"Burn":{"deposit":"1"}}"#, "", r#"variant "Burn""#),
        (
            r#"{"AddKey":{"access_key":{"nonce":1,"permission":"ReadOnly"},"public_key":"ed25519:11111111111111111111111111111111"}}"#,
            ".access_key.permission",
            r#"variant "ReadOnly""#,
        ),
        (
            r#"{"AddKey":{"access_key":{"nonce":1,"permission":{"GasKeyFullAccess":{"balance":"1","num_nonces":1,"new":1}}},"public_key":"ed25519:11111111111111111111111111111111"}}"#,
            ".access_key.permission",
            r#"member "new""#,
        ),
        (
            r#"{"DeployGlobalContract":{"code":"","deploy_mode":"New"}}"#,
            ".deploy_mode",
            r#"variant "New""#,
        ),
        (
            r#"{"UseGlobalContract":{"contract_identifier":{"new":1}}}"#,
            ".contract_identifier",
            r#"variant "new""#,
        ),
        (
            r#"{"DeterministicStateInit":{"deposit":"1","state_init":{"V2":1}}}"#,
            ".state_init",
            r#"variant "V2""#,
        ),
        (
            r#"{"DeterministicStateInit":{"deposit":"1","state_init":{"V1":{"code":{"new":1},"data":{}}}}}"#,
            ".state_init.code",
            r#"variant "new""#,
        ),
    ];
    for (text, path, what) in cases {
        let action: NonDelegateAction = json::read(text).unwrap();
        let known = vec![CreateAccountAction { unknown_fields: NONE }.into()];
        let known = signed(TransactionVersion::V0 { nonce: 0 }, known, Scheme::Ed25519);
        let (mut transaction, _) = known.into_parts();
        transaction.actions.push(Action::NonDelegate(action.clone()));
        let text = alloc::format!("actions[1]{path}: unknown {what} has no borsh encoding");
        assert_eq!(transaction.hash().unwrap_err().to_string(), text);
        let mut delegate = delegate();
        delegate.delegate_action.actions = vec![action];
        let inner = text.replace("[1]", "[0]");
        assert_eq!(delegate.delegate_action.digest().unwrap_err().to_string(), inner);
        #[cfg(feature = "signatures")]
        assert!(!delegate.verify());
        transaction.actions = vec![Action::Delegate(Box::new(delegate))];
        let error = SignedTransaction::new(transaction, signature(Scheme::Ed25519)).unwrap_err();
        assert_eq!(error.to_string(), alloc::format!("actions[0].delegate_action.{inner}"));
    }
    let unknown = json::read(r#"{"Nonce":{"nonce":1,"new":1}}"#).unwrap();
    let mut delegate = delegate_v2(1, None);
    delegate.delegate_action.nonce = unknown;
    let error = delegate.delegate_action.digest().unwrap_err();
    assert_eq!(error.to_string(), r#"nonce: unknown member "new" has no borsh encoding"#);
    let nonce_mode = json::read(r#""loose""#).unwrap();
    let version = TransactionVersion::V1 { nonce: 1, nonce_index: None, nonce_mode };
    let (known, _) =
        signed(TransactionVersion::V0 { nonce: 0 }, Vec::new(), Scheme::Ed25519).into_parts();
    let error = Transaction { version, ..known }.encode().unwrap_err();
    assert_eq!(error.to_string(), r#"nonce_mode: unknown variant "loose" has no borsh encoding"#);
}

/// The same value in both encodings
#[test]
fn json_and_borsh_are_of_one_type() {
    for action in plain_actions() {
        let read: NonDelegateAction = json::read(&json::write(&action)).unwrap();
        assert_eq!(read, action);
        let view = Action::NonDelegate(action).view().unwrap();
        assert_eq!(json::read::<crate::views::ActionView>(&json::write(&view)), Ok(view));
    }
}
