//! Metadata of an execution: the gas profile and the contracts.
//!
//! Version 1 has neither; versions 2 and 3 have a profile; version 4 also has contracts.

use alloc::string::String;
use alloc::vec::Vec;

use super::UnknownFields;
use super::wire::{wire_enum, wire_struct};
use crate::primitives::{AccountId, CryptoHash, GasText};

wire_struct! {
    /// Metadata of an execution; the default is version 1, which is empty
    pub struct ExecutionMetadataView {
        /// The contract of the receiver's account before each action; from version 4 on
        pub contracts: Option<Vec<Option<AccountContractView>>> = omitted,
        /// Gas by cost, sorted by category and cost; `None` in version 1
        pub gas_profile: Option<Vec<CostGasUsed>> = null,
        /// Version of the metadata, 1 to 4 so far
        pub version: u32,
    }
}

impl Default for ExecutionMetadataView {
    fn default() -> Self {
        Self {
            contracts: None,
            gas_profile: None,
            version: 1,
            unknown_fields: UnknownFields::new(),
        }
    }
}

wire_struct! {
    /// An entry of a gas profile
    pub struct CostGasUsed {
        /// Name of the cost, such as `FUNCTION_CALL_BASE`
        pub cost: String,
        /// `ACTION_COST` or `WASM_HOST_COST`
        pub cost_category: String,
        /// Gas used
        pub gas_used: GasText,
    }
}

wire_enum! {
    /// The contract of an account
    pub enum AccountContractView {
        /// A local contract, by the hash of its code
        Local as "local"(CryptoHash),
        /// A global contract, by the hash of its code
        GlobalHash as "global_hash"(CryptoHash),
        /// A global contract, by the account that deployed it
        GlobalAccountId as "global_account_id"(AccountId),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::codec::json::{read, write};

    #[test]
    fn unknown_members_are_kept_in_order() {
        let text = r#"{"a":{"y":1,"x":[]},"contracts":[null,{"new":2},"bare"],"gas_profile":[{"cost":"C","cost_category":"X","gas_used":7,"z":0}],"h":1.50,"version":9,"w":null}"#;
        let view: ExecutionMetadataView = read(text).unwrap();
        assert_eq!(view.unknown_fields.len(), 3);
        assert_eq!(view.contracts.as_ref().unwrap()[1].as_ref().unwrap().name(), "new");
        let normal = text.replace(r#"{"y":1,"x":[]}"#, r#"{"x":[],"y":1}"#).replace("7", "\"7\"");
        assert_eq!(write(&view), normal);
    }

    #[test]
    fn unknown_members_are_limited_and_validated() {
        let deep = alloc::format!(r#"{{"x":{}{},"version":1}}"#, "[".repeat(128), "]".repeat(128));
        let error = read::<ExecutionMetadataView>(&deep).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Limit, "x"));
        let twice = r#"{"x":{"a":1,"a":2},"version":1}"#;
        let error = read::<ExecutionMetadataView>(twice).unwrap_err();
        assert_eq!((error.detail(), error.path()), ("duplicate member \"a\"", "x"));
    }

    #[test]
    fn a_known_member_is_written_once() {
        let mut view = ExecutionMetadataView::default();
        let one = super::super::RawJson::from_text("[1]").unwrap();
        view.unknown_fields.insert("version", one.clone());
        view.unknown_fields.insert("contracts", one);
        assert_eq!(write(&view), r#"{"contracts":[1],"gas_profile":null,"version":1}"#);
    }

    #[test]
    fn duplicates_and_wrong_forms_are_rejected() {
        let rejected = [
            (r#"{"version":1,"version":1}"#, "duplicate member \"version\""),
            (r#"{"x":1,"version":1,"\u0078":1}"#, "duplicate member \"x\""),
            (r#"{"gas_profile":null}"#, "missing field `version`"),
            (r#"[null,1]"#, "invalid type: array, expected an object for ExecutionMetadataView"),
            (
                r#"{"version":4,"contracts":["local"]}"#,
                "invalid type: unit variant, expected a value for local",
            ),
            (
                r#"{"version":4,"contracts":[{"a":1,"b":2}]}"#,
                "one variant expected, found \"b\" as well",
            ),
            (r#"{"version":4,"contracts":[{}]}"#, "invalid length 0, expected one variant"),
        ];
        for (text, detail) in rejected {
            let error = read::<ExecutionMetadataView>(text).unwrap_err();
            assert_eq!(error.detail(), detail, "{text}");
        }
    }
}
