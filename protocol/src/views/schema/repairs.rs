//! Values that do not have the form that a node writes, found while a text is checked.
//!
//! A value with one meaning is rewritten: a number in quotes, an amount without them or with a sign
//! or zeroes before it, `{"CreateAccount":null}`, a bare identifier of a global contract. Any other
//! value is an error with strict types; otherwise it stays as it is and is counted. A missing
//! member and a delegate action inside another are errors in any case. Only texts with such values
//! cost anything here.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::ops::Range;

use super::validate::{Visitor, check_and_find, validate_whole};
use super::{ScalarSchema, Schema};
use crate::Error;
use crate::codec::json::{self, ReadError, Reader};
use crate::primitives::{Balance, CryptoHash};

/// Members whose values have another type and were imported as they came; of a block also
/// transactions and outcomes that it lists again, and that were skipped
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct TypeMismatches {
    /// Their number
    pub count: u64,
    /// The first of them: its place, and what was expected
    pub first: Option<Error>,
}

/// The findings of a check that do not have the form that a node writes
#[derive(Debug)]
pub struct Repairs {
    strict: bool,
    /// Whether `null` is refused where a value is required
    refuses_null: bool,
    /// Whether the text is refused in any case
    is_refused: bool,
    /// The ranges to replace, in order
    edits: Vec<(Range<usize>, String)>,
    type_mismatches: u64,
    first: Option<ReadError>,
}

impl Repairs {
    /// Finds nothing yet; with `strict` types a value that cannot be rewritten is an error
    pub const fn new(strict: bool) -> Self {
        Self {
            strict,
            refuses_null: false,
            is_refused: false,
            edits: Vec::new(),
            type_mismatches: 0,
            first: None,
        }
    }

    /// The same, but `null` is an error where a value is required
    #[must_use]
    pub const fn refusing_null(mut self) -> Self {
        self.refuses_null = true;
        self
    }

    /// The rewritten text, unless the text has the form that a node writes
    #[inline(never)]
    pub fn repaired(&self, text: &str) -> Option<String> {
        if self.edits.is_empty() {
            return None;
        }
        let mut repaired = String::with_capacity(text.len());
        let mut copied = 0;
        for (range, replacement) in &self.edits {
            repaired.push_str(text.get(copied..range.start).unwrap_or_default());
            repaired.push_str(replacement);
            copied = range.end;
        }
        repaired.push_str(text.get(copied..).unwrap_or_default());
        Some(repaired)
    }

    /// Whether something was imported as it came
    #[inline]
    pub const fn has_mismatches(&self) -> bool {
        self.type_mismatches > 0
    }

    /// Adds what was kept as it came to `type_mismatches`; `path` is the place of the text
    pub fn report(
        self,
        text: &str,
        path: &dyn Fn() -> String,
        type_mismatches: &mut TypeMismatches,
    ) {
        type_mismatches.count += self.type_mismatches;
        if let (Some(first), None) = (self.first, &type_mismatches.first) {
            let first = without_offset(&first.into_error(text));
            type_mismatches.first = Some(first.at(path()));
        }
    }

    pub(super) const fn refuse(&mut self) {
        self.is_refused = true;
    }
}

/// The error of a canonical text as an error of the original text: the first one there if types are
/// `strict`, otherwise with the offset if that is known
#[cold]
pub fn locate(schema: &Schema, error: &Error, original: &str, strict: bool) -> Error {
    match check_and_find(schema, original, &[], &mut [], Some(&mut Repairs::new(true))) {
        Err(found) if strict || found.path() == error.path() => found,
        _ => without_offset(error),
    }
}

fn without_offset(error: &Error) -> Error {
    Error::new(error.kind(), error.detail()).at(error.path())
}

/// Moves past a value that is not of its schema, if it is rewritten or kept as it is
#[cold]
#[inline(never)]
pub(super) fn recover(
    schema: &Schema,
    reader: &mut Reader<'_>,
    start: usize,
    error: ReadError,
    visitor: &mut Visitor<'_, '_>,
) -> Result<(), ReadError> {
    let Some(repairs) = visitor.repairs.as_deref_mut().filter(|repairs| !repairs.is_refused) else {
        return Err(error);
    };
    reader.rewind(start);
    let value = reader.raw()?;
    if let Some(repaired) = repaired(schema, value) {
        repairs.edits.push((reader.offset() - value.len()..reader.offset(), repaired));
        return Ok(());
    }
    if repairs.strict || repairs.refuses_null && value == "null" {
        repairs.refuse();
        return Err(error);
    }
    repairs.type_mismatches += 1;
    repairs.first.get_or_insert(error);
    Ok(())
}

