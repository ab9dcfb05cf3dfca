//! Where in the output the value of one member stands.
//!
//! Followed are the keys of the objects that are open; what is found moves with whatever is put in
//! order around it, which is the canonicalizer's part.

use core::ops::Range;

/// A member that is looked for, by the keys that lead to it
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    pub(super) path: &'static [&'static str],
    /// How many of the keys the open objects stand behind
    followed: usize,
    /// The member among those of the open objects, and how far its value stands behind its start
    pub(super) member: Option<(usize, usize)>,
    /// Where its value stands in the output, once its object is closed
    pub(super) found: Option<Range<usize>>,
}

impl Watch {
    pub(super) const fn over(path: &'static [&'static str]) -> Self {
        Self { path, followed: 0, member: None, found: None }
    }

    /// A key of the innermost of so many objects and arrays; whether it is the last one looked for
    pub(super) fn follow(&mut self, level: usize, key: impl FnOnce() -> bool) -> bool {
        let place = level - 1;
        self.followed = self.followed.min(place);
        if self.followed != place || !key() {
            return false;
        }
        self.followed = level;
        level == self.path.len()
    }
}
