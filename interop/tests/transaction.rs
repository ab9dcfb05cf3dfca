//! Signed transactions against the node's crates: the same bytes, hash, view and signature check.
//!
//! Transactions of every form are generated from a seed with the node's types, then truncated at
//! every byte and changed at every bit. Both sides accept and reject the same bytes.

#[path = "transaction/generate.rs"]
mod generate;
#[path = "transaction/rules.rs"]
mod rules;
#[path = "transaction/signatures.rs"]
mod signatures;

use generate::{Generator, TAGS};
use milepost::codec::base64::{self, Padding};
use milepost::codec::json;
use milepost::primitives::{CryptoHash, PublicKey, Signature};
use milepost::transaction::{Action, EncodedTransaction, SignedTransaction};
use milepost_interop::oracle::Record;
use milepost_interop::oracle::transactions::{Decoded, compare, compare_bytes};
use milepost_tests::recorded;
use near_primitives::transaction as near;
use serde_json::{Value, json};

/// Compares digests and signature checks of delegate actions; returns how many there are
fn compare_delegates(ours: &[Action], theirs: &[near::Action]) -> usize {
    assert_eq!(ours.len(), theirs.len());
    let mut delegates = 0;
    for (ours, theirs) in ours.iter().zip(theirs) {
        match (ours, theirs) {
            (Action::Delegate(ours), near::Action::Delegate(theirs)) => {
                let digest = theirs.delegate_action.get_nep461_hash();
                assert_eq!(ours.delegate_action.digest().unwrap().to_string(), digest.to_string());
                assert_eq!(ours.verify(), theirs.verify());
            }
            (Action::DelegateV2(ours), near::Action::DelegateV2(theirs)) => {
                let digest = theirs.delegate_action.get_nep461_hash();
                assert_eq!(ours.delegate_action.digest().unwrap().to_string(), digest.to_string());
                assert_eq!(ours.verify(), theirs.verify());
            }
            _ => continue,
        }
        delegates += 1;
    }
    delegates
}

fn verifies(theirs: &near::SignedTransaction) -> bool {
    theirs.signature.verify(theirs.get_hash().as_ref(), theirs.transaction.public_key())
}

/// The base64 of bytes
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::new();
    base64::encode(bytes, &mut text);
    text
}

#[test]
fn every_transaction_has_the_same_bytes_hash_view_and_validity() {
    let mut generator = Generator::new(20_261_121);
    let [mut valid, mut invalid, mut delegates] = [0; 3];
    let mut record = Record::new("transactions");
    for _ in 0..400 {
        let theirs = generator.any();
        let bytes = borsh::to_vec(&theirs).unwrap();
        let ours = SignedTransaction::decode(&bytes).unwrap();
        compare(&ours, &theirs, &bytes);
        assert_eq!(ours.verify(), verifies(&theirs));
        let encoded = EncodedTransaction::new(bytes).unwrap();
        assert_eq!(encoded.try_verify(), Some(verifies(&theirs)));
        *(if ours.verify() { &mut valid } else { &mut invalid }) += 1;
        delegates += compare_delegates(&ours.transaction().actions, theirs.transaction.actions());
        // A decoded transaction can be split into its parts and joined.
        let (transaction, signature) = ours.clone().into_parts();
        let verifies = verifies(&theirs);
        let bytes = borsh::to_vec(&theirs).unwrap();
        let view =
            serde_json::to_value(near_primitives::views::SignedTransactionView::from(theirs));
        let view = view.unwrap();
        // Signatures of ml-dsa-65 are random.
        if !view.to_string().contains("mldsa") {
            let hash = ours.hash().to_string();
            record.add(&json!([hash, text_of(&bytes), verifies, view.to_string()]));
        }
        assert_eq!(SignedTransaction::new(transaction, signature), Ok(ours));
    }
    record.finish();
    assert!(valid > 250 && invalid > 50 && delegates > 80, "{valid} {invalid} {delegates}");
    let mut expected: Vec<String> = (0..TAGS).map(|tag| format!("action {tag}")).collect();
    let plain = (0..TAGS).filter(|tag| ![8, 14].contains(tag));
    expected.extend(plain.map(|tag| format!("inner action {tag}")));
    expected.extend((0..4).map(|number| format!("permission {number}")));
    expected.extend(["ED25519", "SECP256K1", "MLDSA65"].map(|kind| format!("key {kind:?}")));
    let others = "version 0;version 1, Monotonic;version 1, Strict;nonce;nonce of a gas key;\
                  contract by hash;contract by account;valid signature;invalid signature";
    expected.extend(others.split(';').map(str::to_owned));
    for form in expected {
        let form = form.replace('"', "");
        let count = generator.counts.get(&form).copied().unwrap_or_default();
        assert!(count >= 10, "{form}: {count} times; {:?}", generator.counts);
    }
}

