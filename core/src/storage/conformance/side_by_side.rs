//! Two functions that the host runs side by side, because the kit makes no threads.
//!
//! Nothing is timed: each waits until the other has begun, for more turns than any scheduler makes
//! a thread wait, and not for ever if the host runs them one after the other.

use core::hint;
use core::sync::atomic::{AtomicBool, Ordering};

/// Number of turns for which one function waits for the other
const MAX_TURNS: usize = 1 << 31;

/// Runs two functions side by side, each in a thread, and returns when both have ended
///
/// With the standard library:
///
/// ```
/// use std::thread;
///
/// use milepost::storage::conformance::SideBySide;
///
/// let threads: &SideBySide = &|one, other| {
///     thread::scope(|scope| {
///         scope.spawn(one);
///         other();
///     });
/// };
/// # let (mut one, mut other) = (0, 0);
/// # threads(&mut || one = 1, &mut || other = 2);
/// # assert_eq!((one, other), (1, 2));
/// ```
pub type SideBySide<'host> = dyn Fn(&mut (dyn FnMut() + Send), &mut (dyn FnMut() + Send)) + 'host;

/// Runs both functions; `None` if the host did not run each of them
pub(crate) fn run<T: Send, U: Send>(
    side_by_side: &SideBySide<'_>,
    mut one: impl FnMut() -> T + Send,
    mut other: impl FnMut() -> U + Send,
) -> Option<(T, U)> {
    let (mut first, mut second) = (None, None);
    side_by_side(&mut || first = Some(one()), &mut || second = Some(other()));
    first.zip(second)
}

/// Waits until a flag is set; whether it was
pub(crate) fn wait_for(flag: &AtomicBool) -> bool {
    for _ in 0..MAX_TURNS {
        if flag.load(Ordering::SeqCst) {
            return true;
        }
        hint::spin_loop();
    }
    false
}

/// Sets a flag when it is dropped, also after a panic of the host
pub(crate) struct SetOnDrop<'flag>(pub(crate) &'flag AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
