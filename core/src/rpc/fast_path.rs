//! Fast path of parsing: a well-formed request in one pass, with the members of its params.
//!
//! Nearly every request takes it. Any other is left to the slow path, which reports what is wrong.
//! One reader for both was built and took 8.6 % more instructions for a request by hash and 6.4 %
//! more for one by bytes. Members are written once, in place, and borrowed from there, because a
//! copy of what was just written costs more than a lookup. What values mean is not known here.

use core::array;

use super::read::{JsonType, Members, RawValue};
use crate::codec::json;
use crate::{Error, ErrorKind};

/// The members of a request object; the readers return them in this order
pub(super) const REQUEST_MEMBERS: [&str; 4] = ["id", "jsonrpc", "method", "params"];

/// A member of params that some method reads
#[derive(Clone, Copy, Debug)]
pub(super) enum Member {
    WaitUntil,
    TxHash,
    SenderAccountId,
    SignedTxBase64,
    Finality,
    BlockId,
    SyncCheckpoint,
}

impl Member {
    /// The names, in the order of the variants
    const NAMES: [&'static str; 7] = [
        "wait_until",
        "tx_hash",
        "sender_account_id",
        "signed_tx_base64",
        "finality",
        "block_id",
        "sync_checkpoint",
    ];

    pub(super) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The values of all [`Member`]s that are in the params of a request
///
/// The method can come after the params, so the one pass collects what any method reads.
#[derive(Debug, Default)]
struct ParamMembers<'a>([Option<RawValue<'a>>; Member::NAMES.len()]);

impl<'a> ParamMembers<'a> {
    /// Reads the object that begins at the cursor; `None` if a member occurs twice
    fn read(&mut self, cursor: &mut json::BorrowedReader<'a>) -> Option<()> {
        cursor.members(&Member::NAMES, |index, cursor| {
            let value = RawValue::next(cursor)?;
            index.map_or(Some(()), |index| set_once(self.0.get_mut(index)?, value))
        })
    }

    #[inline]
    fn value(&self, member: Member) -> Option<RawValue<'a>> {
        self.0.get(member as usize).copied().flatten()
    }
}

/// The members of a request object and those of its params
#[derive(Default)]
pub(super) struct FastRequest<'a> {
    pub(super) id: Option<RawValue<'a>>,
    pub(super) jsonrpc: Option<RawValue<'a>>,
    pub(super) method: Option<RawValue<'a>>,
    params: Option<RawValue<'a>>,
    /// The members of the params, if they are an object
    param_members: ParamMembers<'a>,
}

impl<'a> FastRequest<'a> {
    /// Reads a text in one pass, if it is a request without repeated and without unknown members
    pub(super) fn read(&mut self, text: &'a str) -> Option<()> {
        let mut cursor = json::BorrowedReader::new(text);
        // The index is that in `REQUEST_MEMBERS`.
        cursor.members(&REQUEST_MEMBERS, |index, cursor| match index {
            Some(0) => set_once(&mut self.id, RawValue::next(cursor)?),
            Some(1) => set_once(&mut self.jsonrpc, RawValue::next(cursor)?),
            Some(2) => set_once(&mut self.method, RawValue::next(cursor)?),
            Some(3) => {
                let rest = cursor.rest();
                match rest.as_bytes().first()? {
                    b'{' => self.param_members.read(cursor)?,
                    _ => cursor.value().map(drop)?,
                }
                let text = rest.get(..rest.len() - cursor.rest().len())?;
                set_once(&mut self.params, RawValue::new(text))
            }
            _ => None,
        })?;
        cursor.end()
    }

    /// The params, if there are any
    #[inline]
    pub(super) fn params(&self) -> Option<Params<'a, '_>> {
        let value = self.params?;
        let is_object = value.json_type() == JsonType::Object;
        let members = if is_object { Some(&self.param_members) } else { None };
        Some(Params { value, members })
    }
}

/// Sets the value of a member; `None` if it is set already
#[inline]
fn set_once<T>(member: &mut Option<T>, value: T) -> Option<()> {
    if member.is_some() {
        return None;
    }
    *member = Some(value);
    Some(())
}

/// The params of a request
#[derive(Clone, Copy, Debug)]
pub(super) struct Params<'a, 'members> {
    pub(super) value: RawValue<'a>,
    /// Its members, if it is an object that the fast path read
    members: Option<&'members ParamMembers<'a>>,
}

impl<'a> Params<'a, '_> {
    /// Params whose members are not read yet
    pub(super) const fn new(value: RawValue<'a>) -> Self {
        Self { value, members: None }
    }

    /// The values of these members of the object, of which each may occur once
    #[inline]
    pub(super) fn members<const N: usize>(
        &self,
        members: [Member; N],
    ) -> Result<[Option<RawValue<'a>>; N], Error> {
        match self.members {
            Some(values) => Ok(array::from_fn(|index| values.value(members[index]))),
            None => self.read_members(members.map(Member::name)),
        }
    }

    #[cold]
    fn read_members<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Result<[Option<RawValue<'a>>; N], Error> {
        let mut members = Members::new(names);
        members.read_value(self.value)?;
        match members.duplicate() {
            Some(name) => Err(Error::new(ErrorKind::Schema, "given more than once").at(name)),
            None => Ok(members.values()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_request_is_read_in_one_pass() {
        let text = r#" {"params": {"sender_account_id":"a", "tx_hash":[7],"more":1,"wait_until":null},
            "jsonrpc":"2.0","id":8,"method":"tx"} "#;
        let mut request = FastRequest::default();
        assert_eq!(request.read(text), Some(()));
        let texts = |values: &[Option<RawValue<'_>>]| {
            values.iter().map(|value| value.map_or("", |it| it.text()).into()).collect()
        };
        let found: alloc::vec::Vec<alloc::string::String> =
            texts(&[request.id, request.jsonrpc, request.method]);
        assert_eq!(found, ["8", "\"2.0\"", "\"tx\""]);
        let params = request.params().unwrap();
        assert!(params.members.is_some());
        let names = [Member::TxHash, Member::WaitUntil, Member::SignedTxBase64, Member::BlockId];
        let found: alloc::vec::Vec<alloc::string::String> = texts(&params.members(names).unwrap());
        assert_eq!(found, ["[7]", "null", "", ""]);
        // Of params that are no object only the text is read.
        let mut request = FastRequest::default();
        assert_eq!(request.read(r#"{"params":["tx_hash"]}"#), Some(()));
        let params = request.params().unwrap();
        assert_eq!((params.value.text(), params.members.is_none()), (r#"["tx_hash"]"#, true));
        assert!(FastRequest::default().params().is_none());
    }

    #[test]
    fn any_other_request_is_left_to_the_slow_path() {
        for text in [
            r#"{"id":1,"id":1}"#,
            r#"{"method":"tx","method":"tx"}"#,
            r#"{"params":{"tx_hash":1,"tx_hash":1}}"#,
            r#"{"params":1,"params":1}"#,
            r#"{"more":1}"#,
            r#"{"id":1} 2"#,
            r#"{"params":{"tx_hash":1}"#,
        ] {
            assert_eq!(FastRequest::default().read(text), None, "{text}");
        }
    }
}