/// Results of decoding changed bytes
#[derive(Default)]
struct Tally {
    accepted: usize,
    rejected: usize,
    /// Accepted, with the keys of a map out of order
    out_of_order: usize,
}

impl Tally {
    fn add(&mut self, bytes: &[u8]) {
        // Views are a part of most of the time.
        match compare_bytes(bytes, self.accepted % 64 == 63) {
            Decoded::Rejected => self.rejected += 1,
            decoded => {
                self.accepted += 1;
                self.out_of_order += usize::from(decoded == Decoded::OutOfOrder);
            }
        }
    }
}

/// One transaction of each action in each version, and one of all actions
fn samples() -> Vec<Vec<u8>> {
    let mut generator = Generator::new(3);
    let mut samples = Vec::new();
    for tag in 0..TAGS {
        for _ in 0..3 {
            let actions = vec![generator.action(tag)];
            samples.push(borsh::to_vec(&generator.signed(actions)).unwrap());
        }
    }
    // Longer ones contain a key or signature of thousands of uniform bytes.
    samples.retain(|sample| sample.len() < 1200);
    assert!(samples.len() > 24, "{} samples", samples.len());
    samples
}

#[test]
fn truncated_bytes_are_rejected() {
    let mut tally = Tally::default();
    let mut generator = Generator::new(4);
    let actions = (0..TAGS).map(|tag| generator.action(tag)).collect();
    let long = borsh::to_vec(&generator.signed(actions)).unwrap();
    for sample in samples().iter().chain([&long]) {
        // Most bytes of the long one are in the middle of a key.
        let step = if sample.len() > 1200 { 11 } else { 1 };
        for length in (0..sample.len()).step_by(step) {
            tally.add(&sample[..length]);
        }
        tally.add(&[sample, &[0][..]].concat());
    }
    assert_eq!((tally.accepted, tally.out_of_order), (0, 0));
    assert!(tally.rejected > 5000);
}

#[test]
fn both_sides_accept_the_same_changed_bits() {
    let mut tally = Tally::default();
    for mut sample in samples() {
        for bit in 0..sample.len() * 8 {
            sample[bit / 8] ^= 1 << (bit % 8);
            tally.add(&sample);
            sample[bit / 8] ^= 1 << (bit % 8);
        }
    }
    assert!(
        tally.accepted > 10_000 && tally.rejected > 2000,
        "{} {}",
        tally.accepted,
        tally.rejected
    );
}

/// The corpus of the fuzz targets `signed_transaction` and `node_transaction`: each line reaches
/// other code of our decoder or of the node's
fn corpus() -> Vec<Vec<u8>> {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/signed_transaction.txt");
    let corpus = std::fs::read_to_string(corpus).unwrap();
    corpus.lines().map(|line| base64::decode(line, Padding::Required).unwrap()).collect()
}

