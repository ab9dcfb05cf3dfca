//! A set of block heights, as ranges in ascending order that neither overlap nor touch.
//!
//! What a writer has archived is a handful of ranges, whatever the length of the chain. Heights at
//! which the chain has no block are in a range like any other.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Range, RangeInclusive};

use crate::primitives::BlockHeight;

/// A set of block heights: ranges in ascending order that neither overlap nor touch
///
/// ```
/// use milepost::archive::HeightRanges;
///
/// let mut heights = HeightRanges::default();
/// heights.insert(10..=19);
/// heights.insert(30..=39);
/// heights.insert(20..=24);
/// assert_eq!(heights.to_string(), "10-24, 30-39");
/// assert_eq!(heights.gaps(0..=50).to_string(), "0-9, 25-29, 40-50");
/// assert!(heights.contains(24) && !heights.contains(25));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HeightRanges(Vec<RangeInclusive<BlockHeight>>);

impl HeightRanges {
    /// The ranges, ascending; none is empty
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RangeInclusive<BlockHeight>> + '_ {
        self.0.iter().cloned()
    }

    /// Whether there are no heights
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds these heights; an empty range adds none
    pub fn insert(&mut self, heights: RangeInclusive<BlockHeight>) {
        if heights.is_empty() {
            return;
        }
        let (start, end) = heights.into_inner();
        // Ranges that overlap or touch: `first..last` of them become one.
        let first = self.0.partition_point(|range| range.end().saturating_add(1) < start);
        let last = self.0.partition_point(|range| *range.start() <= end.saturating_add(1));
        let joined = self.0.get(first..last).unwrap_or_default();
        let start = joined.first().map_or(start, |range| start.min(*range.start()));
        let end = joined.last().map_or(end, |range| end.max(*range.end()));
        self.replace(first..last, vec![start..=end]);
    }

    /// Removes these heights
    pub fn remove(&mut self, heights: RangeInclusive<BlockHeight>) {
        if heights.is_empty() {
            return;
        }
        let (start, end) = heights.into_inner();
        let first = self.0.partition_point(|range| *range.end() < start);
        let last = self.0.partition_point(|range| *range.start() <= end);
        let cut = self.0.get(first..last).unwrap_or_default();
        let before = cut.first().filter(|range| *range.start() < start);
        let after = cut.last().filter(|range| *range.end() > end);
        let mut rest = Vec::new();
        rest.extend(before.map(|range| *range.start()..=start - 1));
        rest.extend(after.map(|range| end + 1..=*range.end()));
        self.replace(first..last, rest);
    }

    fn replace(&mut self, replaced: Range<usize>, ranges: Vec<RangeInclusive<BlockHeight>>) {
        self.0.splice(replaced, ranges);
    }

    /// Adds all heights of another set
    pub fn extend(&mut self, other: &Self) {
        other.iter().for_each(|range| self.insert(range));
    }

    /// The range that this height is in
    pub fn range_of(&self, height: BlockHeight) -> Option<RangeInclusive<BlockHeight>> {
        let after = self.0.partition_point(|range| *range.end() < height);
        self.0.get(after).filter(|range| range.contains(&height)).cloned()
    }

    /// Whether this height is in the set
    pub fn contains(&self, height: BlockHeight) -> bool {
        self.range_of(height).is_some()
    }

    /// Whether all these heights are in the set
    pub fn covers(&self, heights: &RangeInclusive<BlockHeight>) -> bool {
        heights.is_empty()
            || self.range_of(*heights.start()).is_some_and(|range| range.contains(heights.end()))
    }

    /// Those of these heights that are not in the set
    #[must_use]
    pub fn gaps(&self, heights: RangeInclusive<BlockHeight>) -> Self {
        let mut gaps = Self::default();
        gaps.insert(heights);
        self.iter().for_each(|range| gaps.remove(range));
        gaps
    }
}

impl FromIterator<RangeInclusive<BlockHeight>> for HeightRanges {
    fn from_iter<I: IntoIterator<Item = RangeInclusive<BlockHeight>>>(ranges: I) -> Self {
        let mut heights = Self::default();
        ranges.into_iter().for_each(|range| heights.insert(range));
        heights
    }
}

/// `10-19, 30-39`; nothing if it is empty
impl fmt::Display for HeightRanges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(formatter, "{separator}{}-{}", range.start(), range.end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_is_the_set_of_all_heights_that_were_added_and_not_removed() {
        let mut rng = milepost_testkit::Rng::new(7);
        for _ in 0..300 {
            let (mut ranges, mut set) = (HeightRanges::default(), BTreeSet::new());
            for _ in 0..30 {
                // Some ranges are empty.
                let start = 1 + rng.below(60);
                let range = start..=(start + rng.below(9)).saturating_sub(1);
                if rng.below(3) == 0 {
                    ranges.remove(range.clone());
                    set.retain(|height| !range.contains(height));
                } else {
                    ranges.insert(range.clone());
                    set.extend(range);
                }
                assert!(ranges.0.windows(2).all(|pair| pair[0].end() + 1 < *pair[1].start()));
                assert!(ranges.iter().flatten().eq(set.iter().copied()), "{ranges}");
                let gaps = ranges.gaps(10..=50);
                assert!((0..70).all(|height| {
                    gaps.contains(height) == ((10..=50).contains(&height) && !set.contains(&height))
                }));
                assert_eq!(ranges.covers(&(20..=24)), (20..=24).all(|one| set.contains(&one)));
            }
        }
    }

    #[test]
    fn the_ends_of_the_numbers_are_heights() {
        let mut ranges: HeightRanges = [0..=0, u64::MAX..=u64::MAX].into_iter().collect();
        assert_eq!(ranges.iter().len(), 2);
        ranges.insert(1..=u64::MAX - 1);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [0..=u64::MAX]);
        ranges.remove(0..=u64::MAX);
        assert!(ranges.is_empty() && !ranges.covers(&(1..=1)));
    }
}
