//! The shard of an account, by the text of a configuration.
//!
//! Only what assigns accounts is read, at each call, and nothing is kept of it. The shard is that
//! of [`ShardLayout::shard_of`](super::ShardLayout::shard_of), whose views make the wasm module
//! 25 kB larger after gzip. Whether boundaries are account ids is not checked here.

use alloc::borrow::Cow;

use super::layout::shard_by_hash;
use crate::codec::json::{ReadError, Reader};
use crate::primitives::ShardId;
use crate::{Error, ErrorKind};

/// The shard layout in the text of a configuration
#[derive(Clone, Copy, Debug)]
pub struct ShardAssignment<'t> {
    layout: &'t str,
}

impl<'t> ShardAssignment<'t> {
    /// Finds the layout in a configuration
    ///
    /// # Errors
    ///
    /// The configuration has none, or is no object.
    pub fn read(config: &'t str) -> Result<Self, Error> {
        let layout = Reader::new(config).members(["shard_layout"], "an object");
        let layout = layout.and_then(|[layout]| layout.map(|mut it| it.raw()).transpose());
        let error = match layout {
            Ok(Some(layout)) => return Ok(Self { layout }),
            Ok(None) => Error::new(ErrorKind::Value, "it has no shard layout"),
            Err(error) => error.into_error(config),
        };
        Err(error.at("configuration"))
    }

    /// The id of the shard that an account belongs to; costs a pass over the layout
    ///
    /// # Errors
    ///
    /// The layout cannot be read, or does not say so.
    pub fn shard_of(&self, account_id: &str) -> Result<ShardId, Error> {
        let (version, shard) = find_shard(self.layout, account_id)
            .map_err(|error| error.into_error(self.layout).at("configuration.shard_layout"))?;
        shard.ok_or_else(|| {
            let detail = format_args!("its layout {version} has no shard of {account_id}");
            Error::new(ErrorKind::Value, detail).at("configuration")
        })
    }
}

/// The version of a layout, and the shard of an account if the layout decides
fn find_shard<'t>(
    layout: &'t str,
    account_id: &str,
) -> Result<(Cow<'t, str>, Option<ShardId>), ReadError> {
    let mut reader = Reader::new(layout);
    if reader.peek_value()? == b'"' {
        return Ok((reader.text("a shard layout")?, None));
    }
    reader.open_object("a shard layout")?;
    let Some(version) = reader.key(true)? else {
        return Err(reader.schema_error("no version of a shard layout"));
    };
    reader.colon()?;
    let shard = match &*version {
        "V0" => by_hash(&mut reader, account_id)?,
        "V1" => by_boundaries(&mut reader, account_id, false)?,
        "V2" | "V3" => by_boundaries(&mut reader, account_id, true)?,
        _ => None,
    };
    Ok((version, shard))
}

fn by_hash(reader: &mut Reader<'_>, account_id: &str) -> Result<Option<ShardId>, ReadError> {
    let [shards] = reader.members(["num_shards"], "a shard layout")?;
    let shards = reader.required(shards, "num_shards")?.unsigned(u64::MAX, "u64")?;
    Ok(shard_by_hash(shards, account_id))
}

fn by_boundaries(
    reader: &mut Reader<'_>,
    account_id: &str,
    has_ids: bool,
) -> Result<Option<ShardId>, ReadError> {
    let names = ["boundary_accounts", "shard_ids"];
    let [boundaries, ids] = reader.members(names, "a shard layout")?;
    let mut boundaries = reader.required(boundaries, names[0])?;
    let (mut count, mut index, mut last) = (0, 0, Cow::Borrowed(""));
    boundaries.open_array("a sequence")?;
    while boundaries.item(count == 0)? {
        let boundary = boundaries.text("an account id")?;
        if boundary <= last {
            return Ok(None);
        }
        count += 1;
        index += ShardId::from(*boundary <= *account_id);
        last = boundary;
    }
    if !has_ids {
        return Ok(Some(index));
    }
    let mut ids = reader.required(ids, names[1])?;
    let (mut shard, mut next) = (None, 0);
    ids.open_array("a sequence")?;
    while ids.item(next == 0)? {
        let id = ids.unsigned(u64::MAX, "u64")?;
        if next == index {
            shard = Some(id);
        }
        next += 1;
    }
    Ok(shard.filter(|_| next == count + 1))
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn what_is_no_layout_is_an_error_with_its_place() {
        for (layout, error) in [
            ("7", "configuration.shard_layout: invalid type: integer `7`, expected a shard layout"),
            ("{}", "configuration.shard_layout: no version of a shard layout"),
            (r#""Single""#, "configuration: its layout Single has no shard of m.near"),
            (r#"{"V4":[]}"#, "configuration: its layout V4 has no shard of m.near"),
            (r#"{"V0":{}}"#, "configuration.shard_layout.V0: missing field `num_shards`"),
            (r#"{"V1":{}}"#, "configuration.shard_layout.V1: missing field `boundary_accounts`"),
            (
                r#"{"V1":{"boundary_accounts":7}}"#,
                "configuration.shard_layout.V1.boundary_accounts: invalid type: integer `7`, \
                 expected a sequence",
            ),
            (
                r#"{"V2":{"boundary_accounts":[]}}"#,
                "configuration.shard_layout.V2: missing field `shard_ids`",
            ),
            (
                r#"{"V3":{"boundary_accounts":[],"shard_ids":[-1]}}"#,
                "configuration.shard_layout.V3.shard_ids[0]: invalid value: integer `-1`, \
                 expected u64",
            ),
        ] {
            let config = format!(r#"{{"shard_layout":{layout}}}"#);
            let assignment = ShardAssignment::read(&config).unwrap();
            let found = assignment.shard_of("m.near").unwrap_err();
            assert!(found.to_string().starts_with(error), "{found}");
        }
        let error = ShardAssignment::read("{}").unwrap_err();
        assert_eq!(error.to_string(), "configuration: it has no shard layout");
        assert!(ShardAssignment::read("[]").is_err());
    }
}