#[test]
fn both_sides_accept_the_same_inputs_of_the_fuzz_target() {
    let mut tally = Tally::default();
    let mut record = Record::new("changed_transactions");
    for (number, input) in corpus().iter_mut().enumerate() {
        tally.add(input);
        let whole = text_of(input);
        // Which changes are read as a transaction.
        let mut read = Vec::new();
        // One bit of each byte, and another one in the next input; all took 150 s.
        for index in 0..input.len().min(512) {
            let bit = 1 << ((number + index) % 8);
            input[index] ^= bit;
            let before = tally.rejected;
            tally.add(input);
            read.push(if tally.rejected == before { '1' } else { '0' });
            input[index] ^= bit;
        }
        record.add(&json!([whole, read.iter().collect::<String>()]));
    }
    record.finish();
    assert!(tally.accepted > 1_000 && tally.rejected > 1_000);
}

#[test]
fn both_sides_accept_the_same_changed_bytes() {
    let mut tally = Tally::default();
    let mut generator = Generator::new(5);
    let mut samples = [samples(), corpus()].concat();
    // Each change may remove a byte.
    samples.retain(|sample| sample.len() > 3);
    for _ in 0..120_000 {
        let mut sample = samples[generator.below(samples.len() as u64) as usize].clone();
        for _ in 0..1 + generator.below(3) {
            let index = generator.below(sample.len() as u64) as usize;
            match generator.below(5) {
                0 => sample[index] = generator.below(20) as u8,
                1 => sample[index] = generator.number() as u8,
                2 => _ = sample.remove(index),
                3 => sample.insert(index, generator.below(20) as u8),
                _ => {
                    let other = &samples[generator.below(samples.len() as u64) as usize];
                    let cut = generator.below(other.len() as u64) as usize;
                    sample.truncate(index + 1);
                    sample.extend(&other[cut..]);
                }
            }
        }
        tally.add(&sample);
    }
    assert!(
        tally.accepted > 1000 && tally.rejected > 10_000,
        "{} {}",
        tally.accepted,
        tally.rejected
    );
}

#[test]
fn keys_of_a_map_may_be_in_any_order() {
    let mut tally = Tally::default();
    let mut generator = Generator::new(6);
    for _ in 0..400 {
        let actions = vec![generator.action(11)];
        let sample = borsh::to_vec(&generator.signed(actions)).unwrap();
        if sample.len() > 1200 {
            continue;
        }
        for index in 0..sample.len() {
            let mut changed = sample.clone();
            changed[index] ^= 0x15;
            tally.add(&changed);
        }
    }
    assert!(tally.out_of_order > 50, "{}", tally.out_of_order);
}

#[test]
fn a_wrong_count_does_not_allocate() {
    let mut generator = Generator::new(7);
    let sample = borsh::to_vec(&generator.signed(Vec::new())).unwrap();
    let theirs: near::SignedTransaction = borsh::from_slice(&sample).unwrap();
    let v1 = matches!(theirs.transaction, near::Transaction::V1(_));
    let signature = borsh::to_vec(&theirs.signature).unwrap().len();
    let count = sample.len() - signature - usize::from(v1) - 4;
    // More than there are bytes, because bytes of the signature can be read as actions.
    for value in [1 << 10, 1 << 20, 1 << 30, u32::MAX] {
        let mut changed = sample.clone();
        changed[count..count + 4].copy_from_slice(&u32::to_le_bytes(value));
        let error = SignedTransaction::decode(&changed).unwrap_err();
        assert!(error.path().starts_with("actions"), "{error}");
    }
}

/// A recorded file, if it is available
fn recorded_json(name: &str) -> Option<Value> {
    let (_, bytes) = recorded::files("views", name).pop()?;
    Some(serde_json::from_slice(&bytes).unwrap())
}

