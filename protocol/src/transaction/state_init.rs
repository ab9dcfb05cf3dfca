//! The id of an account that its initial state determines.
//!
//! It is `0s` and the last 20 bytes, in hex, of the Keccak-256 of the state's borsh encoding, with
//! the keys of the map in order. Ids of universal accounts are derived in another way.

use alloc::string::ToString as _;
use core::fmt::Write as _;

use sha3::{Digest as _, Keccak256};

use super::write;
use crate::codec::borsh::Writer;
use crate::primitives::AccountId;
use crate::views::DeterministicAccountStateInit;

/// The id of the account with this initial state; `None` if the state has no encoding
pub(crate) fn derive_account_id(state: &DeterministicAccountStateInit) -> Option<AccountId> {
    let mut writer = Writer::default();
    write::state_init(&mut writer, state).ok()?;
    let hash = Keccak256::digest(writer.into_bytes());
    let mut id = "0s".to_string();
    hash.iter().skip(12).try_for_each(|byte| write!(id, "{byte:02x}")).ok()?;
    id.parse().ok()
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::codec::json;

    #[test]
    fn an_id_is_derived_from_code_and_data() {
        // The ids were computed by another implementation of Keccak-256.
        let long = "dnZ2".repeat(66) + "dnY=";
        for (code, data, id) in [
            (r#"{"account_id":"code.near"}"#, "{}", "0s8940d0a7d04dab7ba31a5fe625c80c39fcd9bbac"),
            (
                r#"{"account_id":"code.near"}"#,
                r#"{"/wA=":"Mw==","Yg==":"MTI="}"#,
                "0seb45bc189c394b323df73749308dc574462a26c4",
            ),
            // More than one block of the hash
            (
                r#"{"hash":"1thX6LZfHDZZKUs92febYZhYRcXddmzfzF2NvTkPNE"}"#,
                &*format!(r#"{{"a2V5":"{long}"}}"#),
                "0sea5fe7603bb30a2a3f7d22bcf204193e52ef7d61",
            ),
        ] {
            let text = format!(r#"{{"V1":{{"code":{code},"data":{data}}}}}"#);
            let state = json::read(&text).unwrap();
            assert_eq!(derive_account_id(&state).unwrap().as_str(), id, "{text}");
        }
        let later = json::read(r#"{"V2":7}"#).unwrap();
        assert_eq!(derive_account_id(&later), None);
    }
}
