//! Several rows of one key: which one is served, and whether another is added.
//!
//! Every archive decides by these two functions, so all decide alike. A transaction that was
//! refused and then executed has both rows, of which the execution is served; of refusals in
//! several blocks, that in the first of them.

use core::cmp::Ordering;

use super::{Envelope, content_hash};
use crate::storage::{Key, Row, Table};
use crate::{Error, ErrorKind};

/// The row that a key serves, of all that it holds; `None` if it holds none
///
/// The rows must have one content. The refusals of a transaction are passed over if there is its
/// execution, and those after the first one on the chain, whichever was put first.
///
/// # Errors
///
/// [`ErrorKind::Conflict`] if two of them differ in content otherwise, and those of
/// [`Envelope::decode`](super::Envelope::decode).
pub fn served_row(key: &Key, rows: impl IntoIterator<Item = Row>) -> Result<Option<Row>, Error> {
    let mut rows = rows.into_iter();
    let Some(mut served) = rows.next() else { return Ok(None) };
    for row in rows {
        if is_preferred(&row, &served).map_err(|error| error.at(format_args!("{key:?}")))? {
            served = row;
        }
    }
    content_hash(&served).map_err(|error| error.at(format_args!("{key:?}")))?;
    Ok(Some(served))
}

/// Whether a row is served in place of one that came before it
fn is_preferred(row: &[u8], first: &[u8]) -> Result<bool, Error> {
    let [row, first] = [row, first].map(|row| Envelope::decode(Table::ArchivedTransactions, row));
    let (row, first) = (row?, first?);
    if row.content_hash == first.content_hash {
        return Ok(false);
    }
    // An execution, which has no such height, is before every refusal.
    match row.refused_at.cmp(&first.refused_at) {
        Ordering::Less => Ok(true),
        Ordering::Greater => Ok(false),
        Ordering::Equal => {
            Err(Error::new(ErrorKind::Conflict, "two writers have put different content"))
        }
    }
}

/// Whether a row has to be kept beside the rows that its key holds: it is the first with this
/// content
///
/// # Errors
///
/// As [`Envelope::decode`](super::Envelope::decode) about the row that is put. A row that is there
/// and malformed is another content.
pub fn is_new_content<'row>(
    row: &[u8],
    existing: impl IntoIterator<Item = &'row [u8]>,
) -> Result<bool, Error> {
    let hash = content_hash(row)?;
    Ok(!existing.into_iter().any(|other| content_hash(other).is_ok_and(|other| other == hash)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{Origin, WriterId, envelope::plain_row};
    use crate::primitives::{BlockHeight, CryptoHash};

    const KEY: Key = Key::hash(Table::ArchivedTransactions, CryptoHash::ZERO);

    fn row(writer: u64, content: &[u8]) -> Row {
        plain_row(Origin::of(WriterId(writer)), content)
    }

    fn refusal(height: BlockHeight, content: &[u8]) -> Row {
        let plain = Envelope::plain(Origin::of(WriterId(1)), content);
        Envelope { refused_at: Some(height), ..plain }.encode().into()
    }

    #[test]
    fn rows_of_the_same_content_are_one() {
        let [one, other] = [1, 2].map(|writer| row(writer, b"content"));
        assert_eq!(served_row(&KEY, []).unwrap(), None);
        let served = served_row(&KEY, [one.clone(), other.clone()]).unwrap();
        assert_eq!(served, Some(one.clone()));
        assert!(!is_new_content(&other, [&one[..]]).unwrap());
        assert!(is_new_content(&one, []).unwrap());
    }

    #[test]
    fn two_contents_are_a_conflict() {
        let rows = [row(1, b"content"), row(2, b"another")];
        let error = served_row(&KEY, rows.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.path().starts_with("archived_transactions/000000"), "{error}");
        assert!(is_new_content(&rows[1], [&rows[0][..]]).unwrap());
        let malformed = [row(1, b"content"), Row::from(&row(1, b"content")[..1])];
        assert_eq!(served_row(&KEY, malformed).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn an_execution_is_served_beside_refusals() {
        let [one, other] = [refusal(7, b"refused"), refusal(9, b"refused again")];
        let executed = row(2, b"executed");
        for rows in [
            [&one, &other, &executed],
            [&one, &executed, &other],
            [&executed, &one, &other],
            [&executed, &executed, &one],
        ] {
            let served = served_row(&KEY, rows.map(Clone::clone)).unwrap();
            assert_eq!(served.as_ref(), Some(&executed));
        }
        assert!(is_new_content(&executed, [&one[..]]).unwrap());
        // Two executions are a conflict also beside a refusal.
        let rows = [one, executed, row(2, b"executed again")];
        assert_eq!(served_row(&KEY, rows).unwrap_err().kind(), ErrorKind::Conflict);
    }

    #[test]
    fn the_first_of_several_refusals_is_served_and_two_of_one_height_are_a_conflict() {
        let rows = [(7, &b"one"[..]), (8, b"two"), (300, b"three")];
        let rows = rows.map(|(height, content)| refusal(height, content));
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            let served = served_row(&KEY, order.map(|index| rows[index].clone())).unwrap();
            assert_eq!(served.as_ref(), Some(&rows[0]), "{order:?}");
        }
        let [one, other] = [refusal(7, b"one"), refusal(7, b"another")];
        for rows in [[one.clone(), other.clone()], [other, one]] {
            assert_eq!(served_row(&KEY, rows).unwrap_err().kind(), ErrorKind::Conflict);
        }
    }

    #[test]
    fn a_row_of_another_format_version_is_an_error() {
        let own = row(1, b"content");
        let mut newer = own.to_vec();
        newer[0] += 1;
        let newer = Row::from(newer);
        for rows in [[own.clone(), newer.clone()], [newer.clone(), own]] {
            assert_eq!(served_row(&KEY, rows).unwrap_err().kind(), ErrorKind::Version);
        }
        assert_eq!(is_new_content(&newer, []).unwrap_err().kind(), ErrorKind::Version);
    }
}
