//! Actions of transactions and receipts.
//!
//! A view has only the SHA-256 of deployed code. Actions inside a delegate action have another
//! form, see `NonDelegateAction`.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserializer, MapAccess, Unexpected, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

use super::unknown_fields::{Name, duplicate};
use super::wire::{end_of_variant, wire_enum, write_entry};
use super::{
    AccessKeyView, DelegateAction, GlobalContractIdentifier, UnknownVariant,
    VersionedDelegateActionPayload,
};
use crate::primitives::{AccountId, Balance, Bytes, CryptoHash, Gas, PublicKey, Signature};

wire_enum! {
    /// An action of a transaction or receipt
    pub enum ActionView {
        /// Creates the receiver's account
        CreateAccount,
        /// Deploys a contract to the receiver's account
        DeployContract {
            /// SHA-256 of the code
            code: Bytes,
        },
        /// Calls a function of the receiver's contract
        FunctionCall {
            /// Arguments
            args: Bytes,
            /// Attached deposit, in yoctoNEAR
            deposit: Balance,
            /// Attached gas
            gas: Gas,
            /// Name of the function
            method_name: String,
        },
        /// Transfers tokens to the receiver
        Transfer {
            /// Amount, in yoctoNEAR
            deposit: Balance,
        },
        /// Stakes tokens of the receiver
        Stake {
            /// Key of the validator
            public_key: PublicKey,
            /// Total stake, in yoctoNEAR
            stake: Balance,
        },
        /// Adds an access key
        AddKey {
            /// Permission of the key
            access_key: AccessKeyView,
            /// The key
            public_key: PublicKey,
        },
        /// Deletes an access key
        DeleteKey {
            /// The key
            public_key: PublicKey,
        },
        /// Deletes the receiver's account
        DeleteAccount {
            /// Account that receives the remaining tokens
            beneficiary_id: AccountId,
        },
        /// Executes actions that another account signed
        Delegate {
            /// The signed message
            delegate_action: DelegateAction,
            /// Signature of the sender
            signature: Signature,
        },
        /// Executes actions that another account signed, in a versioned payload
        DelegateV2 {
            /// The signed message
            delegate_action: VersionedDelegateActionPayload,
            /// Signature of the sender
            signature: Signature,
        },
        /// Deploys a global contract, identified by its hash
        DeployGlobalContract {
            /// SHA-256 of the code
            code: Bytes,
        },
        /// Deploys a global contract, identified by the receiver's account id
        DeployGlobalContractByAccountId {
            /// SHA-256 of the code
            code: Bytes,
        },
        /// Uses a global contract, by hash
        UseGlobalContract {
            /// SHA-256 of the code
            code_hash: CryptoHash,
        },
        /// Uses a global contract, by the account that deployed it
        UseGlobalContractByAccountId {
            /// The account that deployed it
            account_id: AccountId,
        },
        /// Creates an account whose id is derived from its code and data
        DeterministicStateInit {
            /// The global contract
            code: GlobalContractIdentifierView,
            /// The initial state
            data: StateInitData,
            /// Attached deposit, in yoctoNEAR
            deposit: Balance,
        },
        /// Transfers tokens to a gas key
        TransferToGasKey {
            /// Amount, in yoctoNEAR
            deposit: Balance,
            /// The key
            public_key: PublicKey,
        },
        /// Withdraws tokens from a gas key
        WithdrawFromGasKey {
            /// Amount, in yoctoNEAR
            amount: Balance,
            /// The key
            public_key: PublicKey,
        },
        /// Creates a universal account
        UniversalStateInit {
            /// Attached deposit, in yoctoNEAR
            deposit: Balance,
            /// The initial state, in borsh
            state_init: Bytes,
        },
    }
}

/// A global contract, by hash or by account; two old forms, a bare hash and a bare account id, are
/// also read
///
/// ```
/// use milepost_protocol::codec::json;
/// use milepost_protocol::views::GlobalContractIdentifierView;
///
/// let old: GlobalContractIdentifierView = json::read("\"factory.near\"").unwrap();
/// assert_eq!(json::write(&old), r#"{"account_id":"factory.near"}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GlobalContractIdentifierView {
    /// SHA-256 of the code
    Hash(CryptoHash),
    /// The account that deployed it
    AccountId(AccountId),
    /// An unknown variant
    Other(Box<UnknownVariant>),
}