#[test]
fn recorded_signed_transactions_decode_as_recorded() {
    let Some(vectors) = recorded_json("signed_tx_vectors") else { return };
    let vectors = vectors.as_array().unwrap();
    assert!(vectors.len() >= 13);
    for vector in vectors {
        let name = &vector["name"];
        let text = vector["signed_tx_base64"].as_str().unwrap();
        let bytes = base64::decode(text, Padding::Required).unwrap();
        let signed = SignedTransaction::decode(&bytes).unwrap();
        assert_eq!(signed.encode(), bytes, "{name}");
        assert_eq!(bytes.len() as u64, vector["signed_len"], "{name}");
        let transaction = signed.transaction();
        assert_eq!(transaction.encode().unwrap().len() as u64, vector["transaction_len"], "{name}");
        assert_eq!(signed.hash().to_string(), vector["hash"], "{name}");
        assert_eq!(signed.signer_id().as_str(), vector["signer_id"], "{name}");
        assert_eq!(signed.receiver_id().as_str(), vector["receiver_id"], "{name}");
        assert_eq!(transaction.public_key.to_string(), vector["public_key"], "{name}");
        assert_eq!(transaction.block_hash.to_string(), vector["block_hash"], "{name}");
        assert_eq!(transaction.nonce(), vector["nonce"], "{name}");
        let nonce_index = serde_json::to_value(transaction.nonce_index()).unwrap();
        assert_eq!(nonce_index, vector["nonce_index"], "{name}");
        assert_eq!(signed.signature().to_string(), vector["signature"], "{name}");
        assert_eq!(signed.verify(), vector["signature_valid"], "{name}");
        let view: Value = serde_json::from_str(&json::write(&signed.view())).unwrap();
        assert_eq!(view, vector["view"], "{name}");
        assert_eq!(view["actions"], vector["actions"], "{name}");
    }
}

fn from_hex(text: &Value) -> Vec<u8> {
    let digits = text.as_str().unwrap();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn recorded_actions_and_keys_decode_as_recorded() {
    let Some(pieces) = recorded_json("borsh_pieces") else { return };
    let mut generator = Generator::new(8);
    let mut actions = 0;
    for piece in pieces["actions"].as_array().unwrap() {
        let near_action: near::Action = borsh::from_slice(&from_hex(&piece["borsh_hex"])).unwrap();
        let bytes = borsh::to_vec(&generator.signed(vec![near_action])).unwrap();
        let signed = SignedTransaction::decode(&bytes).unwrap();
        let view: Value = serde_json::from_str(&json::write(&signed.view())).unwrap();
        assert_eq!(view["actions"][0], piece["action_view_json"], "{}", piece["name"]);
        assert_eq!(signed.encode(), bytes, "{}", piece["name"]);
        actions += 1;
    }
    assert!(actions >= 26);
    for (name, variant) in [("delegate", "Delegate"), ("delegate_v2", "DelegateV2")] {
        let piece = &pieces[name];
        let action: near::Action =
            serde_json::from_value(serde_json::json!({ variant: piece["json"] })).unwrap();
        let bytes = borsh::to_vec(&generator.signed(vec![action])).unwrap();
        let signed = SignedTransaction::decode(&bytes).unwrap();
        let (digest, verified) = match &signed.transaction().actions[..] {
            [Action::Delegate(one)] => (one.delegate_action.digest().unwrap(), one.verify()),
            [Action::DelegateV2(one)] => (one.delegate_action.digest().unwrap(), one.verify()),
            others => panic!("{others:?}"),
        };
        assert_eq!(digest.to_string(), piece["hash"], "{name}");
        assert_eq!(digest, CryptoHash::digest(&from_hex(&piece["signed_bytes_hex"])), "{name}");
        assert!(verified, "{name}");
    }
    for piece in pieces["keys"].as_array().unwrap() {
        let text = |name: &str| piece[name].as_str().unwrap();
        let key: PublicKey = text("public_key").parse().unwrap();
        let signature: Signature = text("signature").parse().unwrap();
        let digest = text("message_sha256_base58").parse().unwrap();
        assert_eq!(milepost::transaction::verify(&signature, &digest, &key), piece["verifies"]);
    }
}
