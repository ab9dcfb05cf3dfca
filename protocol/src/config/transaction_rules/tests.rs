//! Every rule with a transaction that violates it, and one that is at its limit.
//!
//! The errors are compared as texts, and with the views of errors, which name every variant and
//! member.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::*;
use crate::primitives::CryptoHash;
use crate::transaction::{Delegate, DelegateV2, Transaction};
use crate::views::error::InvalidTxError;
use crate::views::{
    DelegateAction, DelegateActionV2, TransactionNonce, TransferAction, UnknownFields,
};

const KEY: &str = "ed25519:DcA2MzgpJbrUATQLLceocVckhhAqrkingax4oJ9kZ847";
/// The point of order two has torsion
const TORSION: &str = "ed25519:J1Q5CJCexaczwPPsYLb6RdjZA1sB3bpmSfh2dRmUpUBm";

fn rules(version: u32) -> TransactionRules {
    let text = format!(
        r#"{{"chain_id":"dev","genesis_height":0,"protocol_version":{version},"runtime_config":{{
            "wasm_config":{{"limit_config":{{"account_id_validity_rules_version":1,
            "max_actions_per_receipt":3,"max_arguments_length":4,"max_contract_size":5,
            "max_deploy_actions_per_receipt":1,"max_length_method_name":6,
            "max_length_storage_key":2,"max_length_storage_value":3,
            "max_number_bytes_method_names":9,"max_state_init_entries":2,
            "max_total_prepaid_gas":"100","max_transaction_size":4000,
            "max_universal_state_init_keys":2}}}}}}}}"#
    );
    TransactionRules::read(&text).unwrap()
}

fn actions(texts: &[&str]) -> Vec<NonDelegateAction> {
    texts.iter().map(|text| json::read(text).unwrap()).collect()
}

fn signed(actions: Vec<Action>, version: TransactionVersion, receiver: &str) -> SignedTransaction {
    let transaction = Transaction {
        version,
        signer_id: "alice.near".parse().unwrap(),
        public_key: KEY.parse().unwrap(),
        receiver_id: receiver.parse().unwrap(),
        block_hash: CryptoHash::ZERO,
        actions,
    };
    let signature = Signature::new(Scheme::Ed25519, &[0; 64]).unwrap();
    SignedTransaction::new(transaction, signature).unwrap()
}

fn plain(texts: &[&str]) -> SignedTransaction {
    let actions = actions(texts).into_iter().map(Action::NonDelegate).collect();
    signed(actions, TransactionVersion::V0 { nonce: 1 }, &receiver(texts))
}

/// The receiver of actions with at most one state init
fn receiver(texts: &[&str]) -> String {
    let derived = actions(texts).iter().find_map(|action| match action {
        NonDelegateAction::DeterministicStateInit(init) => derive_account_id(&init.state_init),
        NonDelegateAction::UniversalStateInit(init) => {
            Some(derive_universal_account_id(&init.state_init.0))
        }
        _ => None,
    });
    derived.map_or_else(|| "bob.near".to_string(), |derived| derived.to_string())
}

fn delegate(texts: &[&str]) -> Action {
    let delegate_action = DelegateAction {
        actions: actions(texts),
        max_block_height: 9,
        nonce: 1,
        public_key: KEY.parse().unwrap(),
        receiver_id: receiver(texts).parse().unwrap(),
        sender_id: "carol.near".parse().unwrap(),
        unknown_fields: UnknownFields::new(),
    };
    let signature = Signature::new(Scheme::Ed25519, &[0; 64]).unwrap();
    Action::Delegate(Box::new(Delegate { delegate_action, signature }))
}

fn delegate_v2() -> Action {
    let delegate_action = DelegateActionV2 {
        actions: actions(&[CREATE]),
        max_block_height: 9,
        nonce: TransactionNonce::new(1, None),
        public_key: KEY.parse().unwrap(),
        receiver_id: "bob.near".parse().unwrap(),
        sender_id: "carol.near".parse().unwrap(),
        unknown_fields: UnknownFields::new(),
    };
    let signature = Signature::new(Scheme::Ed25519, &[0; 64]).unwrap();
    Action::DelegateV2(Box::new(DelegateV2 { delegate_action, signature }))
}

fn with_delegates(actions: Vec<Action>) -> SignedTransaction {
    signed(actions, TransactionVersion::V0 { nonce: 1 }, "bob.near")
}