/// The value in the form that a node writes, if it has one meaning
fn repaired(schema: &Schema, value: &str) -> Option<String> {
    let quoted = Reader::new(value).text("").ok();
    let unquoted = quoted.as_deref().unwrap_or(value);
    let text = match schema {
        Schema::Text { expected, .. } if *expected == Balance::EXPECTED => {
            json::write(decimal(unquoted)?)
        }
        Schema::Scalar(ScalarSchema::GasText) => json::write(decimal(unquoted)?),
        Schema::Scalar(ScalarSchema::Identifier) => {
            let is_hash = quoted.as_ref()?.parse::<CryptoHash>().is_ok();
            let key = if is_hash { "{\"hash\":" } else { "{\"account_id\":" };
            [key, value, "}"].concat()
        }
        Schema::Scalar(
            ScalarSchema::U8
            | ScalarSchema::U16
            | ScalarSchema::U32
            | ScalarSchema::U64
            | ScalarSchema::I32
            | ScalarSchema::Fraction
            | ScalarSchema::Gas,
        ) => decimal(unquoted).unwrap_or(unquoted).to_string(),
        Schema::Enum { .. } => {
            let mut variant = Reader::new(value);
            variant.open_object("").ok()?;
            let name = variant.key(true).ok()??;
            variant.colon().ok()?;
            if !variant.null().ok()? || variant.key(false).ok()?.is_some() {
                return None;
            }
            json::write(&*name)
        }
        _ => return None,
    };
    // Its range is checked here.
    let mut visitor = Visitor { levels: 0, visit: &mut |_, _| {}, repairs: None };
    validate_whole(schema, &text, &mut visitor).ok().map(|()| text)
}

