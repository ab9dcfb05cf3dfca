//! Transactions that the node's own crates signed, with their hashes and views.
//!
//! The keys are derived from the seed "milepost", the block hash is the SHA-256 of "block". Other
//! tests compare all actions and key types with those crates; these few need no such crate.

use alloc::string::ToString as _;
#[cfg(feature = "signatures")]
use alloc::vec::Vec;

#[cfg(feature = "signatures")]
use super::EncodedTransaction;
use super::{Action, SignedTransaction};
use crate::codec::base64::{self, Padding};
use crate::codec::json;
#[cfg(feature = "signatures")]
use crate::primitives::{CryptoHash, PublicKey, Scheme, Signature};

/// Version 0, ed25519: both delegate actions, and code
const DELEGATES: &str = "\
    CgAAAGFsaWNlLm5lYXIAvo3+Sx0X5zjaxOgl7DMtSj8OjYTjDTd/V0EDOMyDLz4HAAAAAAAAAAoAAABjYXJvbC5u\
    ZWFySWrKgOTY8p+46M2BbDr7SNPxA5cLOi7hYAwIymcybe4DAAAACAoAAABjYXJvbC5uZWFyCAAAAGJvYi5uZWFy\
    AQAAAAMBAAAAAAAAAAAAAAAAAAAACAAAAAAAAAAJAAAAAAAAAAHFMx7EGhcATs6kxkGkYVPlLc9GHs2jV5NdUABL\
    Wg8txSC/pEy6uPJWfXTmdgWTIshsenrX85js1WQJdTiylOTpAfQnlM4lQ3WngxWaXY8nq37EyTDRamg21iwTtBJ5\
    vf07RlvKjI73NDn/B4at9WnKEnBddNiQMKmWCvsfZbzVua8ADgAKAAAAY2Fyb2wubmVhcggAAABib2IubmVhcgEA\
    AAADAQAAAAAAAAAAAAAAAAAAAAEIAAAAAAAAAAIACQAAAAAAAAAAvo3+Sx0X5zjaxOgl7DMtSj8OjYTjDTd/V0ED\
    OMyDLz4AYU/p3o7FyufK8lx8nkg5b7foCfaPvO2uyLeDi5LYLdXlgyqxSrqAAlWQlf8w6MMS+mi4dWo3D5WOdE/1\
    iBSlBgEEAAAAAGFzbQC7qECIj9rBySjjKi4zMeS3hihK+5euxIGZouq4FInG4m11gM7Mkdp1XSS+mxhFbnL4aAfc\
    EqArIyZ+l9qB/qwB";
/// Its view
const DELEGATES_VIEW: &str = concat!(
    r#"{"actions":[{"Delegate":{"delegate_action":{"actions":[{"Transfer":{"deposit":"1"}}],"ma"#,
    r#"x_block_height":9,"nonce":8,"public_key":"secp256k1:4wg5zJyV7rXrG93oAXptdSZC9dMWicNQuc72"#,
    r#"BkYhKys1kGmVAYjgCoTbhtHYvBzNCLXXM3VJT3jkCpW6t7MtAT68","receiver_id":"bob.near","sender_i"#,
    r#"d":"carol.near"},"signature":"secp256k1:NYeWnh3jxYeX3g8mbnwTdqgfc49hBs7JaamBinwKHzqbsdB1"#,
    r#"W5xkD2Pqh3NB68Zxgr5o5mvPCPoCB1a8E79YEzxhV"}},{"DelegateV2":{"delegate_action":{"V2":{"ac"#,
    r#"tions":[{"Transfer":{"deposit":"1"}}],"max_block_height":9,"nonce":{"GasKeyNonce":{"nonc"#,
    r#"e":8,"nonce_index":2}},"public_key":"ed25519:Dpr3SxUkfPHKn1gNpV6NxiWKDXfhdcWqEaTZY1Q7JW2"#,
    r#"9","receiver_id":"bob.near","sender_id":"carol.near"}},"signature":"ed25519:2wqwMnaFQeq9"#,
    r#"9Ps7BFcBH7hgRXBdXcf8o3N6Sd49SQ9W8dCoSAKYPsL9YvAmhatr8B7xaCLsdvpeyVfzTPn6S5MP"}},{"Deploy"#,
    r#"Contract":{"code":"zV1JNaSMBnLLBkB7tEO8AIev+UfGuGS6yIaYLHOzAn8="}}],"hash":"6CBKKkTxX5ys"#,
    r#"EM8JP63tkfbbGnzrZb8NfeLhUrV7LFzy","nonce":7,"priority_fee":0,"public_key":"ed25519:Dpr3S"#,
    r#"xUkfPHKn1gNpV6NxiWKDXfhdcWqEaTZY1Q7JW29","receiver_id":"carol.near","signature":"ed25519"#,
    r#":4kcHhZpP96nwVMVQivqGXT3qoiLfr7Svpx4HBr8c6tft6NA44Vu2X7RSKLxmpKrPA3twGztb572Q9bYsWB2Cc4y"#,
    r#"W","signer_id":"alice.near"}"#,
);
/// Version 1, secp256k1: a strict nonce of a gas key
const STRICT: &str = "\
    AQoAAABhbGljZS5uZWFyAcUzHsQaFwBOzqTGQaRhU+Utz0YezaNXk11QAEtaDy3FIL+kTLq48lZ9dOZ2BZMiyGx6\
    etfzmOzVZAl1OLKU5OkBBwAAAAAAAAADAAgAAABib2IubmVhcklqyoDk2PKfuOjNgWw6+0jT8QOXCzou4WAMCMpn\
    Mm3uAQAAAAMBAAAAAAAAAAAAAAAAAAAAAQGYrZSBIAzRHScIGvdDkGQOG3Tp8NaW0hENCzHP2cmyDjqmeQ9B17iK\
    sidj9i4rB/HXnYdjWxKh1LYaYJvwQBukAQ==";