impl From<GlobalContractIdentifier> for GlobalContractIdentifierView {
    fn from(identifier: GlobalContractIdentifier) -> Self {
        match identifier {
            GlobalContractIdentifier::Hash(hash) => Self::Hash(hash),
            GlobalContractIdentifier::AccountId(account_id) => Self::AccountId(account_id),
            GlobalContractIdentifier::Other(unknown) => Self::Other(unknown),
        }
    }
}

impl Serialize for GlobalContractIdentifierView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Hash(hash) => write_entry(serializer, "hash", hash),
            Self::AccountId(account_id) => write_entry(serializer, "account_id", account_id),
            Self::Other(unknown) => unknown.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for GlobalContractIdentifierView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdentifierVisitor;

        impl<'de> Visitor<'de> for IdentifierVisitor {
            type Value = GlobalContractIdentifierView;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a global contract, by hash or account id")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                // A text that is valid as both is a hash, as for the node.
                if let Ok(hash) = text.parse() {
                    return Ok(GlobalContractIdentifierView::Hash(hash));
                }
                text.parse()
                    .map(GlobalContractIdentifierView::AccountId)
                    .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let Some(Name(name)) = map.next_key()? else {
                    return Err(serde::de::Error::invalid_length(0, &"one variant"));
                };
                let identifier = match &*name {
                    "hash" => GlobalContractIdentifierView::Hash(map.next_value()?),
                    "account_id" => GlobalContractIdentifierView::AccountId(map.next_value()?),
                    _ => {
                        let value = map.next_value()?;
                        GlobalContractIdentifierView::Other(UnknownVariant::new(&name, Some(value)))
                    }
                };
                end_of_variant(&mut map)?;
                Ok(identifier)
            }
        }

        deserializer.deserialize_any(IdentifierVisitor)
    }
}

/// The initial state of an account: keys and values are bytes, base64 in JSON
///
/// Sorted by bytes here, and by the base64 text in JSON.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a newtype of a map")]
pub struct StateInitData(pub BTreeMap<Bytes, Bytes>);

impl Serialize for StateInitData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries: Vec<(String, &Bytes)> =
            self.0.iter().map(|(key, value)| (key.to_string(), value)).collect();
        entries.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        let mut map = serializer.serialize_map(Some(entries.len()))?;
        for (key, value) in entries {
            map.serialize_entry(&key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for StateInitData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = StateInitData;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of base64 keys and base64 values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StateInitData, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(key) = map.next_key::<Bytes>()? {
                    match entries.entry(key) {
                        Entry::Occupied(entry) => return Err(duplicate(&entry.key().to_string())),
                        Entry::Vacant(entry) => entry.insert(map.next_value()?),
                    };
                }
                Ok(StateInitData(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    #[test]
    fn state_is_sorted_by_base64_and_its_keys_differ_as_bytes() {
        // 0xfb is "+w==", the last as bytes and the first as text.
        let data: StateInitData = json::read(r#"{"AA":"","eg==":"AA","+w==":"AQ=="}"#).unwrap();
        assert_eq!(data.0.keys().map(|key| key[0]).collect::<Vec<_>>(), [0, b'z', 0xfb]);
        assert_eq!(json::write(&data), r#"{"+w==":"AQ==","AA==":"","eg==":"AA=="}"#);
        let error = json::read::<StateInitData>(r#"{"AA":"","AA==":""}"#).unwrap_err();
        assert_eq!(error.detail(), "duplicate member \"AA==\"");
    }

    #[test]
    fn a_text_that_can_be_a_hash_is_a_hash() {
        let read = |text| json::read::<GlobalContractIdentifierView>(text);
        let ones = "\"11111111111111111111111111111111\"";
        assert_eq!(read(ones), Ok(GlobalContractIdentifierView::Hash(CryptoHash::ZERO)));
        assert!(matches!(read("\"1111\""), Ok(GlobalContractIdentifierView::AccountId(_))));
        assert!(read("\"No One\"").is_err());
        assert!(read(r#"{"hash":"1","account_id":"a1"}"#).is_err());
        assert!(matches!(read(r#"{"new":1}"#), Ok(GlobalContractIdentifierView::Other(_))));
    }
}