const CREATE: &str = r#"{"CreateAccount":{}}"#;
const DELETE: &str = r#"{"DeleteAccount":{"beneficiary_id":"carol.near"}}"#;
const DEPLOY: &str = r#"{"DeployContract":{"code":"AAAAAAA="}}"#;
const WITHDRAW: &str = r#"{"WithdrawFromGasKey":{"public_key":"KEY","amount":"1"}}"#;

fn call(method: &str, args: &str, gas: u64) -> String {
    format!(
        r#"{{"FunctionCall":{{"method_name":"{method}","args":"{args}","gas":{gas},"deposit":"0"}}}}"#
    )
}

fn stake(key: &str) -> String {
    format!(r#"{{"Stake":{{"public_key":"{key}","stake":"1"}}}}"#)
}

fn add_key(permission: &str) -> String {
    format!(
        r#"{{"AddKey":{{"access_key":{{"nonce":0,"permission":{permission}}},"public_key":"{KEY}"}}}}"#
    )
}

fn call_key(receiver: &str, names: &str, allowance: &str) -> String {
    format!(r#"{{"allowance":{allowance},"method_names":[{names}],"receiver_id":"{receiver}"}}"#)
}

fn init(data: &str) -> String {
    format!(
        r#"{{"DeterministicStateInit":{{"deposit":"0","state_init":{{"V1":{{"code":{{"account_id":"code.near"}},"data":{data}}}}}}}}}"#
    )
}

fn unsupported(feature: &str, version: u32) -> String {
    format!(
        r#"{{"UnsupportedProtocolFeature":{{"protocol_feature":"{feature}","version":{version}}}}}"#
    )
}

/// Asserts that the only violation is this variant of `InvalidTxError`
fn assert_violation(version: u32, signed: &SignedTransaction, expected: &str) {
    let violation = rules(version).check(signed).expect_err(expected);
    assert_eq!(violation, expected);
    let view: InvalidTxError = json::read(&violation).unwrap();
    assert!(!matches!(view, InvalidTxError::Other(_)), "{violation}");
    if let InvalidTxError::ActionsValidation(error) = &view {
        assert!(!format!("{error:?}").starts_with("Other"), "{violation}");
    }
    assert_eq!(json::write(&view), violation);
}

#[test]
fn each_rule_for_actions_has_its_error() {
    let key = |permission: &str, info: &str| format!(r#"{{"{permission}":{info}}}"#);
    let gas_key = |balance: &str, nonces: u32| {
        add_key(&key(
            "GasKeyFullAccess",
            &format!(r#"{{"balance":"{balance}","num_nonces":{nonces}}}"#),
        ))
    };
    let function_key = |receiver: &str, names: &str| {
        add_key(&key("FunctionCall", &call_key(receiver, names, "null")))
    };
    let gas_key_call = add_key(&key(
        "GasKeyFunctionCall",
        &format!(r#"[{{"balance":"0","num_nonces":1}},{}]"#, call_key("b.near", "", "\"1\"")),
    ));
    let long = "é".repeat(100);
    let (ok, init_ok) = (call("method", "AAAAAA==", 100), init(r#"{"AAA=":"AAAA"}"#));
    let withdraw = WITHDRAW.replace("KEY", KEY);
    for (version, texts, expected) in [
        (
            88,
            &[CREATE; 4][..],
            r#"{"TotalNumberOfActionsExceeded":{"limit":3,"total_number_of_actions":4}}"#
                .to_string(),
        ),
        (
            88,
            &[DEPLOY, DEPLOY],
            r#"{"TotalNumberOfDeployActionsExceeded":{"limit":1,"number_of_deploy_actions":2}}"#
                .into(),
        ),
        (
            88,
            &[&init(r#"{"AA==":"","AQ==":"","Ag==":""}"#)],
            r#"{"TotalNumberOfStateInitEntriesExceeded":{"limit":2,"number_of_entries":3}}"#.into(),
        ),
        (88, &[&init_ok, DELETE, CREATE], r#""DeleteActionMustBeFinal""#.into()),
        (
            88,
            &[r#"{"DeployContract":{"code":"AAAAAAAA"}}"#],
            r#"{"ContractSizeExceeded":{"limit":5,"size":6}}"#.into(),
        ),
        (
            88,
            &[r#"{"DeployGlobalContract":{"code":"AAAAAAAA","deploy_mode":"CodeHash"}}"#],
            r#"{"ContractSizeExceeded":{"limit":5,"size":6}}"#.into(),
        ),
        (88, &[&call("", "AAAAAAAA", 0)], r#""FunctionCallZeroAttachedGas""#.into()),
        (87, &[&call("", "AAAAAAAA", 1)], r#""FunctionCallEmptyMethodName""#.into()),
        (
            88,
            &[&call("methods", "AAAAAAAA", 1)],
            r#"{"FunctionCallMethodNameLengthExceeded":{"length":7,"limit":6}}"#.into(),
        ),
        (
            86,
            &[&call("", "AAAAAAAA", 1)],
            r#"{"FunctionCallArgumentsLengthExceeded":{"length":6,"limit":4}}"#.into(),
        ),
        (
            88,
            &[&ok, &call("m", "", 1)],
            r#"{"TotalPrepaidGasExceeded":{"limit":100,"total_prepaid_gas":101}}"#.into(),
        ),
        (88, &[&ok, &call("m", "", u64::MAX)], r#""IntegerOverflow""#.into()),
        (
            88,
            &[&stake(TORSION)],
            format!(r#"{{"UnsuitableStakingKey":{{"public_key":"{TORSION}"}}}}"#),
        ),
        (
            88,
            &[&function_key("No", "\"methods\"")],
            r#"{"InvalidAccountId":{"account_id":"No"}}"#.into(),
        ),
        (
            88,
            &[&function_key(&long, "")],
            format!(r#"{{"InvalidAccountId":{{"account_id":"{}"}}}}"#, "é".repeat(64)),
        ),
        (88, &[&function_key("a\\\"", "")], r#"{"InvalidAccountId":{"account_id":"a\""}}"#.into()),
        (
            88,
            &[&function_key("b.near", "\"methods\"")],
            r#"{"AddKeyMethodNameLengthExceeded":{"length":7,"limit":6}}"#.into(),
        ),
        (
            88,
            &[&function_key("b.near", "\"method\",\"ab\"")],
            r#"{"AddKeyMethodNamesNumberOfBytesExceeded":{"limit":9,"total_number_of_bytes":10}}"#
                .into(),
        ),
        (84, &[&gas_key("1", 0)], unsupported("GasKeys", 84)),
        (85, &[&gas_key_call], r#""GasKeyFunctionCallAllowanceNotAllowed""#.into()),
        (
            85,
            &[&gas_key("1", 0)],
            r#"{"GasKeyInvalidNumNonces":{"limit":1024,"requested_nonces":0}}"#.into(),
        ),
        (
            85,
            &[&gas_key("1", 1025)],
            r#"{"GasKeyInvalidNumNonces":{"limit":1024,"requested_nonces":1025}}"#.into(),
        ),
        (85, &[&gas_key("1", 1024)], r#"{"AddGasKeyWithNonZeroBalance":{"balance":"1"}}"#.into()),
        (84, &[&withdraw], unsupported("GasKeys", 84)),
        (
            88,
            &[&init(r#"{"AAAA":""}"#)],
            r#"{"DeterministicStateInitKeyLengthExceeded":{"length":3,"limit":2}}"#.into(),
        ),
        (
            88,
            &[&init(r#"{"AAA=":"AAAAAA=="}"#)],
            r#"{"DeterministicStateInitValueLengthExceeded":{"length":4,"limit":3}}"#.into(),
        ),
        (
            87,
            &[r#"{"UniversalStateInit":{"deposit":"0","state_init":"AA=="}}"#],
            unsupported("UniversalAccounts", 87),
        ),
    ] {
        let expected = format!(r#"{{"ActionsValidation":{expected}}}"#);
        assert_violation(version, &plain(texts), &expected);
        // Inside of a delegate action the same holds, except for what is checked before.
        let nested = with_delegates([delegate(texts)].into());
        assert_violation(version, &nested, &expected);
    }
    for texts in [
        &[&*ok, DEPLOY, DELETE][..],
        &[&gas_key("0", 1024), &gas_key("0", 1), &withdraw],
        &[&function_key("b.near", "\"method\",\"a\""), &init_ok, &stake(KEY)],
        &[],
    ] {
        assert_eq!(rules(88).check(&plain(texts)), Ok(()), "{texts:?}");
        let violation = rules(88).check(&with_delegates([delegate(texts)].into()));
        let is_withdrawal = texts.contains(&&*withdraw);
        assert_eq!(violation.is_err(), is_withdrawal, "{violation:?}");
    }
    // A limit that is absent is not checked.
    let config = r#"{"protocol_version":88,"runtime_config":{"wasm_config":{}}}"#;
    assert_eq!(TransactionRules::read(config).unwrap().check(&plain(&[CREATE; 4])), Ok(()));
}

#[test]
fn delegate_actions_have_rules_of_their_own() {
    let error = |error: &str| format!(r#"{{"ActionsValidation":{error}}}"#);
    let withdraw = WITHDRAW.replace("KEY", KEY);
    let removed = r#"{"RemovedProtocolFeature":{"protocol_feature":"DelegateV2","version":87}}"#;
    let unsupported =
        r#"{"UnsupportedProtocolFeature":{"protocol_feature":"DelegateV2","version":84}}"#;
    let gas = r#"{"TotalPrepaidGasExceeded":{"limit":100,"total_prepaid_gas":120}}"#;
    let call = |gas| call("m", "", gas);
    let outer = Action::NonDelegate(json::read(&call(60)).unwrap());
    for (version, actions, expected) in [
        (88, [delegate(&[]), delegate(&[])].to_vec(), r#""DelegateActionMustBeOnlyOne""#),
        (87, [delegate(&[&withdraw])].into(), r#""WithdrawFromGasKeyNotAllowedInDelegate""#),
        (87, [delegate_v2()].into(), removed),
        (84, [delegate_v2()].into(), unsupported),
        (88, [outer.clone(), delegate(&[&call(60)])].into(), gas),
    ] {
        assert_violation(version, &with_delegates(actions), &error(expected));
    }
    assert_eq!(rules(86).check(&with_delegates([delegate_v2()].into())), Ok(()));
    assert_eq!(rules(86).check(&with_delegates([delegate(&[&withdraw])].into())), Ok(()));
    assert_eq!(rules(86).check(&with_delegates([outer, delegate(&[&call(40)])].into())), Ok(()));
}

#[test]
fn the_receiver_of_a_state_init_is_the_account_derived_from_it() {
    const DERIVED: &str = "0s8940d0a7d04dab7ba31a5fe625c80c39fcd9bbac";
    const OTHER: &str = "0s8940d0a7d04dab7ba31a5fe625c80c39fcd9bbad";
    let version = TransactionVersion::V0 { nonce: 1 };
    let error = |receiver: &str| {
        format!(
            r#"{{"ActionsValidation":{{"InvalidDeterministicStateInitReceiver":{{"derived_id":"{DERIVED}","receiver_id":"{receiver}"}}}}}}"#
        )
    };
    let init_empty = init("{}");
    let to = |receiver: &str| {
        let actions = actions(&[&init_empty]).into_iter().map(Action::NonDelegate).collect();
        signed(actions, version.clone(), receiver)
    };
    assert_eq!(rules(82).check(&to(DERIVED)), Ok(()));
    for receiver in [OTHER, "alice.near"] {
        assert_violation(88, &to(receiver), &error(receiver));
    }
    // The receiver comes before the limits.
    let long = signed(
        actions(&[&init(r#"{"AAAA":""}"#)]).into_iter().map(Action::NonDelegate).collect(),
        version.clone(),
        OTHER,
    );
    assert!(rules(88).check(&long).unwrap_err().contains("InvalidDeterministicStateInitReceiver"));

    // Before version 85 the receiver of the transaction counted inside of a delegate action.
    let delegated = |receiver| signed([delegate(&[&init_empty])].into(), version.clone(), receiver);
    assert_eq!(rules(85).check(&delegated("bob.near")), Ok(()));
    assert_violation(84, &delegated("bob.near"), &error("bob.near"));
    assert_eq!(rules(84).check(&delegated(DERIVED)), Ok(()));
}

/// The state init of a universal account with these entries and access keys, of tag and content
fn universal(entries: &[(&str, &str)], access_keys: &[(u8, u8)]) -> String {
    let mut writer = crate::codec::borsh::Writer::default();
    writer.u8(0).u8(0).count(entries.len());
    for (key, value) in entries {
        writer.text(key).text(value);
    }
    writer.count(access_keys.len());
    for (tag, content) in access_keys {
        writer.u8(*tag).raw(&[*content; 32]);
    }
    universal_of(&writer.into_bytes())
}

fn universal_of(bytes: &[u8]) -> String {
    let mut text = String::new();
    crate::codec::base64::encode(bytes, &mut text);
    format!(r#"{{"UniversalStateInit":{{"deposit":"0","state_init":"{text}"}}}}"#)
}

#[test]
fn the_state_init_of_a_universal_account_is_checked_from_version_88_on() {
    let error = |error: &str| format!(r#"{{"ActionsValidation":{error}}}"#);
    let to_delegate = |text: &str| with_delegates([delegate(&[text])].into());
    let malformed = "\"MalformedUniversalStateInit\"";
    let keys = |keys| {
        format!(r#"{{"TotalNumberOfStateInitKeysExceeded":{{"limit":2,"number_of_keys":{keys}}}}}"#)
    };
    let entries = r#"{"TotalNumberOfStateInitEntriesExceeded":{"limit":2,"number_of_entries":3}}"#;
    for (text, expected) in [
        (universal(&[("b", ""), ("a", "")], &[]), malformed),
        (universal(&[("a", ""), ("a", "")], &[]), malformed),
        (universal(&[], &[(3, 1), (0, 1)]), malformed),
        (universal_of(b""), malformed),
        (universal_of(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), malformed),
        (
            universal(&[("abc", "")], &[]),
            r#"{"UniversalStateInitKeyLengthExceeded":{"length":3,"limit":2}}"#,
        ),
        (
            universal(&[("a", ""), ("ab", "abcd")], &[]),
            r#"{"UniversalStateInitValueLengthExceeded":{"length":4,"limit":3}}"#,
        ),
        (universal(&[], &[(0, 1), (0, 2), (3, 1)]), &keys(3)),
        (universal(&[("a", ""), ("b", ""), ("c", "")], &[(0, 1)]), entries),
    ] {
        assert_violation(88, &plain(&[&text]), &error(expected));
        assert_violation(88, &to_delegate(&text), &error(expected));
    }
    let valid = universal(&[("a", "abc"), ("ab", "")], &[(0, 9), (3, 1)]);
    assert_eq!(rules(88).check(&plain(&[&valid])), Ok(()));
    assert_eq!(rules(88).check(&to_delegate(&valid)), Ok(()));
    assert_violation(87, &plain(&[&valid]), &error(&unsupported("UniversalAccounts", 87)));
    assert_violation(84, &plain(&[&valid]), &error(&unsupported("PostQuantumSignatures", 84)));

    // The receiver comes before what is in the state init.
    let actions = |text| actions(&[text]).into_iter().map(Action::NonDelegate).collect();
    let receiver = "0uzvdgbyea2rd8ywx0kw3cg4vc0ez1x5fc2gyks4fdz9ae0xxvzan0";
    let other = signed(actions(&universal_of(b"")), TransactionVersion::V0 { nonce: 1 }, receiver);
    let derived = derive_universal_account_id(b"");
    let expected = format!(
        r#"{{"InvalidUniversalStateInitReceiver":{{"derived_id":"{derived}","receiver_id":"{receiver}"}}}}"#
    );
    assert_violation(88, &other, &error(&expected));
}

#[test]
fn state_inits_are_counted_in_sum_also_in_delegate_actions() {
    let init = |entries| Action::NonDelegate(json::read(&init(entries)).unwrap());
    let mixed = universal(&[("a", ""), ("b", "")], &[]);
    let entries = |count| {
        format!(
            r#"{{"ActionsValidation":{{"TotalNumberOfStateInitEntriesExceeded":{{"limit":2,"number_of_entries":{count}}}}}}}"#
        )
    };
    let sum = [init(r#"{"AA==":""}"#), delegate(&[&mixed])];
    assert_violation(88, &with_delegates(sum.into()), &entries(3));
    let keys = universal(&[], &[(0, 1), (0, 2)]);
    let key = Action::NonDelegate(json::read(&universal(&[], &[(0, 1)])).unwrap());
    let expected = r#"{"ActionsValidation":{"TotalNumberOfStateInitKeysExceeded":{"limit":2,"number_of_keys":3}}}"#;
    assert_violation(88, &with_delegates([key, delegate(&[&keys])].into()), expected);
    // Twice the same in one state init counts once, though it is malformed.
    let twice = universal(&[("a", ""), ("a", ""), ("a", "")], &[]);
    assert!(rules(88).check(&plain(&[&twice])).unwrap_err().contains("Malformed"));
}

#[test]
fn the_protocol_version_admits_transactions_and_keys() {
    let version_1 =
        TransactionVersion::V1 { nonce: 1, nonce_index: None, nonce_mode: NonceMode::Strict };
    let new = signed(Vec::new(), version_1, "bob.near");
    assert_violation(84, &new, r#""InvalidTransactionVersion""#);
    assert_eq!(rules(85).check(&new), Ok(()));

    let key = PublicKey::new(Scheme::MlDsa65, &[7; 1952]).unwrap();
    let delete = format!(r#"{{"DeleteKey":{{"public_key":"{key}"}}}}"#);
    let feature = r#"{"ActionsValidation":{"UnsupportedProtocolFeature":{"protocol_feature":"PostQuantumSignatures","version":84}}}"#;
    assert_violation(84, &plain(&[&delete]), feature);
    assert_violation(84, &with_delegates([delegate(&[&delete])].into()), feature);
    let (mut transaction, signature) = plain(&[]).into_parts();
    transaction.public_key = key;
    let signed_by_new = SignedTransaction::new(transaction, signature).unwrap();
    assert_violation(84, &signed_by_new, r#""InvalidTransactionVersion""#);

    let universal = format!("0u{}g", "z".repeat(51));
    let transfer = TransferAction { deposit: Balance(1), unknown_fields: UnknownFields::new() };
    for (version, receiver, refused) in [
        (86, &*universal, false),
        (87, &universal, true),
        (88, &universal, false),
        (87, &universal.replace('g', "1"), false),
        (87, &universal.replacen('z', "u", 1), false),
    ] {
        let transfer =
            signed([transfer.clone().into()].into(), TransactionVersion::V0 { nonce: 1 }, receiver);
        if refused {
            let expected = format!(
                r#"{{"ActionsValidation":{{"TransferToUniversalAccountNotAllowed":{{"account_id":"{receiver}"}}}}}}"#
            );
            assert_violation(version, &transfer, &expected);
        } else {
            assert_eq!(rules(version).check(&transfer), Ok(()));
        }
    }
}

#[test]
fn the_signature_counts_in_the_size_from_version_85_on() {
    let nested = |count| with_delegates([delegate(&alloc::vec![CREATE; count])].into());
    let empty = nested(0).encode().len();
    let with_limit = |version| {
        let mut rules = rules(version);
        rules.max_actions = None;
        rules.max_transaction_size = Some(400);
        rules
    };
    let check = |version, size: usize| with_limit(version).check(&nested(size - empty));
    let expected = r#"{"TransactionSizeExceeded":{"limit":400,"size":401}}"#;
    assert_eq!(check(85, 400), Ok(()));
    assert_eq!(check(85, 401), Err(expected.to_string()));
    assert_eq!(check(84, 465), Ok(()));
    assert_eq!(check(84, 466), Err(expected.to_string()));
    let view: InvalidTxError = json::read(expected).unwrap();
    assert_eq!(json::write(&view), expected);
    assert!(matches!(view, InvalidTxError::TransactionSizeExceeded { limit: 400, size: 401, .. }));
}

#[test]
fn a_transaction_expires_when_the_head_is_its_period_above_its_base() {
    let limited = TransactionRules::read(r#"{"transaction_validity_period":100}"#).unwrap();
    let found = [0, 7, u64::MAX - 99].map(|base| limited.last_height(base));
    assert_eq!(found, [Some(100), Some(107), Some(u64::MAX)]);
    let found = [7, 106, 107, 108, 109].map(|head| limited.is_expired(7, head));
    assert_eq!(found, [false, false, false, true, true]);
    let without = rules(84);
    assert_eq!((without.last_height(7), without.is_expired(7, u64::MAX)), (None, false));
}

#[test]
fn each_place_of_a_post_quantum_key_or_signature_is_looked_at() {
    let feature = r#"{"ActionsValidation":{"UnsupportedProtocolFeature":{"protocol_feature":"PostQuantumSignatures","version":84}}}"#;
    let key = PublicKey::new(Scheme::MlDsa65, &[7; 1952]).unwrap();
    let signature = Signature::new(Scheme::MlDsa65, &[7; 3309]).unwrap();
    for changes in [(true, false), (false, true)] {
        let Action::Delegate(mut of_key) = delegate(&[]) else { panic!("a delegate action") };
        if changes.0 {
            of_key.delegate_action.public_key = key.clone();
        }
        if changes.1 {
            of_key.signature = signature.clone();
        }
        assert_violation(84, &with_delegates([Action::Delegate(of_key)].into()), feature);
    }
    assert!(rules(84).check(&with_delegates([delegate(&[])].into())).is_ok());
}

#[test]
fn delegate_actions_without_a_signature_are_not_valid() {
    let (Action::Delegate(one), Action::DelegateV2(two)) = (delegate(&[CREATE]), delegate_v2())
    else {
        panic!("delegate actions")
    };
    assert!(!one.verify() && !two.verify());
}
