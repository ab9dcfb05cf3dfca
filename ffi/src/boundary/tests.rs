//! The boundary, tested with functions that panic, overlap and re-enter.

#![expect(
    private_interfaces,
    unreachable_pub,
    reason = "the macro defines functions for C, which sees all"
)]

use core::ptr;

use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Table};

use super::callback::SinkError;
use super::handle::{Exclusive, Handle, Shared, create, exclusive_ref, release, shared_ref};
use super::{Entry, callback, enter, ffi_function};
use crate::error::milepost_error;
use crate::status::*;

const KEY: Key = Key::hash(Table::ArchivedTransactions, CryptoHash::ZERO);

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
        count.write(*counter);
        Ok(())
    }
}

fn count(counter: *mut milepost_counter) -> (milepost_status_t, u64) {
    let mut count = 99;
    // SAFETY: the counter is live, and `count` is valid.
    let status = unsafe { milepost_counter_count(counter, &mut count, ptr::null_mut()) };
    (status, count)
}

#[test]
fn a_panic_returns_an_error_and_poisons_the_handle() {
    let counter = create::<milepost_counter>(0);
    assert_eq!(count(counter), (MILEPOST_STATUS_OK, 1));
    assert_eq!(count(counter), (MILEPOST_STATUS_OK, 2));
    let (mut output, mut error) = (99, ptr::null_mut());
    // SAFETY: all of it is valid and live.
    unsafe {
        let status = milepost_counter_count(counter, &mut output, &mut error);
        assert_eq!((status, output), (MILEPOST_STATUS_PANIC, 0));
        let details = shared_ref::<milepost_error>(error, "error").unwrap();
        assert!(format!("{:?}", *details).contains("three is too many"), "{:?}", *details);
        drop(details);
        crate::error::milepost_error_free(error);
    }
    assert_eq!(count(counter), (MILEPOST_STATUS_POISONED, 0));
    // SAFETY: live, and not used again.
    unsafe { release(counter) }
}

#[test]
fn null_returns_an_error() {
    assert_eq!(count(ptr::null_mut()), (MILEPOST_STATUS_NULL, 0));
    let counter = create::<milepost_counter>(0);
    // SAFETY: live, and NULL is checked.
    unsafe {
        let status = milepost_counter_count(counter, ptr::null_mut(), ptr::null_mut());
        assert_eq!(status, MILEPOST_STATUS_NULL);
        release(counter);
    }
}

#[test]
fn a_handle_in_use_is_busy_and_is_not_freed() {
    let counter = create::<milepost_counter>(0);
    // SAFETY: live until the end.
    unsafe {
        let exclusive = exclusive_ref(counter, "counter").unwrap();
        assert_eq!(count(counter), (MILEPOST_STATUS_BUSY, 0));
        assert!(shared_ref(counter.cast_const(), "counter").is_err());
        release(counter);
        drop(exclusive);
        let first = shared_ref(counter.cast_const(), "counter").unwrap();
        let second = shared_ref(counter.cast_const(), "counter").unwrap();
        assert_eq!((*first, count(counter)), (*second, (MILEPOST_STATUS_BUSY, 0)));
        drop((first, second));
        assert_eq!(count(counter), (MILEPOST_STATUS_OK, 1));
        release(counter);
    }
}

#[test]
fn a_shared_value_outlives_its_handle() {
    let constant = create::<milepost_constant>(7);
    // SAFETY: live until it is released; the shared value has a count of its own.
    let value = unsafe {
        let value = shared_ref(constant.cast_const(), "constant").unwrap().to_shared_value();
        release(constant);
        value
    };
    assert_eq!(*value, 7);
}

#[test]
#[cfg(debug_assertions)]
fn a_freed_handle_is_stale_even_when_its_memory_is_reused() {
    let freed = create::<milepost_counter>(0);
    // SAFETY: live; the table detects later uses.
    unsafe { release(freed) }
    let others: Vec<_> = (0..64).map(|_| create::<milepost_counter>(0)).collect();
    assert_eq!(count(freed), (MILEPOST_STATUS_STALE, 0));
    // SAFETY: the first is stale, which the table detects; the others are live.
    unsafe {
        release(freed);
        others.into_iter().for_each(|other| release(other));
    }
    let wrong = create::<milepost_constant>(0);
    assert_eq!(count(wrong.cast()), (MILEPOST_STATUS_STALE, 0));
    // SAFETY: live.
    unsafe { release(wrong) }
}

#[test]
fn a_callback_cannot_reenter() {
    let counter = create::<milepost_counter>(0);
    callback::run(|| {
        assert_eq!(count(counter), (MILEPOST_STATUS_REENTRANT, 0));
        let (mut output, mut error) = (99, ptr::dangling_mut());
        // SAFETY: the counter is live, and the outputs are valid.
        let status = unsafe { milepost_counter_count(counter, &mut output, &mut error) };
        assert_eq!((status, output), (MILEPOST_STATUS_REENTRANT, 0));
        assert!(error.is_null(), "the host could not free the error object");
        // SAFETY: live; inside a callback it is not freed.
        unsafe { release(counter) }
        assert!(enter("sink", Entry::Anywhere, |_| Ok(())).is_ok());
    });
    assert_eq!(count(counter), (MILEPOST_STATUS_OK, 1));
    // SAFETY: live.
    unsafe { release(counter) }
}

#[test]
fn a_sink_is_valid_in_its_callback_and_thread_only() {
    let mut kept = ptr::null();
    let passed = callback::run_with_sink(2, |sink| {
        kept = sink;
        assert_eq!(callback::push_row(sink, Some(b"a")), Ok(()));
        let address = sink.addr();
        let other_thread = move || callback::push_row(ptr::without_provenance(address), None);
        assert_eq!(std::thread::spawn(other_thread).join().unwrap(), Err(SinkError::Stale));
        callback::run(|| assert_eq!(callback::push_row(sink, None), Err(SinkError::Stale)));
        assert_eq!(callback::push_row(sink, None), Ok(()));
        assert_eq!(callback::push_row(sink, None), Err(SinkError::Full));
        assert_eq!(callback::push_entry(sink, Some(KEY), b"a"), Err(SinkError::Full));
        assert_eq!(callback::set_reason(sink, b"the disk is full \xff"), Some(()));
        5
    });
    assert_eq!((passed.result, passed.rows.len()), (5, 2));
    assert_eq!(passed.rows[0].as_deref(), Some(&b"a"[..]));
    assert_eq!(passed.reason, "the disk is full \u{fffd}");
    assert_eq!(callback::push_row(kept, None), Err(SinkError::Stale));
    assert_eq!(callback::set_reason(kept, b"late"), None);
    assert!(!callback::is_inside());
}

#[test]
fn a_sink_of_entries_remembers_what_it_refused() {
    let passed = callback::run_with_entries(2, |sink| {
        assert_eq!(callback::push_entry(sink, Some(KEY), b"a"), Ok(()));
        assert_eq!(callback::push_entry(sink, Some(KEY), b"b"), Ok(()));
    });
    assert!(!passed.is_refused && passed.rows.is_empty());
    assert_eq!(passed.entries, [(KEY, b"a"[..].into()), (KEY, b"b"[..].into())]);
    let refused = |max_entries, push: fn(*const callback::SinkState)| {
        callback::run_with_entries(max_entries, push).is_refused
    };
    assert!(refused(0, |sink| _ = callback::push_entry(sink, Some(KEY), b"a")));
    assert!(refused(1, |sink| _ = callback::push_entry(sink, None, b"a")));
    assert!(refused(1, |sink| _ = callback::push_row(sink, None)));
}