/// The digits without a sign and zeroes before them; `None` if there are other characters
fn decimal(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let zeroes = digits.bytes().take_while(|digit| *digit == b'0').count();
    digits.get(zeroes.min(digits.len() - 1)..)
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::views::schema::{HasSchema, check};
    use crate::views::{ActionView, DataReceiverView, ExecutionMetadataView, ExecutionOutcomeView};

    /// The repaired text and the type mismatches; the error with strict types
    fn repair<T: HasSchema>(text: &str) -> Result<(String, TypeMismatches), Error> {
        check_and_find(T::SCHEMA, text, &[], &mut [], Some(&mut Repairs::new(true)))?;
        Ok(read_leniently::<T>(text).unwrap())
    }

    /// The repaired text and the type mismatches without strict types
    fn read_leniently<T: HasSchema>(text: &str) -> Result<(String, TypeMismatches), Error> {
        let mut repairs = Repairs::new(false);
        check_and_find(T::SCHEMA, text, &[], &mut [], Some(&mut repairs))?;
        let repaired = repairs.repaired(text).unwrap_or_else(|| text.to_string());
        let mut type_mismatches = TypeMismatches::default();
        repairs.report(text, &String::new, &mut type_mismatches);
        Ok((repaired, type_mismatches))
    }

    #[test]
    fn a_value_with_one_meaning_gets_the_form_that_a_node_writes() {
        const INIT: &str = r#"{"DeterministicStateInit":{"code":CODE,"data":{},"deposit":"1"}}"#;
        let call =
            r#"{"FunctionCall":{"args":"","deposit":DEPOSIT,"gas":GAS,"method_name":"007"}}"#;
        let call = |deposit, gas| call.replace("DEPOSIT", deposit).replace("GAS", gas);
        let hash = "11111111111111111111111111111111";
        for (text, written) in [
            (call(r#""+7""#, r#""30""#), call(r#""7""#, "30")),
            (call("0", r#""+030""#), call(r#""0""#, "30")),
            (call(r#""007""#, "1"), call(r#""7""#, "1")),
            (
                call("340282366920938463463374607431768211455", "1"),
                call(r#""340282366920938463463374607431768211455""#, "1"),
            ),
            (r#"{"CreateAccount":null}"#.to_string(), r#""CreateAccount""#.to_string()),
            (
                INIT.replace("CODE", r#""a.near""#),
                INIT.replace("CODE", r#"{"account_id":"a.near"}"#),
            ),
            (
                INIT.replace("CODE", &format!("\"{hash}\"")),
                INIT.replace("CODE", &format!(r#"{{"hash":"{hash}"}}"#)),
            ),
        ] {
            assert_eq!(
                repair::<ActionView>(&text),
                Ok((written.clone(), TypeMismatches::default()))
            );
            assert_eq!(repair::<ActionView>(&written).unwrap().0, written);
        }
        let profile =
            r#"{"gas_profile":[{"cost":"C","cost_category":"X","gas_used":7}],"version":"3"}"#;
        let written =
            r#"{"gas_profile":[{"cost":"C","cost_category":"X","gas_used":"7"}],"version":3}"#;
        assert_eq!(repair::<ExecutionMetadataView>(profile).unwrap().0, written);
        let written =
            r#"{"gas_profile":[{"cost":"C","cost_category":"X","gas_used":"0"}],"version":3}"#;
        let profile = written.replace(r#""0""#, r#""+00""#);
        assert_eq!(repair::<ExecutionMetadataView>(&profile).unwrap().0, written);
    }

    #[test]
    fn any_other_value_is_counted_unless_types_are_strict() {
        let action = r#"{"FunctionCall":{"args":[1],"deposit":"-1","gas":"1.5","method_name":{}}}"#;
        let (text, type_mismatches) = read_leniently::<ActionView>(action).unwrap();
        assert_eq!((&*text, type_mismatches.count), (action, 4));
        let first = type_mismatches.first.unwrap();
        assert_eq!((first.path(), first.offset()), ("FunctionCall.args", None));
        let error = repair::<ActionView>(action).unwrap_err();
        assert_eq!((error.path(), error.detail()), (first.path(), first.detail()));

        let two = r#"{"CreateAccount":null,"Transfer":{}}"#;
        assert_eq!(read_leniently::<ActionView>(two).unwrap().0, two);

        // A member that is missing is no member of another type.
        let missing = r#"{"FunctionCall":{"args":[1],"gas":"30"}}"#;
        let error = read_leniently::<ActionView>(missing).unwrap_err();
        assert_eq!((error.path(), error.detail()), ("FunctionCall", "missing field `deposit`"));

        let null = r#"{"version":null}"#;
        assert_eq!(read_leniently::<ExecutionMetadataView>(null).unwrap().1.count, 1);
        let mut repairs = Repairs::new(false).refusing_null();
        let error =
            check_and_find(ExecutionMetadataView::SCHEMA, null, &[], &mut [], Some(&mut repairs));
        assert_eq!(error.unwrap_err().path(), "version");
        assert!(read_leniently::<DataReceiverView>("7").unwrap().1.count == 1);
    }

    #[test]
    fn a_delegate_action_inside_another_is_refused() {
        for (nested, path) in [
            (r#"{"Delegate":{}}"#, "[0].Delegate"),
            (r#"{"DelegateV2":null}"#, "[0].DelegateV2"),
            (r#""Delegate""#, "[0]"),
        ] {
            for text in [
                format!(r#"{{"Delegate":{{"delegate_action":{{"actions":[{nested}]}}}}}}"#),
                format!(
                    r#"{{"DelegateV2":{{"delegate_action":{{"V2":{{"actions":[{nested}]}}}}}}}}"#
                ),
            ] {
                let error = check::<ActionView>(&text).unwrap_err();
                assert_eq!(error.detail(), "a delegate action inside a delegate action");
                assert!(error.path().ends_with(&format!("actions{path}")), "{error}");
                assert_eq!(json::read::<ActionView>(&text).unwrap_err(), error);
                assert_eq!(repair::<ActionView>(&text).unwrap_err(), error);
                assert_eq!(read_leniently::<ActionView>(&text).unwrap_err(), error);
            }
        }
        // Anything else that is not known passes, also one level up.
        let unknown = r#"{"Delegate":{"delegate_action":{"actions":["Later"],"max_block_height":1,"nonce":1,"public_key":"ed25519:11111111111111111111111111111111","receiver_id":"aa","sender_id":"aa"},"signature":7}}"#;
        assert_eq!(read_leniently::<ActionView>(unknown).unwrap().1.count, 1);
    }

    #[test]
    fn a_number_of_any_length_costs_one_pass() {
        let zeroes = "0".repeat(1 << 20);
        let text = format!(r#"{{"Transfer":{{"deposit":"{zeroes}7"}}}}"#);
        let repaired = r#"{"Transfer":{"deposit":"7"}}"#;
        assert_eq!(repair::<ActionView>(&text).unwrap().0, repaired);
        let (text, type_mismatches) = read_leniently::<ExecutionOutcomeView>(&zeroes[..1]).unwrap();
        assert_eq!((&*text, type_mismatches.count), ("0", 1));
    }

    #[test]
    fn what_stays_as_it_came_is_a_mismatch_and_what_is_rewritten_is_none() {
        use crate::primitives::{AccountId, Balance, CryptoHash};

        fn found<T: HasSchema>(text: &str) -> (Option<String>, bool) {
            let mut repairs = Repairs::new(false);
            check_and_find(T::SCHEMA, text, &[], &mut [], Some(&mut repairs)).unwrap();
            (repairs.repaired(text), repairs.has_mismatches())
        }

        assert_eq!(found::<Balance>("77"), (Some("\"77\"".into()), false));
        assert_eq!(found::<Balance>("\"77\""), (None, false));
        // Only amounts are quoted.
        assert_eq!(found::<AccountId>("77"), (None, true));
        assert_eq!(found::<CryptoHash>("77"), (None, true));
    }
}
