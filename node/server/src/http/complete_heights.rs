//! `x-milepost-complete-heights`: the blocks behind the answer that a transaction is unknown.
//!
//! A transaction that is unknown here is in no block of these heights; of others the server says
//! nothing, nor of archived ones with a transaction that is not finalized. They are noted before
//! the transaction is looked for, so a block that comes meanwhile is not among them. The body of
//! such an answer has no room for them, because it is that of a node.

use alloc::sync::Arc;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use milepost::archive::HeightRanges;
use milepost::primitives::BlockHeight;

use crate::chain::ArchivedHeights;
use crate::queries::Queries;

/// The heights, as ranges in ascending order: `100-200, 300-400`
const COMPLETE_HEIGHTS: HeaderName = HeaderName::from_static("x-milepost-complete-heights");
/// Maximum number of ranges in a header, the newest ones: an archive that is filled by several
/// writers at once has a range of each
const MAX_RANGES: usize = 8;

/// What the server has when it begins to look for something
pub(super) struct CompleteHeights {
    archived: Option<Arc<ArchivedHeights>>,
    head: BlockHeight,
}

impl CompleteHeights {
    pub(super) fn note(queries: &Queries) -> Self {
        let archived = queries.chain.archive().map(|archive| archive.heights());
        Self { archived, head: queries.chain.head_height() }
    }

    /// Adds the heights to a response, unless the store cannot be read or there are none
    pub(super) async fn add_header(self, queries: &Arc<Queries>, headers: &mut HeaderMap) {
        let Ok(chain) = queries.chain_status().await else { return };
        let mut heights = HeightRanges::default();
        if let (Some(archive), Some(archived)) = (queries.chain.archive(), self.archived) {
            heights = archived.complete.clone();
            let now = archive.heights();
            if !Arc::ptr_eq(&archived, &now) {
                // Rows may have been removed meanwhile.
                let gaps = now.complete.gaps(0..=BlockHeight::MAX);
                gaps.iter().for_each(|gap| heights.remove(gap));
            }
        }
        if let Some(first) = chain.complete_from {
            heights.insert(first..=self.head);
        }
        let skipped = heights.iter().len().saturating_sub(MAX_RANGES);
        let newest: HeightRanges = heights.iter().skip(skipped).collect();
        if !newest.is_empty()
            && let Ok(value) = HeaderValue::try_from(newest.to_string())
        {
            headers.insert(COMPLETE_HEIGHTS, value);
        }
    }
}
