//! A plain request in one pass: its members, and those of its params.
//!
//! Nearly every request is plain; whatever is not is left to readers that are slower and say what is
//! wrong. Everything is filled where it lies and lent from there, for to copy what was just written costs
//! more than to find it. What the values mean is not known here.

use core::array;

use super::read::{Kind, Members, Text, kind};
use super::request::REQUEST_MEMBERS;
use crate::codec::json;
use crate::{Error, ErrorKind};

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
    /// The names, in the order of the members
    const NAMES: [&'static str; 7] = [
        "wait_until",
        "tx_hash",
        "sender_account_id",
        "signed_tx_base64",
        "finality",
        "block_id",
        "sync_checkpoint",
    ];

    /// The name of the member
    pub(super) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The members of params that some method reads, as they were found in a plain request
///
/// Whoever reads a request passes over its params, and which method they are for may stand behind
/// them, so all that methods look for is kept on the way.
#[derive(Debug, Default)]
pub(super) struct Found<'a>([Option<Text<'a>>; Member::NAMES.len()]);

impl<'a> Found<'a> {
    /// Reads the object that begins here; none if one of the members is there twice
    fn read(&mut self, cursor: &mut json::Plain<'a>) -> Option<()> {
        cursor.members(&Member::NAMES, |place, cursor| {
            let value = Text::next(cursor)?;
            place.map_or(Some(()), |place| set(self.0.get_mut(place)?, value))
        })
    }

    /// The value of a member
    #[inline]
    fn value(&self, member: Member) -> Option<Text<'a>> {
        self.0.get(member as usize).copied().flatten()
    }
}

/// A request object that is plain: its members, and those of its params
#[derive(Default)]
pub(super) struct PlainRequest<'a> {
    pub(super) id: Option<Text<'a>>,
    pub(super) jsonrpc: Option<Text<'a>>,
    pub(super) method: Option<Text<'a>>,
    params: Option<Text<'a>>,
    /// The members of the params, if these are an object
    found: Found<'a>,
}

impl<'a> PlainRequest<'a> {
    /// Reads a text in one pass, if it holds a plain request without members that are there twice or
    /// that no request has
    pub(super) fn read(&mut self, text: &'a str) -> Option<()> {
        let mut cursor = json::Plain::new(text);
        // By their places among `REQUEST_MEMBERS`.
        cursor.members(&REQUEST_MEMBERS, |place, cursor| match place {
            Some(0) => set(&mut self.id, Text::next(cursor)?),
            Some(1) => set(&mut self.jsonrpc, Text::next(cursor)?),
            Some(2) => set(&mut self.method, Text::next(cursor)?),
            Some(3) => {
                let rest = cursor.rest();
                match rest.as_bytes().first()? {
                    b'{' => self.found.read(cursor)?,
                    _ => cursor.value().map(drop)?,
                }
                let text = rest.get(..rest.len() - cursor.rest().len())?;
                set(&mut self.params, Text::of(text))
            }
            _ => None,
        })?;
        cursor.end()
    }

    /// The params, if there are any
    #[inline]
    pub(super) fn params(&self) -> Option<Params<'a, '_>> {
        let text = self.params?;
        let found = if kind(text) == Kind::Object { Some(&self.found) } else { None };
        Some(Params { text, found })
    }
}

/// Sets the value of a member that was not there before
#[inline]
fn set<T>(place: &mut Option<T>, value: T) -> Option<()> {
    if place.is_some() {
        return None;
    }
    *place = Some(value);
    Some(())
}

/// The params of a request
#[derive(Clone, Copy, Debug)]
pub(super) struct Params<'a, 'found> {
    pub(super) text: Text<'a>,
    /// Its members, if it is an object and they were found on the way
    found: Option<&'found Found<'a>>,
}

impl<'a> Params<'a, '_> {
    /// Params whose members are still to be found
    pub(super) const fn new(text: Text<'a>) -> Self {
        Self { text, found: None }
    }

    /// The values of these members of the object, of which each may be there once
    #[inline]
    pub(super) fn members<const N: usize>(
        &self,
        members: [Member; N],
    ) -> Result<[Option<Text<'a>>; N], Error> {
        match self.found {
            Some(found) => Ok(array::from_fn(|place| found.value(members[place]))),
            None => self.find(members.map(Member::name)),
        }
    }

    #[cold]
    fn find<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Result<[Option<Text<'a>>; N], Error> {
        let mut members = Members::new(names);
        members.read_value(self.text)?;
        match members.repeated() {
            Some(name) => Err(Error::new(ErrorKind::Shape, "given more than once").at(name)),
            None => Ok(members.found()),
        }
    }
}
