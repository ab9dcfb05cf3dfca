//! Account ids: who signs, who sends, who executes.
//!
//! An [`AccountId`] that exists is valid; a text that is not says at which byte. Whether such an
//! account is there is nobody's business here.

use alloc::boxed::Box;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

use super::ScalarError;
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
    pub const SHORTEST: usize = 2;
    /// The longest valid account id, in bytes
    pub const LONGEST: usize = 64;

    /// Checks the rules without building an account id
    ///
    /// # Errors
    ///
    /// The first rule that is broken, with the byte that breaks it.
    pub fn check(text: &str) -> Result<(), ScalarError> {
        if is_valid(text.as_bytes()) {
            return Ok(());
        }
        Self::first_broken_rule(text)
    }

    /// The account id of a text that [`check`](Self::check) lets pass
    pub(crate) fn of_checked(text: &str) -> Self {
        debug_assert_eq!(Self::check(text), Ok(()));
        Self(text.into())
    }

    #[cold]
    fn first_broken_rule(text: &str) -> Result<(), ScalarError> {
        if !(Self::SHORTEST..=Self::LONGEST).contains(&text.len()) {
            return Err(ScalarError::AccountLength { found: text.len() });
        }
        let mut after_separator = true;
        for (offset, byte) in text.bytes().enumerate() {
            let separator = match byte {
                b'a'..=b'z' | b'0'..=b'9' => false,
                b'-' | b'_' | b'.' => true,
                _ => return Err(ScalarError::AccountByte { byte, offset }),
            };
            if separator && (after_separator || offset + 1 == text.len()) {
                return Err(ScalarError::AccountSeparator { byte, offset });
            }
            after_separator = separator;
        }
        Ok(())
    }

    /// Whether this is the predecessor of refunds, which no one can sign for
    pub fn is_system(&self) -> bool {
        &*self.0 == "system"
    }

    /// The text of the account id
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A letter or a digit, a separator, anything else
const CLASSES: [u8; 256] = {
    let (mut classes, mut byte) = ([OTHER; 256], 0);
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
const OTHER: u8 = 2;

/// Whether a text breaks no rule; without a way out before its end, for most do not
fn is_valid(text: &[u8]) -> bool {
    // A separator may not come first or last, so the places around the text count as ones.
    let (mut before, mut wrong) = (SEPARATOR, 0);
    for byte in text {
        let class = CLASSES[usize::from(*byte)];
        wrong |= class & (before | OTHER);
        before = class;
    }
    wrong |= before & SEPARATOR;
    wrong == 0 && (AccountId::SHORTEST..=AccountId::LONGEST).contains(&text.len())
}

impl FromStr for AccountId {
    type Err = ScalarError;

    fn from_str(text: &str) -> Result<Self, ScalarError> {
        Self::check(text).map(|()| Self::of_checked(text))
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
    fn whoever_breaks_no_rule_is_valid() {
        let mut valid = 0;
        let mut check = |text: &str| {
            let is_valid = is_valid(text.as_bytes());
            assert_eq!(is_valid, AccountId::first_broken_rule(text).is_ok(), "{text}");
            valid += u32::from(is_valid);
        };
        for byte in 0..=0x7f_u8 {
            let byte = char::from(byte);
            for (before, behind) in
                [("", ""), ("a", ""), ("", "0"), ("z", "9"), ("a.", "a"), ("b", "-c"), ("_", "x")]
            {
                check(&alloc::format!("{before}{byte}{behind}"));
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
        assert_eq!(AccountId::check("a"), Err(ScalarError::AccountLength { found: 1 }));
        assert_eq!(
            AccountId::check(&"a".repeat(65)),
            Err(ScalarError::AccountLength { found: 65 })
        );
        for (bad, offset) in [("a..b", 2), ("-ab", 0), ("ab.", 2), ("a.-b", 2)] {
            assert!(
                matches!(AccountId::check(bad), Err(ScalarError::AccountSeparator { offset: found, .. }) if found == offset),
                "{bad}"
            );
        }
        assert_eq!(AccountId::check("aé"), Err(ScalarError::AccountByte { byte: 0xc3, offset: 1 }));
    }
}
