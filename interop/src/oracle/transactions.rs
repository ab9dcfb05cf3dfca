//! Signed transactions as bytes: both sides accept and reject the same, and read the same.
//!
//! What differs panics, since every caller is a test. Signatures are checked by the tests alone:
//! most changed bytes have none that is valid.

use milepost::codec::json;
use milepost::transaction::{EncodedTransaction, SignedTransaction};
use near_primitives::transaction as near;
use near_primitives::views as near_views;

/// What both sides make of bytes
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decoded {
    /// A transaction, which both write as the same bytes
    Accepted,
    /// A transaction whose keys of a map are out of order, which both write in order
    OutOfOrder,
    /// None
    Rejected,
}

/// Compares everything about a transaction except the validity of signatures
///
/// # Panics
///
/// When anything differs.
pub fn compare(ours: &SignedTransaction, theirs: &near::SignedTransaction, bytes: &[u8]) {
    assert_eq!(ours.encode(), bytes);
    assert_eq!(ours.hash().to_string(), theirs.get_hash().to_string());
    assert_eq!(ours.transaction().hash(), Ok(ours.hash()));
    assert_eq!(ours.signer_id().as_str(), theirs.transaction.signer_id().as_str());
    assert_eq!(ours.receiver_id().as_str(), theirs.transaction.receiver_id().as_str());
    let view = near_views::SignedTransactionView::from(theirs.clone());
    let view = serde_json::to_string(&view).expect("a view is JSON");
    let mut canonical = String::new();
    json::canonical(&view, &mut canonical).expect("it is valid");
    assert_eq!(json::write(&ours.view()), canonical);
}

/// Decodes bytes with both sides, and compares what they are, with the view of a transaction if
/// `with_views`
///
/// # Panics
///
/// When anything differs.
pub fn compare_bytes(bytes: &[u8], with_views: bool) -> Decoded {
    let theirs = borsh::from_slice::<near::SignedTransaction>(bytes);
    let ours = SignedTransaction::decode(bytes);
    match (&ours, EncodedTransaction::new(bytes.to_vec())) {
        (Ok(ours), Ok(encoded)) => {
            assert_eq!(encoded.hash(), ours.hash());
            assert_eq!(encoded.signer_id(), ours.signer_id().as_str());
            assert_eq!(encoded.decode(), *ours);
        }
        (ours, encoded) => {
            assert_eq!(encoded.err().as_ref(), ours.as_ref().err(), "{bytes:02x?}");
        }
    }
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let encoded = ours.encode();
            assert_eq!(encoded, borsh::to_vec(&theirs).expect("a transaction is written"));
            assert_eq!(ours.hash().to_string(), theirs.get_hash().to_string());
            if with_views {
                compare(&ours, &theirs, &encoded);
            }
            if encoded == bytes { Decoded::Accepted } else { Decoded::OutOfOrder }
        }
        (Err(error), Err(_)) => {
            assert!(error.offset().is_some_and(|offset| offset <= bytes.len()), "{error}");
            Decoded::Rejected
        }
        (Err(error), Ok(_)) => panic!("the node reads {bytes:02x?}: {error}"),
        (Ok(_), Err(error)) => panic!("the node rejects {bytes:02x?}: {error}"),
    }
}