/// Its view
const STRICT_VIEW: &str = concat!(
    r#"{"actions":[{"Transfer":{"deposit":"1"}}],"hash":"DSFMwK4XqdzWtGXMq6h8Jz8Pv3nCAmtCnnGTg5"#,
    r#"mnHVHb","nonce":7,"nonce_index":3,"nonce_mode":"strict","priority_fee":0,"public_key":"s"#,
    r#"ecp256k1:4wg5zJyV7rXrG93oAXptdSZC9dMWicNQuc72BkYhKys1kGmVAYjgCoTbhtHYvBzNCLXXM3VJT3jkCpW"#,
    r#"6t7MtAT68","receiver_id":"bob.near","signature":"secp256k1:EUSs8NreqsZC5HtoLWqMjJ8m9Lhmm"#,
    r#"zX4PR5176uno4fB9GZf9nqBT5e2Tvy7xfR28ngVsAm4aTA1LH5FzC9MHp4FJ","signer_id":"alice.near"}"#,
);

fn decode(text: &str) -> SignedTransaction {
    SignedTransaction::decode(&base64::decode(text, Padding::Required).unwrap()).unwrap()
}

#[test]
fn hash_and_view_match_the_node() {
    let signed = decode(DELEGATES);
    assert_eq!(signed.hash().to_string(), "6CBKKkTxX5ysEM8JP63tkfbbGnzrZb8NfeLhUrV7LFzy");
    assert_eq!(json::write(&signed.view()), DELEGATES_VIEW);
    let signed = decode(STRICT);
    assert_eq!(signed.hash().to_string(), "DSFMwK4XqdzWtGXMq6h8Jz8Pv3nCAmtCnnGTg5mnHVHb");
    assert_eq!(json::write(&signed.view()), STRICT_VIEW);
}

#[test]
fn digests_of_delegate_actions_match_the_node() {
    let signed = decode(DELEGATES);
    let [Action::Delegate(first), Action::DelegateV2(second), Action::NonDelegate(_)] =
        &signed.transaction().actions[..]
    else {
        panic!("{signed:?}");
    };
    let digests = [first.delegate_action.digest(), second.delegate_action.digest()];
    let digests = digests.map(Result::unwrap);
    assert_eq!(digests[0].to_string(), "DNmS37E69Kgz9XfBaWQAyYVEujmKb64sZzcqcqUuvcD6");
    assert_eq!(digests[1].to_string(), "74kTCrzb6mhaGdvEwAdW4nLntaiNDEY4vD5vNxj9X2YP");
    #[cfg(feature = "signatures")]
    assert!(first.verify() && second.verify());
}

#[cfg(feature = "signatures")]
#[test]
fn signatures_are_valid_only_for_their_transaction() {
    let (first, second) = (decode(DELEGATES), decode(STRICT));
    assert!(first.verify() && second.verify());
    let encoded = |signed: &SignedTransaction| EncodedTransaction::new(signed.encode()).unwrap();
    assert_eq!([&first, &second].map(|it| encoded(it).try_verify()), [Some(true), Some(true)]);
    let (mut transaction, signature) = first.into_parts();
    transaction.block_hash = CryptoHash::ZERO;
    let changed = SignedTransaction::new(transaction.clone(), signature).unwrap();
    assert!(!changed.verify());
    assert_eq!(encoded(&changed).try_verify(), Some(false));
    // A signature of another scheme.
    let changed = SignedTransaction::new(transaction, second.signature().clone()).unwrap();
    assert!(!changed.verify());
}

#[cfg(feature = "signatures")]
#[test]
fn secp256k1_requires_the_lower_s_and_a_recovery_id() {
    /// Order of the group, big endian (SEC 2, 2.4.1)
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36,
        0x41, 0x41,
    ];

    let (transaction, signature) = decode(STRICT).into_parts();
    let verify = |bytes: &[u8]| {
        let signature = Signature::new(Scheme::Secp256k1, bytes).unwrap();
        SignedTransaction::new(transaction.clone(), signature).unwrap().verify()
    };
    for recovery_id in 0..=255 {
        let mut bytes = signature.as_bytes().to_vec();
        bytes[64] = recovery_id;
        assert_eq!(verify(&bytes), recovery_id < 4);
    }
    let mut bytes = signature.as_bytes().to_vec();
    let mut borrow = 0;
    for (s, order) in bytes[32..64].iter_mut().zip(ORDER).rev() {
        let digit = i16::from(order) - i16::from(*s) - borrow;
        borrow = i16::from(digit < 0);
        *s = (digit + 256 * borrow) as u8;
    }
    assert!(!verify(&bytes));
}

#[cfg(feature = "signatures")]
#[test]
fn ml_dsa_65_uses_an_empty_context() {
    use ml_dsa::signature::Keypair as _;
    use ml_dsa::{MlDsa65, SigningKey};

    let secret = SigningKey::<MlDsa65>::from_seed(&[7; 32].into());
    let key: Vec<u8> = secret.verifying_key().encode().to_vec();
    let key = PublicKey::new(Scheme::MlDsa65, &key).unwrap();
    let digest = CryptoHash::digest(b"message");
    for (context, fits) in [(&b""[..], true), (b"context", false)] {
        let signature =
            secret.expanded_key().sign_deterministic(digest.as_bytes(), context).unwrap();
        let signature = Signature::new(Scheme::MlDsa65, &signature.encode()).unwrap();
        assert_eq!(super::verify(&signature, &digest, &key), fits);
        assert!(!super::verify(&signature, &CryptoHash::ZERO, &key));
    }
}
