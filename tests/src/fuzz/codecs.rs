//! Codecs beside published ones, and signed transactions.
//!
//! Our readers must accept what the published ones accept, with the same value, and refuse the
//! rest. Error texts are not compared.

use data_encoding::{BASE64, BASE64_NOPAD};
use milepost::codec::base64::Padding;
use milepost::codec::{base58 as ours58, base64 as ours64, json};
use milepost::transaction::{EncodedTransaction, SignedTransaction};
use milepost::views::ActionView;

use super::exact_json::ExactJson;

/// Base58 of hashes, keys and signatures, beside `bs58`
pub fn base58(data: &[u8]) {
    let mut text = String::new();
    ours58::encode(data, &mut text);
    assert_eq!(text, bs58::encode(data).into_string());

    let Ok(text) = str::from_utf8(data) else { return };
    let theirs = bs58::decode(text).into_vec().ok();
    let of_length = |length| theirs.as_ref().filter(|bytes| bytes.len() == length);
    assert_eq!(
        ours58::decode::<32>(text).ok().as_ref().map(|it| &it[..]),
        of_length(32).map(|it| &it[..])
    );
    assert_eq!(
        ours58::decode::<64>(text).ok().as_ref().map(|it| &it[..]),
        of_length(64).map(|it| &it[..])
    );
}

/// Base64, beside `data-encoding`; ours is of the crate `base64`
pub fn base64(data: &[u8]) {
    let mut text = String::new();
    ours64::encode(data, &mut text);
    assert_eq!(text, BASE64.encode(data));
    assert_eq!(ours64::decode(&text, Padding::Required).as_deref(), Ok(data));
    assert_eq!(ours64::decode(text.trim_end_matches('='), Padding::Optional).as_deref(), Ok(data));

    // The other one also reads padded texts that follow each other.
    let Ok(text) = str::from_utf8(data) else { return };
    let symbols = text.trim_end_matches('=');
    let theirs = BASE64.decode(data).ok().filter(|_| !symbols.contains('='));
    assert_eq!(ours64::decode(text, Padding::Required).ok(), theirs);
    // Some of the padding may be missing, and none may be too much.
    let has_room = symbols.len() % 4 + text.len() - symbols.len() <= 4;
    let is_padded = symbols.len() < text.len();
    let theirs = BASE64_NOPAD.decode(symbols.as_bytes()).ok();
    let theirs = theirs.filter(|_| !is_padded || has_room && symbols.len() % 4 != 0);
    assert_eq!(ours64::decode(text, Padding::Optional).ok(), theirs);
}

/// Canonical JSON, beside `serde_json`: the same texts are JSON, with the same value, but only we
/// refuse two members of one name
pub fn canonical_json(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut canonical = String::new();
    match (ExactJson::read(text), json::canonical(text, &mut canonical)) {
        (Some(value), Ok(())) => {
            let again = ExactJson::read(&canonical).expect("canonical text is JSON");
            assert_eq!(again, value);
            let mut twice = String::new();
            json::canonical(&canonical, &mut twice).expect("canonical text is accepted");
            assert_eq!(twice, canonical);
        }
        // It keeps the last of two members of one name.
        (Some(value), Err(error)) => assert!(
            error.detail().starts_with("duplicate member")
                && members_of_text(text) > value.members(),
            "refused: {error}"
        ),
        (None, Ok(())) => panic!("accepted: {canonical}"),
        (None, Err(_)) => {}
    }
}

/// The members of all objects in a text that is JSON: the colons outside of strings
fn members_of_text(text: &str) -> usize {
    let mut bytes = text.bytes();
    let (mut members, mut is_string) = (0, false);
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_string = !is_string,
            b'\\' => _ = bytes.next(),
            b':' if !is_string => members += 1,
            _ => {}
        }
    }
    members
}

/// A signed transaction: both readers agree, its encoding is read as the same transaction, and its
/// actions are JSON
pub fn signed_transaction(data: &[u8]) {
    let Ok(transaction) = SignedTransaction::decode(data) else {
        // The lazy reader accepts keys of maps out of order and no more.
        assert!(EncodedTransaction::new(data.to_vec()).is_err());
        return;
    };
    let encoded = EncodedTransaction::new(data.to_vec()).expect("a transaction");
    assert_eq!(encoded.hash(), transaction.hash());
    assert_eq!(encoded.signer_id(), transaction.signer_id().as_str());
    assert_eq!(encoded.try_verify(), transaction.try_verify());
    let bytes = transaction.encode();
    assert_eq!(SignedTransaction::decode(&bytes).as_ref(), Ok(&transaction));
    for action in transaction.into_parts().0.actions {
        let text = json::write(&action.into_view());
        json::read::<ActionView>(&text).expect("an action's view is read");
    }
}
