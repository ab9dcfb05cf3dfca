//! The rows of a store as a stream of bytes, as a server sends them to a backup.
//!
//! A start that names the format, then each row: the length of its key, the key, the length of the
//! row (four bytes, little endian), the row. A length of zero ends the rows; their number follows,
//! so a stream that was cut short is never taken for a whole one.

use std::io::{Read, Write};

use milepost::storage::{Key, Table};
use milepost::{Error, ErrorKind};
use milepost_redb::RedbSnapshot;

/// The start of a stream, with the version of its format
const START: &[u8; 16] = b"milepost rows 01";

/// What is called with the key and the bytes of a row
type Visitor<'visit> = dyn FnMut(Key, &[u8]) -> Result<(), Error> + 'visit;

/// Calls `visit` with every row of a snapshot; returns their number
pub(crate) fn for_each_row(snapshot: &RedbSnapshot, visit: &mut Visitor<'_>) -> Result<u64, Error> {
    let mut rows = 0;
    for table in Table::ALL {
        snapshot.for_each_row(table, &mut |row| {
            let (key, row) = row?;
            rows += 1;
            visit(key, row)
        })?;
    }
    Ok(rows)
}

/// Writes every row of a snapshot, unless `is_cancelled` in between
pub(crate) fn write(
    snapshot: &RedbSnapshot,
    to: &mut impl Write,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<u64, Error> {
    let failed = |error: std::io::Error| Error::new(ErrorKind::Storage, error);
    to.write_all(START).map_err(failed)?;
    let rows = for_each_row(snapshot, &mut |key, row| {
        if is_cancelled() {
            return Err(Error::new(ErrorKind::Storage, "the server stops"));
        }
        let key = key.as_bytes();
        let too_long = |_| Error::new(ErrorKind::Storage, "a row of more than 4 GiB");
        let length = u32::try_from(row.len()).map_err(too_long)?;
        // A key has at most 33 bytes.
        to.write_all(&[key.len() as u8])
            .and_then(|()| to.write_all(key))
            .and_then(|()| to.write_all(&length.to_le_bytes()))
            .and_then(|()| to.write_all(row))
            .map_err(failed)
    })?;
    to.write_all(&[0])
        .and_then(|()| to.write_all(&rows.to_le_bytes()))
        .and_then(|()| to.flush())
        .map_err(failed)?;
    Ok(rows)
}

/// Calls `visit` with every row of a stream; returns their number
pub(crate) fn read(from: &mut impl Read, visit: &mut Visitor<'_>) -> Result<u64, Error> {
    if read_array(from)? != *START {
        return Err(Error::new(ErrorKind::Storage, "not rows of a server of this release"));
    }
    let (mut rows, mut key, mut row) = (0_u64, [0; Key::MAX_LEN], Vec::new());
    loop {
        let [length] = read_array(from)?;
        if length == 0 {
            break;
        }
        let key = key.get_mut(..usize::from(length)).ok_or_else(invalid_key)?;
        from.read_exact(key).map_err(cut_short)?;
        let key = Key::from_bytes(key).ok_or_else(invalid_key)?;
        let length = u32::from_le_bytes(read_array(from)?);
        // Grows by what arrives, not by what the length says.
        row.clear();
        let read = from.take(u64::from(length)).read_to_end(&mut row).map_err(cut_short)?;
        if read != length as usize {
            return Err(cut_short(std::io::ErrorKind::UnexpectedEof.into()));
        }
        visit(key, &row)?;
        rows += 1;
    }
    match u64::from_le_bytes(read_array(from)?) {
        sent if sent == rows => Ok(rows),
        sent => Err(Error::new(
            ErrorKind::Storage,
            format_args!("{rows} rows arrived, the server sent {sent}"),
        )),
    }
}

fn read_array<const N: usize>(from: &mut impl Read) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(cut_short)?;
    Ok(bytes)
}

fn cut_short(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Storage, format_args!("the server did not send all rows: {error}"))
}

fn invalid_key() -> Error {
    Error::new(ErrorKind::Storage, "the server sent a key that is none")
}
