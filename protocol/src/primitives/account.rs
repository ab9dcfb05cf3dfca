//! Account ids.
//!
//! Every [`AccountId`] is syntactically valid; the error of another text names the invalid byte.
//! Whether the account exists is not known here.

use alloc::boxed::Box;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

use super::ParseError;
use super::text::text_serde;

/// A syntactically valid account id: 2 to 64 bytes of `a-z 0-9` with single separators `- _ .`
/// between them
///
/// ```
/// use milepost_protocol::primitives::AccountId;
///
/// let account: AccountId = "alice.near".parse().unwrap();
/// assert!(!account.is_system());
/// let error = "Alice.near".parse::<AccountId>().unwrap_err();
/// assert_eq!(error.to_string(), "'A' at offset 0 cannot be in an account id");
/// ```
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AccountId(Box<str>);

impl AccountId {
    /// The shortest valid account id, in bytes
    pub const MIN_LEN: usize = 2;
    /// The longest valid account id, in bytes
    pub const MAX_LEN: usize = 64;

    /// Checks a text without building an account id
    ///
    /// # Errors
    ///
    /// The first rule that the text breaks, with the byte that breaks it.
    pub fn check(text: &str) -> Result<(), ParseError> {
        if is_valid(text.as_bytes()) {
            return Ok(());
        }
        Self::first_broken_rule(text)
    }

    /// The account id of a text that [`check`](Self::check) accepts
    pub(crate) fn new_unchecked(text: &str) -> Self {
        debug_assert_eq!(Self::check(text), Ok(()));
        Self(text.into())
    }

    #[cold]
    fn first_broken_rule(text: &str) -> Result<(), ParseError> {
        if !(Self::MIN_LEN..=Self::MAX_LEN).contains(&text.len()) {
            return Err(ParseError::AccountLength { found: text.len() });
        }
        let mut after_separator = true;
        for (offset, byte) in text.bytes().enumerate() {
            let separator = match byte {
                b'a'..=b'z' | b'0'..=b'9' => false,
                b'-' | b'_' | b'.' => true,
                _ => return Err(ParseError::AccountByte { byte, offset }),
            };
            if separator && (after_separator || offset + 1 == text.len()) {
                return Err(ParseError::AccountSeparator { byte, offset });
            }
            after_separator = separator;
        }
        Ok(())
    }

    /// Whether this is `system`, the predecessor of refunds, for which no one can sign
    pub fn is_system(&self) -> bool {
        &*self.0 == "system"
    }

    /// The text of the account id
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The class of each byte: 0 for a letter or a digit, [`SEPARATOR`] or [`INVALID`]
const CLASSES: [u8; 256] = {
    let (mut classes, mut byte) = ([INVALID; 256], 0);
    while byte < 256 {
        match byte as u8 {
            b'a'..=b'z' | b'0'..=b'9' => classes[byte] = 0,
            b'-' | b'_' | b'.' => classes[byte] = SEPARATOR,
            _ => {}
        }
        byte += 1;
    }
    classes
};
const SEPARATOR: u8 = 1;
const INVALID: u8 = 2;

/// Whether a text is an account id; no early exit, because nearly all texts are
fn is_valid(text: &[u8]) -> bool {
    // No separator may be first or last, so both ends of the text count as separators.
    let (mut previous, mut errors) = (SEPARATOR, 0);
    for byte in text {
        let class = CLASSES[usize::from(*byte)];
        errors |= class & (previous | INVALID);
        previous = class;
    }
    errors |= previous & SEPARATOR;
    errors == 0 && (AccountId::MIN_LEN..=AccountId::MAX_LEN).contains(&text.len())
}

impl FromStr for AccountId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::check(text).map(|()| Self::new_unchecked(text))
    }
}

impl Deref for AccountId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for AccountId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for AccountId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

text_serde!(AccountId, "an account id");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validity_matches_the_rules() {
        let mut valid = 0;
        let mut check = |text: &str| {
            let is_valid = is_valid(text.as_bytes());
            assert_eq!(is_valid, AccountId::first_broken_rule(text).is_ok(), "{text}");
            valid += u32::from(is_valid);
        };
        for byte in 0..=0x7f_u8 {
            let byte = char::from(byte);
            for (before, after) in
                [("", ""), ("a", ""), ("", "0"), ("z", "9"), ("a.", "a"), ("b", "-c"), ("_", "x")]
            {
                check(&alloc::format!("{before}{byte}{after}"));
            }
        }
        (0..70).for_each(|length| check(&"a".repeat(length)));
        check("é.near");
        assert!(valid > 150, "{valid}");
    }

    #[test]
    fn the_rules_of_account_ids() {
        for good in ["ab", "a_b-c.d", "0u0123456789", "system", "a1.b2.c3"] {
            assert_eq!(AccountId::check(good), Ok(()), "{good}");
        }
        assert_eq!(AccountId::check("a"), Err(ParseError::AccountLength { found: 1 }));
        assert_eq!(AccountId::check(&"a".repeat(65)), Err(ParseError::AccountLength { found: 65 }));
        for (bad, offset) in [("a..b", 2), ("-ab", 0), ("ab.", 2), ("a.-b", 2)] {
            assert!(
                matches!(AccountId::check(bad), Err(ParseError::AccountSeparator { offset: found, .. }) if found == offset),
                "{bad}"
            );
        }
        assert_eq!(AccountId::check("aé"), Err(ParseError::AccountByte { byte: 0xc3, offset: 1 }));
    }
}
