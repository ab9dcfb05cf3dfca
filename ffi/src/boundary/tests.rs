//! What the boundary owes, tried on functions that misbehave.

#![expect(
    private_interfaces,
    unreachable_pub,
    reason = "the macro makes functions for C, which sees all"
)]

use core::ptr;

use super::handle::{Exclusive, Handle, Shared, create, exclusive, reading, release};
use super::{Entry, callback, enter, ffi_function};
use crate::error::milepost_error;
use crate::status::*;

/// A handle that counts
struct milepost_counter {
    _private: (),
}

impl Handle for milepost_counter {
    type Value = u64;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_counter";
}

struct milepost_constant {
    _private: (),
}

impl Handle for milepost_constant {
    type Value = u64;
    type Ownership = Shared;
    const NAME: &'static str = "milepost_constant";
}

ffi_function! {
    /// Counts, and panics at 3
    fn milepost_counter_count(
        counter: *mut milepost_counter,
        count: *mut u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        *counter += 1;
        assert!(*counter < 3, "three is too many");
        count.put(*counter);
        Ok(())
    }
}

fn count(counter: *mut milepost_counter) -> (milepost_status_t, u64) {
    let mut found = 99;
    // SAFETY: the counter is alive, and `found` is there.
    let status = unsafe { milepost_counter_count(counter, &mut found, ptr::null_mut()) };
    (status, found)
}

#[test]
fn a_panic_is_told_and_poisons_what_it_used() {
    let counter = create::<milepost_counter>(0);
    assert_eq!(count(counter), (MILEPOST_STATUS_OK, 1));
    assert_eq!(count(counter), (MILEPOST_STATUS_OK, 2));
    let (mut found, mut error) = (99, ptr::null_mut());
    // SAFETY: all of it is there and alive.
    unsafe {
        let status = milepost_counter_count(counter, &mut found, &mut error);
        assert_eq!((status, found), (MILEPOST_STATUS_PANIC, 0));
        let detail = reading::<milepost_error>(error, "error").unwrap();
        assert!(format!("{:?}", *detail).contains("three is too many"), "{:?}", *detail);
        drop(detail);
        crate::error::milepost_error_free(error);
    }
    assert_eq!(count(counter), (MILEPOST_STATUS_POISONED, 0));
    // SAFETY: alive, and not used again.
    unsafe { release(counter) }
}

#[test]
fn null_is_told() {
    assert_eq!(count(ptr::null_mut()), (MILEPOST_STATUS_NULL, 0));
    let counter = create::<milepost_counter>(0);
    // SAFETY: alive, and NULL is told.
    unsafe {
        let status = milepost_counter_count(counter, ptr::null_mut(), ptr::null_mut());
        assert_eq!(status, MILEPOST_STATUS_NULL);
        release(counter);
    }
}

#[test]
fn a_handle_in_use_is_busy_and_is_not_freed() {
    let counter = create::<milepost_counter>(0);
    // SAFETY: alive until the end.
    unsafe {
        let used = exclusive(counter, "counter").unwrap();
        assert_eq!(count(counter), (MILEPOST_STATUS_BUSY, 0));
        assert!(reading(counter.cast_const(), "counter").is_err());
        release(counter);
        drop(used);
        let read = reading(counter.cast_const(), "counter").unwrap();
        let too = reading(counter.cast_const(), "counter").unwrap();
        assert_eq!((*read, count(counter)), (*too, (MILEPOST_STATUS_BUSY, 0)));
        drop((read, too));
        assert_eq!(count(counter), (MILEPOST_STATUS_OK, 1));
        release(counter);
    }
}

#[test]
fn what_is_kept_outlives_its_handle() {
    let constant = create::<milepost_constant>(7);
    // SAFETY: alive until it is released, and what is kept counts by itself.
    let kept = unsafe {
        let kept = reading(constant.cast_const(), "constant").unwrap().keep();
        release(constant);
        kept
    };
    assert_eq!(*kept, 7);
}

#[test]
#[cfg(debug_assertions)]
fn a_freed_handle_is_stale_also_when_its_memory_is_in_use_again() {
    let freed = create::<milepost_counter>(0);
    // SAFETY: alive; what comes after is told by the table.
    unsafe { release(freed) }
    let others: Vec<_> = (0..64).map(|_| create::<milepost_counter>(0)).collect();
    assert_eq!(count(freed), (MILEPOST_STATUS_STALE, 0));
    // SAFETY: the first is stale, which is told; the others are alive.
    unsafe {
        release(freed);
        others.into_iter().for_each(|other| release(other));
    }
    let wrong = create::<milepost_constant>(0);
    assert_eq!(count(wrong.cast()), (MILEPOST_STATUS_STALE, 0));
    // SAFETY: alive.
    unsafe { release(wrong) }
}

#[test]
fn a_callback_may_not_enter() {
    let counter = create::<milepost_counter>(0);
    callback::inside(|| {
        assert_eq!(count(counter), (MILEPOST_STATUS_REENTRANT, 0));
        // SAFETY: alive; inside a callback it is left alone.
        unsafe { release(counter) }
        assert!(enter("sink", Entry::Anywhere, |_| Ok(())).is_ok());
    });
    assert_eq!(count(counter), (MILEPOST_STATUS_OK, 1));
    // SAFETY: alive.
    unsafe { release(counter) }
}

#[test]
fn a_sink_is_good_for_its_callback_and_its_thread() {
    let mut kept = ptr::null();
    let (given, rows) = callback::with_sink(2, |sink| {
        kept = sink;
        assert_eq!(callback::hand_over(sink, Some(b"a")), Some(true));
        let address = sink.addr();
        let elsewhere = move || callback::hand_over(ptr::without_provenance(address), None);
        assert_eq!(std::thread::spawn(elsewhere).join().unwrap(), None);
        callback::inside(|| assert_eq!(callback::hand_over(sink, None), None));
        assert_eq!(callback::hand_over(sink, None), Some(true));
        assert_eq!(callback::hand_over(sink, None), Some(false));
        5
    });
    assert_eq!((given, rows.len(), rows[0].as_deref()), (5, 2, Some(&b"a"[..])));
    assert_eq!(callback::hand_over(kept, None), None);
    assert!(!callback::is_inside());
}
